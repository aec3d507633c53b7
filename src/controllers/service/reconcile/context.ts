// The types that the stages of a reconcile share: the context, with the Service and the controller's dependencies, and the plan.

import type { Parts } from "../../../cloud/inventory/balancer-observation.ts";
import type { SharedPrefetch } from "../../../cloud/inventory/shared-prefetch.ts";
import type { Problem } from "../../../core/problem.ts";
import type { Service } from "../../../kube/objects.ts";
import type { Call } from "../../../provider/call.ts";
import type { Plan, Step } from "../../../provider/plan.ts";
import type { Operations } from "../../operations.ts";
import type { Difference } from "../desired/difference.ts";
import type { Member } from "../desired/member.ts";
import type { ServiceHistory } from "../history.ts";
import { removalKind } from "../observe/balancer-census.ts";
import type { AppliedPlan, Fingerprint } from "../state/record-parts.ts";
import type { ServiceState } from "../state/service-record.ts";
import type { ServiceReporter } from "../status/service-reporter.ts";
import type { TriggerDeps } from "../triggers/triggers.ts";

export interface ReconcileContext extends ReconcileDeps {
  /** The Service when the reconcile began. Undefined if it is gone and its load balancer is removed. */
  readonly service: Service | undefined;
  readonly state: ServiceState;
  readonly call: Call;
}

export interface ReconcileDeps extends TriggerDeps {
  readonly history: ServiceHistory;
  readonly prefetch: SharedPrefetch;
  readonly operations: Operations;
  readonly reporter: ServiceReporter;
}

export interface PlanInput extends Pick<AppliedPlan, "observed" | "duplicates"> {
  /** Undefined if the Service is gone. */
  readonly member: Member | undefined;
  /** The parts on which the plan may rely. */
  readonly read: Parts;
}

export interface PlannedChange extends PlanInput, AppliedPlan {
  readonly kind: "planned";
  /** Drift that is reported but not repaired. */
  readonly withheld: readonly Step[];
  /** There are no steps, but the cloud is still processing a change. */
  readonly wait: Plan<Step>["wait"];
  /** Undefined if the Service is gone. */
  readonly fingerprint: Fingerprint | undefined;
  /** True if target changes are withheld. The load balancer then does not converge. */
  readonly areTargetsHeld: boolean;
  readonly difference: Difference;
  /** True if the steps only change targets. */
  readonly areOnlyTargets: boolean;
  /** True if the Service had the load balancer, and Fairlead did not remove it. */
  readonly isLost: boolean;
}

/** The Service of a record. Undefined if it is gone, or no longer needs anything. */
export function serviceOf(
  { controller: { services } }: Pick<ReconcileDeps, "controller">,
  { phase, key, uid }: ServiceState,
): Service | undefined {
  const service = phase === "managed" ? services.get(key) : undefined;
  return service?.metadata.uid === uid ? service : undefined;
}

/** Puts the Service on hold for this reason until an operator releases it, or a later reconcile ends the hold. */
export function holdReleasably(
  { controller: { removals }, state }: ReconcileContext,
  problem: Problem,
): void {
  state.setHold({ ...problem, severity: "hold", isReleasable: true });
  removals.hold(removalKind, state.uid, state.key);
}
