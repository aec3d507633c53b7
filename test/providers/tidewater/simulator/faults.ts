// Injected faults of the simulated cloud: decides which request fails, and how. The suites themselves break connections.

/**
 * `status`: a proxy rejects the request (502). `lost-answer`: applied, but the response is lost. `short-page`: the page lacks its
 * last entry, which the total still counts. `fail-ticket`: accepted, and the ticket fails.
 */
export interface Fault {
  readonly kind: "status" | "lost-answer" | "short-page" | "fail-ticket";
  /** Absent: any zone. */
  readonly zone?: string;
  /** An operation such as `GET /machines`; absent: any. */
  readonly operation?: string;
  /** How many matching requests fail; default 1. */
  readonly calls?: number;
}

export class Faults {
  #planned: readonly { readonly fault: Fault; left: number }[] = [];

  add(fault: Fault): void {
    this.#planned = [...this.#planned, { fault, left: fault.calls ?? 1 }];
  }

  /** The fault of this request. */
  next(zone: string, operation: string): Fault | undefined {
    const entry = this.#planned.find(
      ({ fault, left }) =>
        left > 0 && (fault.zone ?? zone) === zone && (fault.operation ?? operation) === operation,
    );
    if (entry !== undefined) entry.left -= 1;
    return entry?.fault;
  }
}
