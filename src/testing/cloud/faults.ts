// Injected faults of simulated clouds: decides which request fails, and which resource is temporarily hidden. `SimulatedApi`
// applies the faults that every cloud has.

import type { Clock } from "../../platform/clock.ts";

/**
 * - `status`       the request is rejected with this status and code, and has no effect
 * - `page`         the request is answered by a proxy: this status and an HTML page
 * - `refused`      the connection is refused
 * - `reset`        the connection is closed, and the request has no effect
 * - `lost-answer`  the request is applied, but the connection is closed before the response
 * - `false-error`  the request is applied, but answered with this status
 * - `hang`         there is no response
 * - `cut`          the response has half a body
 * - `slow`         the response is delayed by `milliseconds`
 */
export const commonFaults = [
  ...(["status", "page", "refused", "reset", "lost-answer"] as const),
  ...(["false-error", "hang", "cut", "slow"] as const),
] as const;
/** A kind of fault that every simulated cloud can inject. */
export type CommonFault = (typeof commonFaults)[number];

/** One fault. A cloud adds its own kinds, such as pages that lack an entry. */
export interface CloudFault<K extends string = CommonFault> {
  readonly kind: K;
  /** An operation such as `GET /servers`; if unset, any operation. */
  readonly operation?: string;
  /** The number of matching requests that succeed first. */
  readonly after?: number;
  /** The number of requests that then fail; 1 by default. */
  readonly calls?: number;
  readonly status?: number;
  readonly code?: string;
  readonly milliseconds?: number;
}

/** Listings, lookups by id or both temporarily hide a resource. */
export interface Hidden {
  readonly resource: number | string;
  readonly from: "listings" | "lookups" | "both";
  readonly milliseconds: number;
}

/** The planned faults of a simulated cloud. */
export class CloudFaults<K extends string> {
  readonly #clock: Clock;
  readonly #kinds: readonly string[];
  #planned: { readonly fault: CloudFault<K>; seen: number }[] = [];
  #hidden: (Hidden & { readonly until: number })[] = [];

  /** `kinds` are the fault kinds that a developer can use. */
  constructor(clock: Clock, kinds: readonly string[] = commonFaults) {
    this.#clock = clock;
    this.#kinds = kinds;
  }

  add(fault: CloudFault<K>): void {
    this.#planned.push({ fault, seen: 0 });
  }

  /** Adds a fault that a developer wrote as JSON. Returns the expected values for an unknown kind, so that a typo is not ignored. */
  addWritten(written: unknown): string | undefined {
    const { kind, ...rest } = { ...(written as CloudFault<K>) };
    const isText = (name: string) => name === "operation" || name === "code";
    const isCount = (name: string) => ["after", "calls", "status", "milliseconds"].includes(name);
    const isValid = Object.entries(rest).every(([name, value]) =>
      isText(name) ? typeof value === "string" : isCount(name) && Number.isSafeInteger(value),
    );
    if (!isValid || !this.#kinds.includes(kind))
      return `Expected {"kind": …} with one of ${this.#kinds.join(", ")}, and optionally "operation" (such as "GET /servers"), "after", "calls", "status", "code" and "milliseconds".`;
    this.add({ kind, ...rest });
    return undefined;
  }

  hide(hidden: Hidden): void {
    this.#hidden.push({ ...hidden, until: this.#clock.monotonic() + hidden.milliseconds });
  }

  clear(): void {
    this.#planned = [];
    this.#hidden = [];
  }

  /** Counts this request for every matching fault and returns the first one that is active. */
  next(operation: string): CloudFault<K> | undefined {
    let active: CloudFault<K> | undefined;
    for (const entry of this.#planned) {
      const { fault } = entry;
      if (fault.operation !== undefined && fault.operation !== operation) continue;
      entry.seen++;
      if (active === undefined && entry.seen > (fault.after ?? 0)) active = fault;
    }
    this.#planned = this.#planned.filter(({ fault, seen }) => seen < (fault.after ?? 0) + (fault.calls ?? 1));
    return active;
  }

  isHidden(
    { id, name }: { readonly id: number | string; readonly name: string },
    kind: "listings" | "lookups",
  ): boolean {
    if (this.#hidden.length === 0) return false;
    const now = this.#clock.monotonic();
    this.#hidden = this.#hidden.filter(({ until }) => until > now);
    return this.#hidden.some(
      ({ resource, from }) => (resource === id || resource === name) && (from === "both" || from === kind),
    );
  }
}
