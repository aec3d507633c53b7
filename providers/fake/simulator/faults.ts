// Injected faults of the simulated cloud: decides which request fails, and how. The cloud and its transport apply them.

import type { Clock } from "#ccm/testing";

/**
 * - `status`      the request is rejected with this status
 * - `reset`       the connection is closed, and the request has no effect
 * - `lost-answer` the request is applied, but the connection is closed before the response
 * - `false-error` the request is applied, but answered with this status
 * - `half-made`   a balancer is created without listeners and targets, and the request is answered with this status
 * - `hang`        there is no response
 * - `cut`         the response has half a body
 * - `short-page`  the page lacks its last entry
 * - `empty-list`  the listing is empty
 * - `slow`        the response is delayed by `milliseconds`
 */
export const faultKinds = [
  "status",
  "reset",
  "lost-answer",
  "false-error",
  "half-made",
  "hang",
  "cut",
  "short-page",
  "empty-list",
  "slow",
] as const;
export type FaultKind = (typeof faultKinds)[number];

export interface Fault {
  readonly kind: FaultKind;
  /** An operation such as `GET /machines`; absent: any. */
  readonly operation?: string;
  /** The number of matching requests that succeed first. */
  readonly after?: number;
  /** The number of requests that fail then; default 1. */
  readonly calls?: number;
  readonly status?: number;
  readonly milliseconds?: number;
}

/** The cloud reports for a while that this machine does not exist. */
export interface Lie {
  readonly machine: string;
  readonly milliseconds: number;
}

export class Faults {
  readonly #clock: Clock;
  #planned: { readonly fault: Fault; seen: number }[] = [];
  #hidden: { readonly machine: string; readonly until: number }[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(fault: Fault): void {
    this.#planned.push({ fault, seen: 0 });
  }

  lie({ machine, milliseconds }: Lie): void {
    this.#hidden.push({ machine, until: this.#clock.monotonic() + milliseconds });
  }

  clear(): void {
    this.#planned = [];
    this.#hidden = [];
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

  hides(machine: { readonly id: string; readonly name: string }): boolean {
    const now = this.#clock.monotonic();
    this.#hidden = this.#hidden.filter(({ until }) => until > now);
    return this.#hidden.some(({ machine: which }) => which === machine.id || which === machine.name);
  }
}
