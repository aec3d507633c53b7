// Ends a reconcile early while a Service of the group is paused or a cloud operation is in progress. Records the result of a
// completed operation.

import type { Problem } from "../../../core/problem.ts";
import { serviceStatusPatch } from "../../../kube/patches/service-patch.ts";
import { CloudError } from "../../../provider/errors.ts";
import { type Outcome, requeue, settled, waiting } from "../../../runtime/workers.ts";
import { describeError } from "../../errors.ts";
import { isPaused, pauseOf } from "../../pause.ts";
import { isBeingDeleted } from "../predicates.ts";
import type { GroupState } from "../state/group-record.ts";
import { deletionPaused, paused, problemFound, syncFailed, waitingForPaused } from "../status/events.ts";
import { finalConditions, writeErrorCondition } from "../status/publisher.ts";
import { rememberFacts } from "./apply-steps.ts";
import { noteRefused } from "./choose-steps.ts";
import type { ReconcileContext, ReconcileDeps } from "./context.ts";
import { endRelease } from "./limit-changes.ts";

/** Undefined when the reconcile may continue. */
export async function checkGuards(
  deps: ReconcileDeps,
  context: ReconcileContext,
): Promise<Outcome | undefined> {
  return checkPaused(deps, context) ?? (await checkOperation(deps, context));
}

/** One paused Service pauses all that share its load balancer. */
function checkPaused({ publisher }: ReconcileDeps, { services }: ReconcileContext): Outcome | undefined {
  const first = services.find(isPaused);
  if (first === undefined) return undefined;
  for (const service of services) {
    const { isPaused, problem } = pauseOf(service);
    publisher.publishOnce(service, "waiting", [isPaused ? paused : waitingForPaused(first)]);
    if (!isPaused) continue;
    publisher.publishOnce(service, "annotations", [
      ...(problem === undefined ? [] : [problemFound(problem)]),
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
  const result = update === "lost" ? update : CloudError.is(update) ? "failed" : "done";
  deps.groupStates.commit(state, { kind: "operationEnded", at: controller.clock.monotonic(), result });
  if (CloudError.is(update)) throw update;
  if (update === "lost") return untilNextPlan(state);
  if (state.operation?.isCreation === true) endRelease(deps, group);
  noteRefused(deps, services, update.refused);
  await rememberFacts(controller, services, update, call.signal);
  return untilNextPlan(state);
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
  deps.groupStates.commit(state, { kind: "operationProblem", isShown: true });
  for (const service of services) {
    deps.publisher.publishOnce(service, "failure", [syncFailed(service, error)]);
    const problems = [...deps.desiredServices.problemsOf(service), problem];
    await writeErrorCondition(deps, service, problems, call.signal);
  }
}

/** The operation can be checked again. */
async function clearOperationProblem(
  { controller: { writes, clock }, groupStates, publisher, desiredServices }: ReconcileDeps,
  { services, state, call }: ReconcileContext,
): Promise<void> {
  if (!state.hasOperationProblem) return;
  groupStates.commit(state, { kind: "operationProblem", isShown: false });
  for (const service of services) {
    publisher.recovered(service);
    const conditions = finalConditions(service, desiredServices.problemsOf(service), clock.now(), false);
    const patch = conditions && serviceStatusPatch({ service, conditions });
    if (patch !== undefined) {
      await writes.patch(service, patch, "the operation can be checked again", call.signal);
    }
  }
}
