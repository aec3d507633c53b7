// Computes the desired state of the group's Services, and selects those that are planned. Problems are reported on each Service,
// whether it is planned or not.

import { type Milliseconds, milliseconds, minutes, type ServiceUID } from "../../../core/brand.ts";
import type { ObservedLoadBalancer } from "../../../provider/load-balancers.ts";
import { alignToGrid } from "../../../runtime/backoff.ts";
import { type Outcome, requeue, waiting } from "../../../runtime/workers.ts";
import type { Desired } from "../deps.ts";
import { type Selection, selectMembers } from "../desired/select-members.ts";
import { isStillUsed, nameOwners } from "../observed/ownership.ts";
import { isHeldByOwnership, type OwnershipContext, withOwnership } from "../observed/ownership-problems.ts";
import { isManaged } from "../predicates.ts";
import type { GroupState } from "../state/group-record.ts";
import { ingressOf, isOtherIngress } from "../status/ingress.ts";
import { showProblems } from "../status/show-problems.ts";
import type { ReconcileContext, ReconcileDeps } from "./context.ts";

const marksRecheck: Milliseconds = minutes(5);

export async function selectDesired(
  deps: ReconcileDeps,
  { services, state, call }: ReconcileContext,
  observed: ObservedLoadBalancer | undefined,
  undecided: readonly ServiceUID[] = [],
): Promise<Selection | Outcome> {
  const ownership = ownershipContext(deps, state, observed);
  const all = services.map((service) => withOwnership(deps.desiredServices.of(service, observed), ownership));
  if (all.some(({ isAwaited }) => isAwaited)) return waiting;
  const isHeld = all.some(isHeldByOwnership);
  if (isHeld && state.waitingSince === undefined) return recheckMarks(deps, state);
  for (const { service, problems } of all) {
    await showProblems(deps, "annotations", service, problems, call.signal);
  }
  const selection = selectMembers({
    all,
    observed,
    pendingReleases: [...state.pendingReleases],
    isOnHold: (uid) => isKept(deps, state, uid),
    isUndecided: (uid) => undecided.includes(uid),
    isStillUsed: (gone) => isStillUsed(deps.controller, observed, gone),
  });
  return selection.kind === "nothing" && isHeld ? recheckMarks(deps, state) : selection;
}

/** Reports what the marks say only from a listing that is newer than the Service. Then checks whether someone has changed them. */
function recheckMarks({ controller, groupStates }: ReconcileDeps, state: GroupState): Outcome {
  const now = controller.clock.monotonic();
  const delay = state.waitingSince === undefined ? milliseconds(0) : alignToGrid(now, marksRecheck);
  groupStates.commit(state, { kind: "waits", at: now });
  groupStates.commit(state, { kind: "outdated", at: now });
  return requeue(delay, "the marks in the cloud to change");
}

function ownershipContext(
  { controller }: Pick<ReconcileDeps, "controller">,
  { change }: GroupState,
  observed: ObservedLoadBalancer | undefined,
): OwnershipContext {
  const { balancers, clusterName, listing, services } = controller;
  const hadOther: OwnershipContext["hadOther"] = ({ service, desired }, balancer) => {
    try {
      const publication = balancers.publish(desired, balancer);
      const published = service.status.loadBalancer?.ingress ?? [];
      return publication.kind === "addresses" && isOtherIngress(published, ingressOf(publication));
    } catch {
      // The provider cannot read that of another cluster.
      return false;
    }
  };
  return {
    hadOther,
    balancers,
    clusterName,
    observed,
    isRemoving: change === "delete" || change === "release",
    listed: listing.latest?.items ?? [],
    nameOwners: (balancer) => nameOwners(services, balancer),
  };
}

/** The load balancer of a Service that is gone stays: on-delete was invalid, or the operator wants to decide. */
function isKept(deps: ReconcileDeps, { goneServices }: GroupState, uid: ServiceUID): boolean {
  const isVanished = goneServices.has(uid) && deps.controller.settings.vanished === "keep";
  return isVanished || onDeleteOf(deps, uid) === "on hold";
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
