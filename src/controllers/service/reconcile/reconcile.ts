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
import type { Reading } from "../observed/reading.ts";
import { isBeingDeleted, isEnding } from "../predicates.ts";
import type { GroupState } from "../state/group-state.ts";
import { dropGroupState, dropServiceStates } from "../state/group-states.ts";
import { deletionPaused, paused, syncFailed, waitingForPaused } from "../status/events.ts";
import { finalConditions, reportRecovery, writeErrorCondition } from "../status/service-reporter.ts";
import { applyPlan, rememberFacts } from "./apply-steps.ts";
import {
  noteRefused,
  type PlannedGroup,
  planSteps,
  reportRepair,
  selectDesired,
  withholdDrift,
} from "./choose-steps.ts";
import { completeGroup, completeOrphan, updateStatuses } from "./complete.ts";
import { type ReconcileContext, type ReconcileDeps, servicesOf } from "./context.ts";
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

async function reconcileStages(deps: ReconcileDeps, context: ReconcileContext): Promise<Outcome> {
  const outcome = await reconcileFrom(deps, context, []);
  deps.freshListing.endRequest(context.state);
  return outcome;
}

/** `reading`: what a plan needs of the load balancer. */
async function reconcileFrom(
  deps: ReconcileDeps,
  context: ReconcileContext,
  reading: Reading,
): Promise<Outcome> {
  // No Service has left this group, so what the cloud has for it is an orphan.
  if (context.services.length === 0 && context.state.pendingReleases.size === 0) return settled;
  const stopped = await checkGuards(deps, context);
  if (stopped !== undefined) return stopped;

  const observation = await observeGroup(deps, context, reading);
  if (observation.kind !== "observed") return observation;
  const { balancer: observed, duplicates, read, listed } = observation;

  const undecided = undecidedOwners(deps, context.state, observed);
  const desired = await selectDesired(deps, context, observed, undecided?.owners);
  if (desired.kind === "nothing" || desired.kind === "undecided") {
    return undecided === undefined ? settled : waitForDecision(deps, context, undecided);
  }
  if (desired.kind === "orphan") return completeOrphan(deps, context, desired.pendingReleases);
  if (desired.kind === "status only")
    return updateStatuses(deps, context, { members: desired.members, observed });
  if (desired.kind !== "plan") return desired;

  const { members, gone } = desired;
  const plan = await planSteps(deps, context, { members, gone, observed, duplicates, listed, read });
  if (plan.kind === "unread") return reconcileFrom(deps, context, plan.reading);
  if (plan.kind !== "planned") return plan;

  const allowed = withholdDrift(deps, context, plan);
  if (allowed === "drift only") return settled;

  const held =
    (await checkMassLimit(deps, context, allowed)) ?? (await checkUnlisted(deps, context, allowed));
  if (held !== undefined) return held;
  reportRepair(deps, allowed);
  const recorded = await recordChange(deps, context, allowed);
  if (recorded !== undefined) return recorded;
  if (isTakenBack(deps, allowed)) return requeue(seconds(0), "the change of the Service");

  const applied = await applyPlan(deps, context, allowed);
  if (applied !== undefined) return applied;

  const updated = await updateStatuses(deps, context, { ...allowed, completed: context.state.change });
  return updated.kind === "settled" && !plan.areTargetsHeld ? completeGroup(deps, context, plan) : updated;
}

/** A user wants a load balancer again that this reconcile, which began before, would remove. */
function isTakenBack({ controller: { services } }: ReconcileDeps, { members }: PlannedGroup): boolean {
  return members.some(({ service: { metadata }, desired }) => {
    const latest = services.get(keyOf(metadata));
    return desired.ending !== undefined && latest?.metadata.uid === metadata.uid && !isEnding(latest);
  });
}

/** Reconciles the group unless another one with the same owner is being reconciled, and records how it ended. */
export async function reconcileGroup(
  deps: ReconcileDeps,
  group: string,
  signal: AbortSignal,
  stages: (deps: ReconcileDeps, context: ReconcileContext) => Promise<Outcome> = reconcileStages,
): Promise<Outcome> {
  const { groupStates, ownerLock, nodeSyncLatency } = deps;
  const services = servicesOf(deps, group);
  const owners = services.map(({ metadata }) => serviceUID(metadata.uid));
  if (!ownerLock.acquire(group, [...owners, ...groupStates.pendingReleasesOf(group)])) return waiting;
  const state = groupStates.of(group);
  const { hold } = state;
  state.begin();
  const call = { signal, urgency: "user-change", maxWait: maxWaitInWorker } as const;
  const context = { group, services, state, call };
  try {
    const outcome = await stages(deps, context);
    if (outcome.kind === "waiting") state.setHold(state.hold ?? hold);
    else state.noteSuccess({ isSettled: outcome.kind === "settled" });
    if (outcome.kind === "settled") nodeSyncLatency.end(group);
    if (outcome.kind === "settled" && state.pendingReleases.size === 0) dropGroupState(group, groupStates);
    return outcome;
  } catch (error) {
    state.setHold(state.hold ?? hold);
    nodeSyncLatency.end(group);
    if (!signal.aborted && !isFenced(error)) await showFailure(deps, context, error);
    throw error;
  } finally {
    if (state.hold?.isReleasable !== true) deps.controller.removals.endHold(removalKind, group);
    dropServiceStates(owners, deps.controller.services, deps.serviceStates, groupStates);
    for (const next of ownerLock.release(group)) deps.enqueue(next);
  }
}

/** Undefined when the reconcile may continue. */
async function checkGuards(deps: ReconcileDeps, context: ReconcileContext): Promise<Outcome | undefined> {
  return checkPaused(deps, context) ?? (await checkOperation(deps, context));
}

/** One paused Service pauses all that share its load balancer. */
function checkPaused({ reporter }: ReconcileDeps, { services }: ReconcileContext): Outcome | undefined {
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

async function checkOperation(deps: ReconcileDeps, context: ReconcileContext): Promise<Outcome | undefined> {
  const { operations, controller } = deps;
  const { group, state, services, call } = context;
  const update = operations.take(group);
  if (update === undefined) return undefined;
  if (update === "pending") {
    const error = operations.problemOf(group);
    const problem = describeError(error);
    if (error !== undefined && problem !== undefined) {
      await showOperationProblem(deps, context, error, problem);
    } else await clearOperationProblem(deps, context);
    return waiting;
  }
  const result = resultOf(update);
  state.endOperation(controller.clock.monotonic(), result);
  if (CloudError.is(update)) throw update;
  if (update === "lost") return untilNextPlan(state);
  if (state.operation?.isCreation === true) endRelease(deps, group);
  noteRefused(deps, services, update.refused);
  await rememberFacts(controller, services, update, call.signal);
  return untilNextPlan(state);
}

function resultOf(update: Done | CloudError | "lost") {
  if (update === "lost") return update;
  if (CloudError.is(update)) return "failed";
  return update.isGone === true ? "gone" : "done";
}

/** Changes that never converge are slowed down. */
function untilNextPlan({ progress: { changeDelay } }: GroupState): Outcome | undefined {
  return changeDelay > 0 ? requeue(changeDelay, "the cloud to show the changes") : undefined;
}

/** The operation cannot be checked. */
async function showOperationProblem(
  deps: ReconcileDeps,
  { services, state, call }: ReconcileContext,
  error: unknown,
  problem: Problem,
): Promise<void> {
  state.setOperationProblem(true);
  for (const service of services) {
    deps.reporter.report(service, "failure", [syncFailed(service, error)]);
    const problems = [...deps.desiredServices.problemsOf(service), problem];
    await writeErrorCondition(deps, service, problems, call.signal);
  }
}

/** The operation can be checked again. */
async function clearOperationProblem(
  { controller: { writes, clock }, reporter, desiredServices }: ReconcileDeps,
  { services, state, call }: ReconcileContext,
): Promise<void> {
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
