// Writes the result to the Services once the cloud is as planned: addresses and conditions of those that have a load balancer,
// and the removal of the finalizer from those that no longer need one.

import { type Milliseconds, seconds } from "../../../core/brand.ts";
import { defined } from "../../../core/defined.ts";
import type { LoadBalancerIngress, Service } from "../../../kube/objects.ts";
import { jsonPatch } from "../../../kube/patches/patch.ts";
import { finalizerPatch, serviceStatusPatch } from "../../../kube/patches/service-patch.ts";
import type { ObservedLoadBalancer, Publication } from "../../../provider/load-balancers.ts";
import type { Step } from "../../../provider/plan.ts";
import { alignToGrid } from "../../../runtime/backoff.ts";
import { type Outcome, requeue, settled } from "../../../runtime/workers.ts";
import type { Member } from "../desired/member.ts";
import { isLeftElsewhere } from "../observed/ownership.ts";
import { finalizer, hasFinalizer } from "../predicates.ts";
import type { Change, GroupState } from "../state/group-record.ts";
import { changeCompleted, released, waitingFor } from "../status/events.ts";
import { ingressOf, isSameIngress } from "../status/ingress.ts";
import { finalConditions } from "../status/show-problems.ts";
import { judgeAbsence, waitForProof } from "./absence.ts";
import { checkDelay } from "./apply.ts";
import type { ReconcileContext, ReconcileDeps } from "./context.ts";
import { checkMassRelease } from "./limit-changes.ts";

const pollInterval: Milliseconds = seconds(2);

interface Result {
  readonly members: readonly Member[];
  readonly observed: ObservedLoadBalancer | undefined;
  /** The change that is now complete. */
  readonly completed?: Change | undefined;
  /** Drift that is reported and not repaired. */
  readonly withheld?: readonly Step[];
}

export async function updateStatuses(
  deps: ReconcileDeps,
  context: ReconcileContext,
  result: Result,
): Promise<Outcome> {
  const { members, completed, withheld = [] } = result;
  let last: Outcome = settled;
  // A waiting Service does not delay the others.
  for (const member of members) {
    const update = member.desired.ending === undefined ? updateStatus : removeFinalizer;
    const outcome = await update(deps, context, member, result);
    if (outcome.kind !== "settled") last = outcome;
  }
  if (last.kind !== "settled") return last;
  for (const { service, desired } of members) {
    deps.publisher.recovered(service, withheld.length > 0 ? "drift" : undefined);
    if (desired.ending === undefined && (completed === "ensure" || completed === "update")) {
      deps.publisher.publish(service, changeCompleted(completed));
    }
  }
  return settled;
}

/** The next plan needs a newer listing. All groups that wait become due together, so one listing answers them all. */
function pollCloud(deps: ReconcileDeps, state: GroupState, waitingFor: string): Outcome {
  const now = deps.controller.clock.monotonic();
  deps.groupStates.commit(state, { kind: "outdated", at: now });
  return requeue(alignToGrid(now, checkDelay(deps, state, pollInterval)), waitingFor);
}

async function updateStatus(
  deps: ReconcileDeps,
  { state, call: { signal } }: ReconcileContext,
  { service, desired, problems }: Member,
  { observed, completed }: Result,
): Promise<Outcome> {
  const { controller, publisher, serviceStates } = deps;
  const { balancers, writes, clock } = controller;
  const publication = balancers.publish(desired, observed);
  if (publication.kind === "wait") {
    publisher.publishOnce(service, "waiting", [waitingFor(publication.waitingFor)]);
    return pollCloud(deps, state, publication.waitingFor);
  }
  const isForeign = publication.kind === "not-ours";
  const finalizing = isForeign ? undefined : finalizerPatch(service, finalizer, "present", "status");
  const finalized = finalizing && (await writes.patch(service, finalizing, "it has a load balancer", signal));
  if (finalized !== undefined)
    serviceStates.commit(serviceStates.of(service), { kind: "finalizer", isPresent: true });
  const current = finalized ?? service;
  const ingress = changedIngress(publication, current);
  const isWrittenAnyway = ingress !== undefined || completed !== undefined;
  const conditions = finalConditions(current, problems, clock.now(), isWrittenAnyway);
  const patch = serviceStatusPatch(defined({ service: current, ingress, conditions }));
  const why = ingress === undefined ? "the conditions have changed" : "the load balancer has these addresses";
  if (patch !== undefined) await writes.patch(current, patch, why, signal);
  return settled;
}

/** Undefined when nothing must be written. */
function changedIngress(
  publication: Publication,
  { status }: Service,
): readonly LoadBalancerIngress[] | undefined {
  if (publication.kind !== "addresses") return undefined;
  const ingress = ingressOf(publication);
  return isSameIngress(status.loadBalancer?.ingress ?? [], ingress) ? undefined : ingress;
}

/** For a Service that no longer needs a load balancer: removes its finalizer once the cloud has none for it. */
async function removeFinalizer(
  deps: ReconcileDeps,
  context: ReconcileContext,
  { service, desired }: Member,
  { observed }: Result,
): Promise<Outcome> {
  const { group, state, call } = context;
  const { signal } = call;
  const { balancers, writes, clock } = deps.controller;
  const { uid } = desired.owner;
  if (observed?.owners.includes(uid) === true) {
    return pollCloud(deps, state, "the cloud to delete the load balancer");
  }
  const absence = judgeAbsence(deps, state, [uid]);
  if (absence.kind === "unproved") return waitForProof(deps, state, [service], absence);
  const held = checkMassRelease(deps, context, service);
  if (held !== undefined) return held;
  // It moved, and its old group has not released it yet. Without the finalizer, that load balancer would become an orphan.
  if (isLeftElsewhere(deps.controller, deps.groupStates, uid, group)) {
    const what = "another group to release the load balancer that the Service had there";
    deps.publisher.publishOnce(service, "waiting", [waitingFor(what)]);
    return pollCloud(deps, state, what);
  }
  // In one write: removing the last finalizer deletes the Service, and a second write would fail.
  const isForeign = balancers.publish(desired, observed).kind === "not-ours";
  const ingress = isForeign ? undefined : [];
  const conditions = finalConditions(service, [], clock.now(), true);
  const steps = [
    serviceStatusPatch(defined({ service, ingress, conditions })),
    finalizerPatch(service, finalizer, "absent", "status"),
  ].flatMap((patch) => (patch?.contentType === "application/json-patch+json" ? patch.body : []));
  if (steps.length === 0) return settled;
  await writes.patch(
    service,
    jsonPatch(steps, "status"),
    "the Service no longer has a load balancer",
    signal,
  );
  deps.groupStates.commit(state, { kind: "ownersAbsent", owners: [uid] });
  if (!hasFinalizer(service)) return settled;
  const event =
    desired.ending === "release"
      ? released(deps.serviceStates.get(uid)?.releasedName)
      : changeCompleted("delete");
  deps.publisher.publish(service, event);
  return settled;
}
