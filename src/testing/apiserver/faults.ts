// Faults that a test injects between a client and the test API server.

import type { TransportRequest } from "../../platform/transport.ts";
import type { RequestInfo } from "./http/read-request.ts";

/**
 * A Response is sent as the answer. `drop` breaks the connection before the server acts, `lose-answer` after it has acted.
 * `hang` never answers; undefined lets the request through.
 */
export type FaultOutcome = Response | "drop" | "lose-answer" | "hang" | undefined;

export interface Faults {
  intercept?: ((request: TransportRequest, info: RequestInfo) => FaultOutcome) | undefined;
}

/** The error that a client sees when its connection breaks. */
export class ConnectionLostError extends Error {
  override readonly name = "ConnectionLostError";
  readonly code = "ECONNRESET";

  constructor() {
    super("The socket connection was closed unexpectedly.");
  }
}

export function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) return reject(signal.reason);
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}
