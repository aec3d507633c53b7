// What a record of a group consists of: the desired state, holds, Services that are gone, a started operation, observations; and the plan
// that a record notes while its steps are applied.

import type { ServiceUID } from "../../../core/brand.ts";
import type { BalancerTarget, ObservedLoadBalancer } from "../../../provider/load-balancers.ts";
import type { Step } from "../../../provider/plan.ts";
import type { Proof } from "../../absence/proof.ts";

/** The kinds of changes to a load balancer, as in upstream. */
export type Change = "ensure" | "update" | "delete";

/** The desired state of a group, short enough to be stored for every group. */
export interface Fingerprint {
  readonly targets: string;
  /** Everything except the targets. */
  readonly spec: string;
  /** The targets of each Service. All Services with the same targets share one list. */
  readonly lists: readonly (readonly BalancerTarget[])[];
}

/** Why the absence of a load balancer or Service has no consequences yet. */
export interface Hold {
  readonly reason: string;
  readonly message: string;
  /** An operator can release it. */
  readonly isReleasable?: true;
}

/** A Service that is gone from the API although Fairlead did not remove its finalizer. */
export interface GoneService {
  readonly key: string;
  /** When it was missing first (monotonic). */
  readonly at: number;
  /** Its deletion, or a change after which it needs no load balancer, was seen before. */
  readonly isDeletionSeen: boolean;
}

/** An operation, with the hash of its step. `leaving`: owners that have no load balancer when it is done. */
export interface StartedOperation {
  readonly step: string;
  readonly serving: readonly ServiceUID[];
  readonly leaving: readonly ServiceUID[];
  /** It removes the load balancer of the owners that it serves, to create another one. */
  readonly isRemoval: boolean;
  readonly isProgress: boolean;
  /** It completes a load balancer that was absent. */
  readonly isCreation: boolean;
}

/** The last observation, if a later reconcile may use it instead of a listing, or instead of another reading in depth. */
export interface KeptObservation {
  readonly balancer: ObservedLoadBalancer;
  /** When its listing began, and when its mark was read (monotonic). */
  readonly listedAt: number;
  readonly markedAt: number;
  /** When all of it was read in depth (monotonic), and until when that may prove that nothing is to be done. */
  readonly readAt: number;
  readonly recalledUntil: number;
  /** The parts that are read again before the next plan. */
  readonly outdated: readonly string[];
}

/** The load balancer is complete. Without a change, the group is planned again only at long intervals. */
export interface Rest {
  /** What the latest listing had for the group when it was observed. An object that the listing repeats has not changed. */
  readonly listed: ObservedLoadBalancer;
  /** Since when (monotonic). */
  readonly since: number;
}

/** Which one of several load balancers with the mark of a group is managed. */
export interface ManagedBalancer {
  /** Undefined: the load balancer with the addresses of the Services, which this process has not seen yet. */
  readonly name?: string | undefined;
  /** The listings that show only another one with the mark of the group. */
  readonly proofs?: readonly Proof[];
}

/** The part of a plan that the record needs while its steps are applied. */
export interface AppliedPlan {
  /** The load balancer of the group, and others with its mark. If there are others, the removal of one leaves the rest. */
  readonly observed: ObservedLoadBalancer | undefined;
  readonly duplicates: readonly ObservedLoadBalancer[];
  readonly steps: readonly Step[];
  /** Owners that have a load balancer after all steps. */
  readonly serving: readonly ServiceUID[];
  /** Owners that have no load balancer after all steps. */
  readonly leaving: readonly ServiceUID[];
}

export function createsBalancer({ observed, serving, steps }: AppliedPlan): boolean {
  return observed === undefined && serving.length > 0 && steps.length > 0;
}

/** Returns undefined if only a listing shows the effect of the steps, for example if they remove a load balancer. */
export function keptAfter<K extends Pick<KeptObservation, "outdated">>(
  kept: K | undefined,
  { leaving, steps }: Pick<AppliedPlan, "leaving" | "steps">,
): K | undefined {
  if (kept === undefined || leaving.length > 0) return undefined;
  if (steps.some(({ outdates }) => outdates === undefined)) return undefined;
  return { ...kept, outdated: [...new Set(steps.flatMap(({ outdates = [] }) => outdates))] };
}
