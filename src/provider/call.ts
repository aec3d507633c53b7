// The parameters of every cloud call: its signal and urgency, and the transport that sends it.

import type { Milliseconds } from "../core/brand.ts";
import type { TransportRequest } from "../platform/transport.ts";

/**
 * Why a call is made. When the remaining rate limit is low, calls are sent in this order: a change of a user (`user-change`), a joining
 * Node or a new volume (`new-node`), the proof that a machine is gone (`deletion-proof`), a periodic listing (`refresh`).
 */
export type Urgency = "user-change" | "new-node" | "deletion-proof" | "refresh";

/**
 * Passed to every provider function that calls the cloud. Pass it on to `JsonApi.call`. It may cover several requests, such as
 * the pages of a listing; each request has its own deadline.
 */
export interface Call {
  /** Aborted when the result is no longer needed. `jsonApi` stops in that case; your own code should do the same. */
  readonly signal: AbortSignal;
  /** Used by the framework; a provider need not read it. */
  readonly urgency: Urgency;
  /**
   * The time that each request may wait for the rate limit before it fails as `rate-limited`. Set if a wait would delay other work;
   * used by the framework.
   */
  readonly maxWait?: Milliseconds;
}

/** A request to the cloud. `jsonApi` builds it; `Account.sign` adds the credential. */
export interface CloudRequest extends TransportRequest {
  /** The cloud's name of the operation, such as `GET /servers` or `DescribeInstances`; shown in metrics, plans and errors. */
  readonly operation: string;
  /** False only for requests that change nothing. Changes are sent only by the leader, and never with `--mode=observe`. */
  readonly mutates: boolean;
}

/**
 * Sends requests with the account's credential, within its rate limit, with deadline, circuit breaker and metrics. `read` turns
 * the response into a value or throws a CloudError. The kind and scope of that error count for the rate limit,
 * because only the provider knows, for example, that a 400 means throttling.
 */
export type CloudTransport = <T>(
  request: CloudRequest,
  call: Call,
  read: (response: Response) => Promise<T>,
) => Promise<T>;

export type { Moment } from "../core/duration.ts";
