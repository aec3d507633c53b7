// What accompanies every call to a cloud. The provider hands it on to its HTTP kit and looks at nothing but the signal.

import type { TransportRequest } from "../platform/transport.ts";

/** Who waits: places in the budget are given in this order. */
export type Urgency = "user-change" | "new-node" | "deletion-proof" | "refresh";

export interface Call {
  /** One call may cover many requests (the pages of a listing); the deadline belongs to each request. */
  readonly signal: AbortSignal;
  readonly urgency: Urgency;
}

export interface CloudRequest extends TransportRequest {
  /** The cloud's own name of the operation; label of metrics, key of permissions, word of plans and errors. */
  readonly operation: string;
  /** False only for calls that change nothing; everything else is fenced and journalled. */
  readonly mutates: boolean;
}

/**
 * The governed way to the cloud: deadline, budget, breaker, metrics and journal are behind it. What `read` makes of the
 * answer, also the kind of error it throws, is what they learn from: only the provider knows that a 400 was throttling.
 */
export type CloudTransport = <T>(
  request: CloudRequest,
  call: Call,
  read: (response: Response) => Promise<T>,
) => Promise<T>;

/** As the cloud states it: the framework has the clock and the provider none. */
export type { Moment } from "../core/moment.ts";
