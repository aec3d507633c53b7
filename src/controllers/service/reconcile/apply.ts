// Applies a plan: executes its steps, or waits for the cloud.

import { type Milliseconds, milliseconds } from "../../../core/brand.ts";
import { type Outcome, requeue, settled, waiting } from "../../../runtime/workers.ts";
import { slowerCheck } from "../../check-delay.ts";
import { changeOf } from "../desired/fingerprint.ts";
import type { Change, GroupState } from "../state/group-record.ts";
import { describeDesired, describeReason } from "../status/describe-change.ts";
import { waitingFor } from "../status/events.ts";
import { executeSteps } from "./apply-steps.ts";
import type { ReconcileContext, ReconcileDeps } from "./context.ts";
import type { AllowedPlan } from "./drift.ts";
import type { PlannedGroup } from "./steps.ts";

/** Undefined when there is nothing to change and nothing to wait for. */
export async function applyPlan(
  deps: ReconcileDeps,
  context: ReconcileContext,
  plan: AllowedPlan,
): Promise<Outcome | undefined> {
  const { controller, publisher } = deps;
  const { state } = context;
  const { members, steps, wait } = plan;
  if (steps.length > 0) {
    const change = changeOfPlan(state, plan);
    const why = describeReason(members, { ...plan, change, state });
    return controller.isObserving
      ? reportSteps(deps, context, plan, why)
      : changeGroup(deps, context, plan, change, why);
  }
  if (wait === undefined) return undefined;
  const now = controller.clock.monotonic();
  const waited = milliseconds(now - (state.waitingSince ?? now));
  for (const { service } of members) {
    publisher.publishOnce(service, "waiting", [waitingFor(wait.waitingFor, waited)]);
  }
  deps.groupStates.commit(state, { kind: "outdated", at: now });
  return requeue(checkDelay(deps, state, wait.checkAfter), wait.waitingFor);
}

function changeOfPlan(
  { lastCompleted }: GroupState,
  { members, fingerprint, areOnlyTargets }: AllowedPlan,
): Change {
  if (areOnlyTargets) return "update";
  const areAllEnding = members.every(({ desired }) => desired.ending !== undefined);
  return changeOf(lastCompleted, fingerprint, areAllEnding ? "delete" : undefined);
}

/** Observe mode: journals what would be done, once per plan. */
function reportSteps(
  { controller, groupStates }: ReconcileDeps,
  { group, state }: ReconcileContext,
  { members, steps }: PlannedGroup,
  why: string,
): Outcome {
  const text = JSON.stringify(steps);
  if (state.reportedSteps !== text) {
    const detail = describeDesired(members);
    for (const step of steps) controller.journal({ step, group, why, outcome: "observed", detail });
  }
  groupStates.commit(state, { kind: "stepsReported", text });
  return settled;
}

async function changeGroup(
  deps: ReconcileDeps,
  context: ReconcileContext,
  plan: PlannedGroup,
  change: Change,
  why: string,
): Promise<Outcome> {
  const { clock, observer } = deps.controller;
  const { state } = context;
  const isNew = state.change === undefined;
  deps.groupStates.commit(state, { kind: "changeBegan", change, steps: plan.steps.length });
  const beganAt = clock.monotonic();
  let isFailed = true;
  try {
    const wait = await executeSteps(deps, context, plan, { change, isNew, why });
    isFailed = false;
    if (wait === "operation") return waiting;
    if (wait === undefined) return requeue(state.progress.changeDelay, "the cloud to show the changes");
    return requeue(checkDelay(deps, state, wait.checkAfter), wait.waitingFor);
  } finally {
    const failed = isFailed ? change : undefined;
    deps.groupStates.commit(state, { kind: "changeSent", at: clock.monotonic(), failed });
    if (change === "update") observer.onHostUpdate(clock.monotonic() - beganAt, isFailed);
  }
}

/** The delay before the cloud is checked again: at least the one that the provider requests. */
export function checkDelay(
  { controller, groupStates }: Pick<ReconcileDeps, "controller" | "groupStates">,
  state: GroupState,
  checkAfter: Milliseconds,
): Milliseconds {
  const now = controller.clock.monotonic();
  groupStates.commit(state, { kind: "waits", at: now });
  const delay = slowerCheck(milliseconds(now - (state.waitingSince ?? now)), checkAfter);
  return milliseconds(Math.max(delay, state.progress.changeDelay));
}
