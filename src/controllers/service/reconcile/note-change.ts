// Records what the applied steps say about the existence of load balancers: a created one exists even if listings do not show it
// yet, and a deleted one is gone without further proof.

import type { Clock } from "../../../platform/clock.ts";
import { isRefusal } from "../../errors.ts";
import type { GroupState } from "../state/group-states.ts";
import type { PlannedGroup } from "./steps.ts";

type Owners = Pick<PlannedGroup, "observed" | "serving" | "leaving" | "duplicates">;

/** All steps were applied. `isRemoved`: the last one removed the load balancer. */
export function noteApplied(
  state: GroupState,
  { serving, leaving, duplicates }: Owners,
  clock: Pick<Clock, "monotonic">,
  isRemoved: boolean,
): void {
  const now = clock.monotonic();
  const isNoneLeft = duplicates.length === 0;
  if (isRemoved && isNoneLeft) state.evidence.noteRemoved(serving, now);
  else state.evidence.noteChange(serving, now, "exists");
  if (isNoneLeft) state.evidence.noteRemoved(leaving, now);
}

/** A step was accepted, and the cloud is working on it. */
export function noteAccepted(
  state: GroupState,
  { observed, serving, leaving, duplicates }: Owners,
  clock: Pick<Clock, "monotonic">,
  {
    step,
    isOperation,
    isLast,
    removes,
  }: Readonly<Record<"isOperation" | "isLast" | "removes", boolean>> & { readonly step: string },
): void {
  // What it does may fail later. Without an operation that reports it, the next observation does.
  if (!isOperation && !removes) state.progress.noteCompleted(step);
  // An operation may fail without a trace in the cloud.
  state.evidence.noteChange(serving, clock.monotonic(), isOperation ? "possible" : "exists");
  state.evidence.noteRemoval(leaving);
  const isNoneLeft = duplicates.length === 0;
  const isRemoval = removes && isNoneLeft;
  state.operation = {
    step,
    serving: isRemoval ? [] : serving,
    leaving: isRemoval ? [...serving, ...leaving] : isLast && isNoneLeft ? leaving : [],
    isProgress: !removes,
    isCreation: isLast && observed === undefined,
  };
}

/** The operation of the last step succeeded. */
export function noteOperationDone(state: GroupState, clock: Pick<Clock, "monotonic">): void {
  const { operation, evidence } = state;
  if (operation === undefined) return;
  const { step, serving, leaving, isProgress } = operation;
  const now = clock.monotonic();
  if (isProgress) state.progress.noteCompleted(step);
  state.recentSteps.renew(step, now);
  evidence.noteChange(serving, now, "exists");
  evidence.noteRemoved(leaving, now);
}

/** A step failed. It may have had an effect. */
export function noteFailed(
  state: GroupState,
  { serving, leaving }: Owners,
  clock: Pick<Clock, "monotonic">,
  { error, applied }: { readonly error: unknown; readonly applied: number },
): void {
  if (applied === 0 && isRefusal(error)) return;
  state.evidence.noteChange(serving, clock.monotonic(), applied > 0 ? "exists" : "possible");
  state.evidence.noteRemoval(leaving);
}
