// Computes the desired state of the group's Services, and selects those that are planned. Problems are reported on each Service,
// whether it is planned or not.

import type { ServiceUID } from "../../../core/brand.ts";
import type { ObservedLoadBalancer } from "../../../provider/load-balancers.ts";
import { type Outcome, waiting } from "../../../runtime/workers.ts";
import type { Desired } from "../deps.ts";
import { type Selection, selectMembers } from "../desired/select-members.ts";
import { isStillUsed } from "../observed/ownership.ts";
import { isManaged } from "../predicates.ts";
import { showProblems } from "../status/show-problems.ts";
import type { ReconcileContext, ReconcileDeps } from "./context.ts";

export async function selectDesired(
  deps: ReconcileDeps,
  { services, state, call }: ReconcileContext,
  observed: ObservedLoadBalancer | undefined,
): Promise<Selection | Outcome> {
  const all = services.map((service) => deps.desiredServices.of(service, observed));
  if (all.some(({ isAwaited }) => isAwaited)) return waiting;
  for (const { service, problems } of all) {
    await showProblems(deps, "annotations", service, problems, call.signal);
  }
  return selectMembers({
    all,
    observed,
    pendingReleases: [...state.pendingReleases],
    isOnHold: (uid) => onDeleteOf(deps, uid) === "on hold",
    isStillUsed: (gone) => isStillUsed(deps.controller, observed, gone),
  });
}

/** How to remove the load balancer of a Service that is gone. Undefined: delete it, also when the Service has only moved. */
export function onDeleteOf(
  { controller, serviceStates }: Pick<ReconcileDeps, "controller" | "serviceStates">,
  uid: ServiceUID,
): Desired | "on hold" | undefined {
  const state = serviceStates.get(uid);
  const service = state && controller.services.get(state.key);
  const hasMoved = service?.metadata.uid === uid && isManaged(service);
  return hasMoved ? undefined : state?.onDelete;
}
