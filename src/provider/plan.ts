// A plan is data: named steps that can be shown, logged, refused or applied one by one.

import type { Milliseconds, ServiceUID } from "../core/brand.ts";
import type { Problem } from "../core/problem.ts";

/** Small strings remembered on the Service for the provider: balancer id, allocation. Written before they are relied on. */
export type Facts = Readonly<Record<string, string>>;

/** A step names itself: `do` goes to logs, events, metrics and dry runs. The rest is what `apply` needs, as plain data. */
export interface Step {
  readonly do: string;
  /** What it is done to, for people: a name or an id. */
  readonly on?: string;
}

export interface Plan<S extends Step> {
  /** In order. A step may rely on all before it; after the last one the framework observes and plans again. */
  readonly steps: readonly S[];
  readonly problems?: readonly Problem[];
}

export type StepOutcome =
  | {
      readonly done: true;
      /** To be written on the Services before the next step, for example the id of what was just made. */
      readonly remember?: ReadonlyMap<ServiceUID, Facts>;
    }
  /** The cloud is still at it. The worker is given back; after this time the group is observed and planned again. */
  | { readonly done: false; readonly checkAfter: Milliseconds; readonly waitingFor: string };
