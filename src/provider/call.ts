// What accompanies every call to a cloud. The provider hands it on to its HTTP kit and looks at nothing but the signal.

import type { TransportRequest } from "../seams/transport.ts";

/** Who waits: places in the budget are given in this order. */
export type Urgency = "user-change" | "new-node" | "deletion-proof" | "refresh";

export interface Call {
  /** Aborted at the call's deadline, when leadership is lost and when the process ends. */
  readonly signal: AbortSignal;
  readonly urgency: Urgency;
}

export interface CloudRequest extends TransportRequest {
  /** The cloud's own name of the operation; label of metrics, key of permissions, word of plans and errors. */
  readonly operation: string;
  /** False only for calls that change nothing; everything else is fenced and journalled. */
  readonly mutates: boolean;
}

/** The governed way to the cloud: deadline, budget, breaker, metrics and journal are behind it. */
export type CloudTransport = (request: CloudRequest, call: Call) => Promise<Response>;
