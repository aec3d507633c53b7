// A plan is data: named steps that can be shown, logged, refused or applied one by one.

import type { Milliseconds, ServiceUID } from "../core/brand.ts";
import type { Problem } from "../core/problem.ts";
import type { Call } from "./call.ts";
import type { CloudError } from "./errors.ts";

/** Small strings remembered on the Service for the provider: balancer id, allocation. Written before they are relied on. */
export type Facts = Readonly<Record<string, string>>;

/** A step names itself: `do` goes to logs, events, metrics and dry runs. The rest is what `apply` needs, as plain data. */
export interface Step {
  readonly do: string;
  /** What it is done to, for people: a name or an id. */
  readonly on?: string;
}

/** Where a fact stands on the Service: in the place the Go manager of that cloud uses. */
export type FactPlace =
  | { readonly annotation: string }
  | { readonly label: string }
  | { readonly spec: "loadBalancerIP" };

/** The cloud is still at it: the worker is given back, and after this time it is observed and planned again. */
export interface Wait {
  readonly checkAfter: Milliseconds;
  readonly waitingFor: string;
}

/**
 * Work of the cloud that can be asked about only by the id it was given; many in one request. Work that failed is told as
 * the error it failed with; a ticket that is missing from the answer is lost: what became of it is observed.
 */
export interface Pending {
  readonly limit: number;
  check(operations: readonly string[], call: Call): Promise<ReadonlyMap<string, StepOutcome | CloudError>>;
}

export interface Plan<S extends Step> {
  /** In order. A step may rely on all before it; after the last one the framework observes and plans again. */
  readonly steps: readonly S[];
  /** Not converged yet although there is nothing to do. */
  readonly wait?: Wait;
  readonly problems?: readonly Problem[];
}

export type StepOutcome =
  | {
      readonly done: true;
      /**
       * To be written on the Services before the next step; undefined takes a fact away. We may be killed before it is
       * written: what was made must be found again by its mark, its name or a client token, never made twice.
       */
      readonly remember?: ReadonlyMap<ServiceUID, Readonly<Record<string, string | undefined>>>;
    }
  | ({ readonly done: false; readonly operation?: string } & Wait);
