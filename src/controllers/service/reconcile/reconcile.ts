// The reconcile of one group, from top to bottom: guards, observe, desired, plan, apply, complete. Each stage returns what the
// next one needs, or how the reconcile ends. No stage waits: the next reconcile observes the effects of this one. The guards end it
// early while a Service of the group is paused or a cloud operation is in progress.

import { isFenced } from "../../../cloud/error-policies.ts";
import { maxWaitInWorker } from "../../../cloud/urgency.ts";
import { seconds, serviceUID } from "../../../core/brand.ts";
import type { Problem } from "../../../core/problem.ts";
import { keyOf } from "../../../kube/objects.ts";
import { serviceStatusPatch } from "../../../kube/patches/service-patch.ts";
import { CloudError } from "../../../provider/errors.ts";
import type { Done } from "../../../provider/plan.ts";
import { type Outcome, requeue, settled, waiting } from "../../../runtime/workers.ts";
import { describeError } from "../../classify-error.ts";
import { isPaused, pauseOf } from "../../pause.ts";
import { problemEvent } from "../../reporter.ts";
import { removalKind } from "../observed/balancer-mass-count.ts";
import type { Reading } from "../observed/fresh-listing.ts";
import { isBeingDeleted, isEnding } from "../predicates.ts";
import type { GroupState } from "../state/group-state.ts";
import { deletionPaused, paused, syncFailed, waitingForPaused } from "../status/events.ts";
import { finalConditions, reportRecovery, writeErrorCondition } from "../status/service-reporter.ts";
import { applyPlan, rememberFacts } from "./apply-steps.ts";
import { noteRefused, planSteps, reportRepair, selectDesired } from "./choose-steps.ts";
import { completeGroup, completeOrphan, updateStatuses } from "./complete.ts";
import { type PlannedGroup, type ReconcileContext, type ReconcileDeps, servicesOf } from "./context.ts";
import { showFailure } from "./failure.ts";
import {
  checkMassLimit,
  checkUnlisted,
  endRelease,
  recordChange,
  undecidedOwners,
  waitForDecision,
} from "./limit-changes.ts";
import { observeGroup } from "./observe.ts";

async function reconcileStages(context: ReconcileContext): Promise<Outcome> {
  const outcome = await reconcileFrom(context, []);
  context.freshListing.endRequest(context.state);
  return outcome;
}

/** `reading`: the parts of the load balancer that the plan relies on. */
async function reconcileFrom(context: ReconcileContext, reading: Reading): Promise<Outcome> {
  // No Service has left this group, so what the cloud has for it is an orphan.
  if (context.services.length === 0 && context.state.pendingReleases.size === 0) return settled;
  const stopped = checkPaused(context) ?? (await checkOperation(context));
  if (stopped !== undefined) return stopped;

  const observation = await observeGroup(context, reading);
  if (observation.kind !== "observed") return observation;
  const { balancer: observed, duplicates, read, listed } = observation;

  const undecided = undecidedOwners(context, observed);
  const desired = await selectDesired(context, observed, undecided?.owners);
  if (desired.kind === "nothing" || desired.kind === "undecided") {
    return undecided === undefined ? settled : waitForDecision(context, undecided);
  }
  if (desired.kind === "orphan") return completeOrphan(context, desired.pendingReleases);
  if (desired.kind === "status only") return updateStatuses(context, { members: desired.members, observed });
  if (desired.kind !== "plan") return desired;

  const { members, gone } = desired;
  const plan = await planSteps(context, { members, gone, observed, duplicates, listed, read });
  if (plan.kind === "unread") return reconcileFrom(context, plan.reading);
  if (plan.kind !== "planned") return plan;

  const held = (await checkMassLimit(context, plan)) ?? (await checkUnlisted(context, plan));
  if (held !== undefined) return held;
  reportRepair(context, plan);
  const recorded = await recordChange(context, plan);
  if (recorded !== undefined) return recorded;
  if (isTakenBack(context, plan)) return requeue(seconds(0), "the change of the Service");

  const applied = await applyPlan(context, plan);
  if (applied !== undefined) return applied;

  const updated = await updateStatuses(context, { ...plan, completed: completedChange(context, plan) });
  return updated.kind === "settled" && !plan.areTargetsHeld ? completeGroup(context, plan) : updated;
}

/** Nothing was updated when the cloud has refused every new target. */
function completedChange({ state, serviceStates }: ReconcileContext, plan: PlannedGroup) {
  const { targets } = state.lastCompleted ?? {};
  const isRefused = plan.members.some(({ service }) => serviceStates.of(service).refused.all.length > 0);
  return state.change === "update" && isRefused && targets === plan.fingerprint.targets
    ? undefined
    : state.change;
}

/** The plan would remove a load balancer that a user has requested again since the reconcile began. */
function isTakenBack({ controller: { services } }: ReconcileDeps, { members }: PlannedGroup): boolean {
  return members.some(({ service: { metadata }, desired }) => {
    const latest = services.get(keyOf(metadata));
    return desired.ending !== undefined && latest?.metadata.uid === metadata.uid && !isEnding(latest);
  });
}

/** Reconciles the group unless another group with the same owner is being reconciled, and records the outcome. */
export async function reconcileGroup(
  deps: ReconcileDeps,
  group: string,
  signal: AbortSignal,
  stages: (context: ReconcileContext) => Promise<Outcome> = reconcileStages,
): Promise<Outcome> {
  const { groupStates, ownerLock, nodeSyncLatency } = deps;
  const services = servicesOf(deps, group);
  const owners = services.map(({ metadata }) => serviceUID(metadata.uid));
  if (!ownerLock.acquire(group, [...owners, ...groupStates.pendingReleasesOf(group)])) return waiting;
  const state = groupStates.of(group);
  const { hold } = state;
  state.beginReconcile();
  const call = { signal, urgency: "user-change", maxWait: maxWaitInWorker } as const;
  const context = { ...deps, group, services, state, call };
  try {
    const outcome = await stages(context);
    if (outcome.kind === "waiting") state.setHold(state.hold ?? hold);
    else state.noteSuccess({ isSettled: outcome.kind === "settled" });
    if (outcome.kind === "settled") nodeSyncLatency.end(group);
    if (outcome.kind === "settled" && state.pendingReleases.size === 0) groupStates.drop(group);
    return outcome;
  } catch (error) {
    state.setHold(state.hold ?? hold);
    nodeSyncLatency.end(group);
    if (!signal.aborted && !isFenced(error)) await showFailure(context, error);
    throw error;
  } finally {
    if (state.hold?.isReleasable !== true) deps.controller.removals.endHold(removalKind, group);
    groupStates.dropServices(owners, deps.controller.services);
    for (const next of ownerLock.release(group)) deps.queue.add(next);
  }
}

/** One paused Service pauses all that share its load balancer. */
function checkPaused({ reporter, services }: ReconcileContext): Outcome | undefined {
  const first = services.find(isPaused);
  if (first === undefined) return undefined;
  for (const service of services) {
    const { isPaused, problem } = pauseOf(service);
    reporter.report(service, "waiting", [isPaused ? paused : waitingForPaused(first)]);
    if (!isPaused) continue;
    reporter.report(service, "annotations", [
      ...(problem === undefined ? [] : [problemEvent(problem)]),
      ...(isBeingDeleted(service) ? [deletionPaused(service)] : []),
    ]);
  }
  return settled;
}

async function checkOperation(context: ReconcileContext): Promise<Outcome | undefined> {
  const { operations, controller, group, state, services, call } = context;
  const update = operations.take(group);
  if (update === undefined) return undefined;
  if (update === "pending") {
    const error = operations.problemOf(group);
    const problem = describeError(error);
    if (error !== undefined && problem !== undefined) {
      await showOperationProblem(context, error, problem);
    } else await clearOperationProblem(context);
    return waiting;
  }
  const result = resultOf(update);
  state.endOperation(controller.clock.monotonic(), result);
  if (CloudError.is(update)) throw update;
  if (update === "lost") return untilNextPlan(state);
  if (state.operation?.isCreation === true) endRelease(context);
  noteRefused(context, services, update.refused);
  await rememberFacts(controller, services, update, call.signal);
  return untilNextPlan(state);
}

function resultOf(update: Done | CloudError | "lost") {
  if (update === "lost") return update;
  if (CloudError.is(update)) return "failed";
  return update.isGone === true ? "gone" : "done";
}

/** Slows down changes that never converge. */
function untilNextPlan({ progress: { changeDelay } }: GroupState): Outcome | undefined {
  return changeDelay > 0 ? requeue(changeDelay, "the cloud to show the changes") : undefined;
}

/** The operation cannot be checked. */
async function showOperationProblem(
  context: ReconcileContext,
  error: unknown,
  problem: Problem,
): Promise<void> {
  context.state.setOperationProblem(true);
  for (const service of context.services) {
    context.reporter.report(service, "failure", [syncFailed(service, error)]);
    const problems = [...context.desiredServices.problemsOf(service), problem];
    await writeErrorCondition(context, service, problems);
  }
}

/** The operation can be checked again. */
async function clearOperationProblem({
  controller: { writes, clock },
  reporter,
  desiredServices,
  services,
  state,
  call,
}: ReconcileContext): Promise<void> {
  if (!state.hasOperationProblem) return;
  state.setOperationProblem(false);
  for (const service of services) {
    reportRecovery(reporter, service);
    const conditions = finalConditions(service, desiredServices.problemsOf(service), clock.now(), false);
    const patch = conditions && serviceStatusPatch({ service, conditions });
    if (patch !== undefined) {
      await writes.patch(service, patch, "the operation can be checked again", call.signal);
    }
  }
}
