// Injected faults: decides which request fails. The cloud and its transport apply them.

/**
 * - `status`       the request is refused with this status and code, and has no effect
 * - `page`         a proxy answers with an HTML page
 * - `reset`        the connection is closed, and the request has no effect
 * - `lost-answer`  the request is applied, but the connection is closed before the response
 * - `hang`         there is no response
 */
export type FaultKind = "status" | "page" | "reset" | "lost-answer" | "hang";

export interface Fault {
  readonly kind: FaultKind;
  /** Such as `GET /hosts`, `POST /externalServices` or `POST /loadBalancerServices/{id}?action=activate`; absent: any. */
  readonly operation?: string;
  /** The number of matching requests that succeed first. */
  readonly after?: number;
  /** The number of requests that fail then; default 1. */
  readonly calls?: number;
  /** Default 503. */
  readonly status?: number;
  readonly code?: string;
}

export class Faults {
  #planned: { readonly fault: Fault; seen: number }[] = [];

  add(fault: Fault): void {
    this.#planned.push({ fault, seen: 0 });
  }

  clear(): void {
    this.#planned = [];
  }

  /** Counts this request for every matching fault and returns the first one that is active. */
  next(operation: string): Fault | undefined {
    let active: Fault | undefined;
    for (const entry of this.#planned) {
      const { fault } = entry;
      if (fault.operation !== undefined && fault.operation !== operation) continue;
      entry.seen++;
      if (active === undefined && entry.seen > (fault.after ?? 0)) active = fault;
    }
    this.#planned = this.#planned.filter(({ fault, seen }) => seen < (fault.after ?? 0) + (fault.calls ?? 1));
    return active;
  }
}
