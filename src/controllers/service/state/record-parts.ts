// The parts of a Service's record: the desired state, holds, a started operation, a session's observations, and the plan that a
// record stores while its steps are applied.

import type { Observation } from "../../../cloud/inventory/balancer-observation.ts";
import type { Problem } from "../../../core/problem.ts";
import type { BalancerTarget, ObservedLoadBalancer } from "../../../provider/load-balancers.ts";
import type { Step } from "../../../provider/plan.ts";
import type { Creation } from "../../kernel/creations.ts";
import type { Proof } from "../../kernel/proof.ts";
import { RefusedTargets } from "./refused-targets.ts";

/** The kinds of changes to a load balancer, as in upstream. */
export type ChangeKind = "ensure" | "update" | "delete";

/** The desired state of a load balancer, short enough to be stored for every Service. */
export interface Fingerprint {
  readonly targets: string;
  /** Everything except the targets. */
  readonly spec: string;
  /** All Services with the same targets share one list. */
  readonly list: readonly BalancerTarget[];
}

/** Why the absence of a load balancer or Service has no consequences yet. */
export interface Hold extends Problem {
  /** Whether an operator can release the hold. */
  readonly isReleasable?: true;
}

/** An operation, with the hash of its step. */
export interface StartedOperation {
  /** Undefined if the cloud has no operation ids. */
  readonly id: string | undefined;
  /** Monotonic. */
  readonly since: number;
  readonly step: string;
  /** True if the Service has no load balancer after all steps of the plan. */
  readonly isLeaving: boolean;
  /** True if nothing is left when the operation is done. */
  readonly isRemoval: boolean;
  readonly isProgress: boolean;
  /** True if the operation completes a load balancer that was absent. */
  readonly isCreation: boolean;
}

/** Which one of several load balancers with the mark of a Service is managed. */
export interface ManagedBalancer {
  /** Undefined for the load balancer with the addresses of the Service, which this process has not seen yet. */
  readonly name?: string | undefined;
  /** The listings that show only a different load balancer with the Service's mark. */
  readonly proofs?: readonly Proof[];
}

/** The health of all targets, short enough to be stored for every Service. */
export interface HealthSummary {
  /** The number of targets that pass all their checks. */
  readonly healthy: number;
  readonly unhealthy: number;
  /** The failing checks with the names of the targets; empty while all checks succeed. */
  readonly why: string;
}

/** The last observation of the target health. */
export interface ObservedHealth {
  /** When the read began (monotonic). */
  readonly at: number;
  /** Undefined if no health check has a result. */
  readonly summary: HealthSummary | undefined;
  /** When a user last requested newer data, and why that request failed. */
  readonly asked?: { readonly at: number; readonly failure?: string } | undefined;
}

const never = Number.NEGATIVE_INFINITY;

/** The last report of the target health. */
export interface ReportedHealth {
  readonly what: string;
  /** The times of this report and of the previous one (monotonic). */
  readonly at: number;
  readonly beforeAt: number;
}

/**
 * The observations, requests and completed steps of a leadership session. Earlier, another replica may have changed the load
 * balancer.
 */
export class SessionPart {
  /** Targets that the cloud refused. */
  readonly refused: RefusedTargets = new RefusedTargets();
  /** The starting point of later plans. Cleared by a change whose result only a listing can show. */
  observation: Observation | undefined;
  /**
   * The load balancer of the last observation, and the listings since when only a different one is shown. Undefined after a
   * change that may have renamed or replaced it. At first, the load balancer with the Service's address is managed, or else the
   * first observed.
   */
  managed: ManagedBalancer | undefined;
  /** Further load balancers with the mark of the Service, in the last observation. */
  duplicates: readonly ObservedLoadBalancer[] = [];
  /**
   * The desired state of the last completed reconcile. If it has not changed since, a difference in the cloud is drift. Before
   * the first observation, the next difference is not drift.
   */
  lastCompleted: Fingerprint | undefined;
  health: ObservedHealth | undefined;
  reportedHealth: ReportedHealth = { what: "", at: never, beforeAt: never };
  /** When the load balancer was first seen to have lost targets, until it is complete again. */
  targetsLostAt: number | undefined;
  change: ChangeKind | undefined;
  /** Until this time or a success, only a change of the Service enqueues it. */
  backoffUntil: number | undefined;
}

/** The parts of a plan that the record keeps while the steps are applied. */
export interface AppliedPlan {
  /** The Service's load balancer, and duplicates with its mark. If there are duplicates, removing one leaves the rest. */
  readonly observed: ObservedLoadBalancer | undefined;
  readonly duplicates: readonly ObservedLoadBalancer[];
  readonly steps: readonly Step[];
  /** True if the Service has no load balancer after all steps. */
  readonly isLeaving: boolean;
}

/** A step that creates the load balancer. */
export type CreationRequest = Omit<Creation, "isAccepted">;

export interface AcceptedRequest {
  readonly hash: string;
  readonly isFirst: boolean;
  readonly isProgress: boolean;
  readonly creation: CreationRequest | undefined;
}

export interface RunningStep {
  readonly hash: string;
  readonly at: number;
  /** The id of its operation, if any. */
  readonly operation: string | undefined;
  readonly isLast: boolean;
  readonly removes: boolean;
}

export function createsBalancer({ observed, isLeaving, steps }: AppliedPlan): boolean {
  return observed === undefined && !isLeaving && steps.length > 0;
}
