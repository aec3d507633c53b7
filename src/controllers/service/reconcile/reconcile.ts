// The reconcile of one Service, from top to bottom: guards, observe, desired, plan, apply, complete. Each stage returns the input
// of the next stage, or how the reconcile ends. No stage waits, because the next reconcile observes the effects. The guards end
// it early while the Service is paused or a cloud operation is in progress.

import { isFenced } from "../../../cloud/error-policies.ts";
import type { Parts } from "../../../cloud/inventory/balancer-observation.ts";
import { maxWaitInWorker } from "../../../cloud/urgency.ts";
import { type ServiceUID, seconds } from "../../../core/brand.ts";
import type { Problem } from "../../../core/problem.ts";
import { serviceStatusPatch } from "../../../kube/patches/service-patch.ts";
import { CloudError } from "../../../provider/errors.ts";
import type { Done } from "../../../provider/plan.ts";
import { type Outcome, requeue, settled, waiting } from "../../../runtime/workers.ts";
import { problemOfError } from "../../classify-error.ts";
import { isPaused, pauseOf } from "../../pause.ts";
import { sharersOf } from "../desired/sharers.ts";
import { removalKind } from "../observe/balancer-census.ts";
import { isBeingDeleted, isEnding } from "../predicates.ts";
import type { ServiceState } from "../state/service-record.ts";
import { finalConditions, reportRecovery, writeErrorCondition } from "../status/service-reporter.ts";
import { deletionPaused, paused, syncFailed } from "../texts.ts";
import { checkDoubt, checkUnlisted, checkVanished, endRelease, recordChange } from "./allow.ts";
import { applyPlan, rememberFacts } from "./apply.ts";
import { noteRefused, planSteps, reportRepair, selectDesired } from "./choose-steps.ts";
import { complete, endRecord, updateStatus } from "./complete.ts";
import { type PlannedChange, type ReconcileContext, type ReconcileDeps, serviceOf } from "./context.ts";
import { showFailure } from "./failure.ts";
import { observe } from "./observe.ts";

async function reconcileStages(context: ReconcileContext): Promise<Outcome> {
  const outcome = await reconcileOnce(context);
  context.inventory.endRequest(context.state.uid);
  return outcome;
}

async function reconcileOnce(context: ReconcileContext): Promise<Outcome> {
  if (context.service === undefined && context.state.phase !== "leaving") return settled;
  const stopped = checkPaused(context) ?? (await checkOperation(context));
  if (stopped !== undefined) return stopped;

  const plan = await planChange(context);
  if (plan.kind !== "planned") return plan;

  const held = (await checkDoubt(context, plan)) ?? (await checkUnlisted(context, plan));
  if (held !== undefined) return held;
  reportRepair(context, plan);
  const recorded = await recordChange(context, plan);
  if (recorded !== undefined) return recorded;
  if (isTakenBack(context, plan)) return requeue(seconds(0), "the change of the Service");

  const applied = await applyPlan(context, plan);
  if (applied !== undefined) return applied;

  const updated = await updateStatus(context, { ...plan, completed: completedChange(context, plan) });
  return updated.kind === "settled" && !plan.areTargetsHeld ? complete(context, plan) : updated;
}

/**
 * Observes and plans. If the plan lacks something, reads it and plans again: parts of the load balancer, the whole load balancer,
 * and finally a listing.
 */
async function planChange(context: ReconcileContext): Promise<PlannedChange | Outcome> {
  for (let needs: Parts = []; ; ) {
    const observation = await observe(context, needs);
    if (observation.kind !== "observed") return observation;
    const { balancer: observed, duplicates, read } = observation;
    const undecided = checkVanished(context, observed);
    if (undecided !== undefined) return undecided;
    const desired = await selectDesired(context, observed);
    if (desired.kind === "keep") return endRecord(context);
    if (desired.kind === "status only") return updateStatus(context, { member: desired.member, observed });
    if (desired.kind !== "plan") return desired;
    const plan = await planSteps(context, { member: desired.member, observed, duplicates, read });
    if (plan.kind !== "unread") return plan;
    needs = plan.needs;
  }
}

/** Nothing was updated if the cloud rejected every new target. */
function completedChange({ state }: ReconcileContext, { fingerprint }: PlannedChange) {
  const { change, lastCompleted } = state.session;
  const areSame = lastCompleted?.targets === fingerprint?.targets;
  return change === "update" && state.session.refused.all.length > 0 && areSame ? undefined : change;
}

/** The plan would remove a load balancer whose Service has returned, or requests it again, since the reconcile began. */
function isTakenBack(context: ReconcileContext, { member }: PlannedChange): boolean {
  if (member === undefined) return context.state.phase !== "leaving";
  if (member.desired.ending === undefined) return false;
  const latest = context.controller.services.get(context.state.key);
  return latest?.metadata.uid === context.state.uid && !isEnding(latest, context.controller.classes);
}

/** Reconciles the Service, and records the outcome. */
export async function reconcileService(
  deps: ReconcileDeps,
  uid: ServiceUID,
  signal: AbortSignal,
  stages: (context: ReconcileContext) => Promise<Outcome> = reconcileStages,
): Promise<Outcome> {
  const { inventory, records, nodeSyncLatency } = deps;
  const state = records.get(uid);
  if (state === undefined) {
    inventory.cancelRequest(uid);
    return settled;
  }
  const { hold } = state;
  state.beginReconcile();
  const call = { signal, urgency: "user-change", maxWait: maxWaitInWorker } as const;
  const context = { ...deps, service: serviceOf(deps, state), state, call };
  try {
    const outcome = await stages(context);
    if (outcome.kind === "waiting") state.setHold(state.hold ?? hold);
    else state.noteSuccess({ isSettled: outcome.kind === "settled" });
    if (outcome.kind === "settled") nodeSyncLatency.end(uid);
    return outcome;
  } catch (error) {
    state.setHold(state.hold ?? hold);
    nodeSyncLatency.end(uid);
    if (!signal.aborted && !isFenced(error)) await showFailure(context, error);
    throw error;
  } finally {
    // A hold outlives the session in which the absence was proved.
    const staysHeld =
      state.hold?.isReleasable === true || (deps.doubt.isHolding && state.evidence.needsProof);
    if (!staysHeld) deps.controller.removals.endHold(removalKind, uid);
    records.end(uid);
  }
}

function checkPaused(context: ReconcileContext): Outcome | undefined {
  const { inventory, reporter, service, state } = context;
  if (service === undefined || !isPaused(service)) return undefined;
  const sharers = sharersOf(state.uid, inventory.of(state.uid)[0], context);
  const { problem } = pauseOf(service);
  reporter.report(service, "waiting", [paused(sharers)]);
  reporter.report(service, "annotations", [
    ...(problem === undefined ? [] : [problem]),
    ...(isBeingDeleted(service) ? [deletionPaused(service)] : []),
  ]);
  return settled;
}

async function checkOperation(context: ReconcileContext): Promise<Outcome | undefined> {
  const { operations, controller, state, service, call } = context;
  const update = operations.take(state.uid);
  if (update === undefined) return undefined;
  if (update === "pending") {
    const error = operations.problemOf(state.uid);
    const problem = problemOfError(error);
    if (error !== undefined && problem !== undefined) {
      await showOperationProblem(context, error, problem);
    } else await clearOperationProblem(context);
    return waiting;
  }
  const result = resultOf(update);
  const ended = state.endOperation(controller.clock.monotonic(), result);
  if (CloudError.is(update)) throw update;
  if (update === "lost") return untilNextPlan(state);
  if (ended?.isCreation === true) endRelease(context);
  noteRefused(context, update.refused);
  await rememberFacts(controller, service, update, call.signal);
  return untilNextPlan(state);
}

function resultOf(update: Done | CloudError | "lost") {
  if (update === "lost") return update;
  if (CloudError.is(update)) return "failed";
  return update.isGone === true ? "gone" : "done";
}

/** Slows down changes that never converge. */
function untilNextPlan({ progress: { changeDelay } }: ServiceState): Outcome | undefined {
  return changeDelay > 0 ? requeue(changeDelay, "the cloud to show the changes") : undefined;
}

/** Reports that the operation cannot be checked. */
async function showOperationProblem(
  context: ReconcileContext,
  error: unknown,
  problem: Problem,
): Promise<void> {
  const { service, state, reporter, desiredServices } = context;
  state.setOperationProblem(true);
  if (service === undefined) return;
  reporter.report(service, "failure", [
    syncFailed(error, { isEnding: isEnding(service, context.controller.classes) }),
  ]);
  await writeErrorCondition(context, service, [...desiredServices.problemsOf(service), problem]);
}

/** Reports that the operation can be checked again. */
async function clearOperationProblem({
  controller: { writes, clock },
  reporter,
  desiredServices,
  service,
  state,
  call,
}: ReconcileContext): Promise<void> {
  if (!state.hasOperationProblem) return;
  state.setOperationProblem(false);
  if (service === undefined) return;
  reportRecovery(reporter, service);
  const conditions = finalConditions(service, desiredServices.problemsOf(service), clock.now(), false);
  const patch = conditions && serviceStatusPatch({ service, conditions });
  if (patch !== undefined) {
    await writes.patch(service, patch, "the operation can be checked again", call.signal);
  }
}
