// What goes wrong in the simulated cloud, on order: which request, and how. It decides only; the cloud and its transport
// carry it out.

import type { Clock } from "#ccm/testing";

/**
 * - `status`      refused with that status before anything happened
 * - `reset`       the connection breaks before anything happened
 * - `lost-answer` done, but the connection breaks before the answer came
 * - `hang`        never answered
 * - `cut`         answered with half a body
 * - `short-page`  a page lacks its last entry
 * - `empty-list`  a listing says that there is nothing
 * - `slow`        answered later by `milliseconds`
 */
export const faultKinds = [
  "status",
  "reset",
  "lost-answer",
  "hang",
  "cut",
  "short-page",
  "empty-list",
  "slow",
] as const;
export type FaultKind = (typeof faultKinds)[number];

export interface Fault {
  readonly kind: FaultKind;
  /** A route such as `GET /machines`; absent: any. */
  readonly operation?: string;
  /** So many matching requests go well first. */
  readonly after?: number;
  /** So many go wrong then; 1 unless told. */
  readonly calls?: number;
  readonly status?: number;
  readonly milliseconds?: number;
}

/** The cloud swears that this machine does not exist, for a time. */
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

  /** Counts this request for every fault that matches and gives the first that strikes. */
  next(operation: string): Fault | undefined {
    let struck: Fault | undefined;
    for (const entry of this.#planned) {
      const { fault } = entry;
      if (fault.operation !== undefined && fault.operation !== operation) continue;
      entry.seen++;
      if (struck === undefined && entry.seen > (fault.after ?? 0)) struck = fault;
    }
    this.#planned = this.#planned.filter(({ fault, seen }) => seen < (fault.after ?? 0) + (fault.calls ?? 1));
    return struck;
  }

  hides(machine: { readonly id: string; readonly name: string }): boolean {
    const now = this.#clock.monotonic();
    this.#hidden = this.#hidden.filter(({ until }) => until > now);
    return this.#hidden.some(({ machine: which }) => which === machine.id || which === machine.name);
  }
}
