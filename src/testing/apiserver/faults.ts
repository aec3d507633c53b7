// What a test may do to a request before the server sees it. The server itself has no faults of its own.

import type { TransportRequest } from "../../platform/transport.ts";
import type { RequestInfo } from "./http/read-request.ts";

/**
 * A Response is the answer. `drop` breaks the connection before anything happened; `lose-answer` does the work and then breaks it;
 * `hang` never answers until the caller gives up; undefined lets the request through.
 */
export type FaultOutcome = Response | "drop" | "lose-answer" | "hang" | undefined;

export interface Faults {
  intercept?: ((request: TransportRequest, info: RequestInfo) => FaultOutcome) | undefined;
}

/** What a broken connection looks like to a caller. */
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
