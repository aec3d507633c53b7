// Everything that can happen to a group, and what each changes in its record. Stages and triggers hand these changes to
// `GroupStates.commit`; nothing else writes to a record, except that the store assigns Services to groups.

import type { AcceptedStep } from "../../../cloud/reads-lag.ts";
import type { Milliseconds, ServiceUID } from "../../../core/brand.ts";
import type { ObservedLoadBalancer } from "../../../provider/load-balancers.ts";
import type { Proof } from "../../absence/proof.ts";
import type { BalancerEvidence, Certainty } from "./balancer-evidence.ts";
import {
  type Change,
  type Fingerprint,
  type GroupRecord,
  type GroupReset,
  type Hold,
  type KeptObservation,
  type ManagedBalancer,
  type OperationOf,
  type Rest,
  resetGroup,
} from "./group-record.ts";
import { applyTransition, type ChangeIn } from "./transitions.ts";

/** A step that creates the load balancer. */
type Creation = Omit<Parameters<BalancerEvidence["creations"]["note"]>[0], "isAccepted">;

/** The owners that have a load balancer when the steps of a plan are applied, and those that then have none. */
interface Owners {
  readonly serving: readonly ServiceUID[];
  readonly leaving: readonly ServiceUID[];
  /** All that they have is one load balancer: with duplicates, its removal leaves others. */
  readonly isOnlyOne: boolean;
}

interface Traces {
  readonly uid: ServiceUID;
  readonly certainty: Certainty | undefined;
  readonly isEnding: boolean;
  /** When they were found (monotonic). */
  readonly at: number;
}

interface Listed extends Omit<Proof, "kind"> {
  readonly owners: readonly ServiceUID[];
  readonly isElsewhere: (uid: ServiceUID) => boolean;
}

interface NotFound {
  readonly lookup: Omit<Proof, "kind">;
  readonly confirmAfter: Milliseconds;
}

interface BegunChange {
  readonly change: Change;
  readonly steps: number;
  readonly isCreation: boolean;
  readonly kept: KeptObservation | undefined;
}

interface SentChange {
  readonly at: number;
  /** The change, if one of its requests failed. */
  readonly failed: Change | undefined;
  /** It creates or removes a load balancer. */
  readonly isReplaced: boolean;
}

interface AcceptedRequest {
  readonly hash: string;
  readonly isFirst: boolean;
  readonly isProgress: boolean;
  readonly creation: Creation | undefined;
  /** Only where reads lag. */
  readonly recent: AcceptedStep | undefined;
}

interface RunningStep extends Owners {
  readonly hash: string;
  readonly at: number;
  readonly isOperation: boolean;
  readonly isLast: boolean;
  readonly isCreation: boolean;
  readonly removes: boolean;
}

interface DoneSteps extends Owners {
  readonly at: number;
  readonly removes: boolean;
  readonly isGone: boolean;
}

interface FailedSteps extends Pick<Owners, "serving" | "leaving"> {
  readonly at: number;
  readonly applied: number;
}

/** Each happens to a record as a function; its second parameter is the change. Times are monotonic. */
const transitions = {
  ended(record: GroupRecord, { event }: { readonly event: GroupReset }) {
    resetGroup(record, event);
  },
  /** Another process may have created or removed load balancers, or another account answers from now on. */
  proofRestarted({ evidence }: GroupRecord, { isOtherAccount }: { readonly isOtherAccount: boolean }) {
    evidence.restartProof();
    if (isOtherAccount) evidence.creations.clear();
  },
  /** The Service shows traces of a load balancer from before this session, or that it may have been removed. */
  tracesFound({ evidence }: GroupRecord, traces: Traces) {
    evidence.expect(traces.uid, traces.certainty, traces.at);
    if (traces.isEnding) evidence.assumeRemoval(traces.uid);
  },
  /** Another replica added the finalizer, so it may have created a load balancer. */
  finalizerFound(record: GroupRecord, { uid, at }: { readonly uid: ServiceUID; readonly at: number }) {
    outdate(record, at);
    record.evidence.noteChange([uid], at, "possible");
  },
  /** A Service of the group has changed. */
  serviceChanged(record: GroupRecord) {
    restartPacing(record);
  },

  listingRequested(record: GroupRecord, { at }: { readonly at: number }) {
    record.listingRequestedAt = at;
  },
  requestEnded(record: GroupRecord) {
    record.listingRequestedAt = undefined;
  },
  listingDue(record: GroupRecord, { at }: { readonly at: number | undefined }) {
    record.listingDueAt = at;
  },
  /** A complete listing shows these owners, and no others. */
  listed({ evidence }: GroupRecord, { owners, beganAt, knownAt, isElsewhere }: Listed) {
    evidence.noteListing({ beganAt, knownAt }, { here: owners, isElsewhere });
  },

  /** A reconcile observes the cloud as it was then. */
  observed(
    record: GroupRecord,
    { at, kept }: { readonly at: number; readonly kept: KeptObservation | undefined },
  ) {
    record.recentSteps.observedAt = at;
    record.kept = kept;
    // What was read in the meantime may be older than the edit.
    if (record.editedAt !== undefined && record.editedAt <= at) record.editedAt = undefined;
  },
  edited(record: GroupRecord, { at }: { readonly at: number }) {
    record.editedAt = at;
  },
  managedChosen(record: GroupRecord, { managed }: { readonly managed: ManagedBalancer }) {
    record.managed = managed;
  },
  duplicatesFound(
    record: GroupRecord,
    { duplicates }: { readonly duplicates: readonly ObservedLoadBalancer[] },
  ) {
    record.duplicates = duplicates;
  },
  /** The load balancer of the group is shown. */
  shown({ evidence }: GroupRecord, { owners }: { readonly owners: readonly ServiceUID[] }) {
    evidence.noteShown(owners);
  },
  /** A lookup did not find it. */
  notFound({ evidence }: GroupRecord, { lookup, confirmAfter }: NotFound) {
    evidence.noteLookup(lookup, confirmAfter);
  },
  /** It is certain that these owners have no load balancer in the group. */
  ownersAbsent({ evidence }: GroupRecord, { owners }: { readonly owners: readonly ServiceUID[] }) {
    evidence.forget(owners);
  },

  /** A reconcile begins. */
  began(record: GroupRecord) {
    record.hold = undefined;
    record.rest = undefined;
  },
  /** Nothing is left to do. */
  rests(record: GroupRecord, { rest }: { readonly rest: Rest }) {
    record.rest = rest;
  },
  held(record: GroupRecord, { hold }: { readonly hold: Hold | undefined }) {
    record.hold = hold;
  },
  /** The group waits for the cloud from now on, if it does not wait already. */
  waits(record: GroupRecord, { at }: { readonly at: number }) {
    record.waitingSince ??= at;
  },
  /** Listings that began before are too old for the next plan. */
  outdated(record: GroupRecord, { at }: { readonly at: number }) {
    outdate(record, at);
  },
  driftReported(record: GroupRecord, { spec }: { readonly spec: string }) {
    record.knownSpec = spec;
  },
  stepsReported(record: GroupRecord, { text }: { readonly text: string }) {
    record.reportedSteps = text;
  },

  changeBegan(record: GroupRecord, { change, steps, isCreation, kept }: BegunChange) {
    record.kept = kept;
    // A change of targets may become a larger change before it is complete.
    if (record.change === undefined || record.change === "update") record.change = change;
    record.progress.notePlan(steps);
    if (isCreation) record.evidence.creations.begin();
  },
  /** The request for a step failed, and the cloud may have accepted it. */
  stepFailed(record: GroupRecord, { creation }: { readonly creation: Creation | undefined }) {
    if (creation === undefined) return;
    record.evidence.creations.note({ ...creation, isAccepted: false });
    record.uncertainCreationAt = creation.at;
  },
  stepAccepted({ evidence, progress, recentSteps }: GroupRecord, step: AcceptedRequest) {
    if (step.isFirst) progress.noteChange();
    if (step.creation !== undefined) evidence.creations.note({ ...step.creation, isAccepted: true });
    if (step.recent !== undefined) recentSteps.note(step.hash, step.recent);
    if (step.isProgress) progress.noteCompleted(step.hash);
  },
  /** The last accepted step is not complete. */
  stepInProgress(record: GroupRecord, step: RunningStep) {
    const { evidence, progress } = record;
    const { hash, at, serving, leaving, isOnlyOne, isOperation, isLast, removes } = step;
    // What it does may fail later. Without an operation that reports it, the next observation does.
    if (!isOperation && !removes) progress.noteCompleted(hash);
    // An operation may fail without a trace in the cloud.
    evidence.noteChange(serving, at, isOperation ? "possible" : "exists");
    evidence.noteRemoval(leaving);
    record.operation = {
      step: hash,
      serving,
      leaving: isOnlyOne && (isLast || removes) ? leaving : [],
      isRemoval: removes && isOnlyOne,
      isProgress: !removes,
      isCreation: isLast && step.isCreation,
    };
  },
  /** A created load balancer exists even if listings do not show it yet. */
  stepsDone({ evidence }: GroupRecord, { serving, leaving, isOnlyOne, removes, at, isGone }: DoneSteps) {
    const isRemoval = removes && isOnlyOne;
    noteStepsDone(evidence, { serving, leaving: isOnlyOne ? leaving : [], isRemoval }, at, isGone);
  },
  /** A step failed after others were applied, or may have had an effect. */
  stepsFailed({ evidence }: GroupRecord, { serving, leaving, at, applied }: FailedSteps) {
    evidence.noteChange(serving, at, applied > 0 ? "exists" : "possible");
    evidence.noteRemoval(leaving);
  },
  /** All requests of a change were sent. */
  changeSent(record: GroupRecord, { at, failed, isReplaced }: SentChange) {
    record.changedAt = at;
    // A change of more than targets may rename it. Names distinguish it from known duplicates.
    const mayBeRenamed = record.change !== "update" && record.duplicates.length === 0;
    if (isReplaced || mayBeRenamed) record.managed = undefined;
    if (failed === undefined) {
      // The cloud accepts changes again, even if this one is still in progress.
      record.backoffUntil = undefined;
      return;
    }
    record.failedChange = failed;
    record.kept = undefined;
  },
  /** `gone`: done, and proved that what was listed is gone. */
  operationEnded(
    record: GroupRecord,
    { at, result }: { readonly at: number; readonly result: "done" | "gone" | "failed" | "lost" },
  ) {
    const { operation, evidence, progress, recentSteps } = record;
    outdate(record, at);
    if (operation === undefined) return;
    const { step, isProgress, serving, leaving } = operation;
    if (result === "lost") {
      // The cloud may still complete it, and what listings lacked while it was running proves nothing.
      evidence.noteChange(serving, at, "possible");
      evidence.restartProofsOf(leaving, at);
      return;
    }
    if (result === "failed") {
      recentSteps.forget(step);
      evidence.creations.noteFailed(step);
      return;
    }
    if (isProgress) progress.noteCompleted(step);
    recentSteps.renew(step, at);
    noteStepsDone(evidence, operation, at, result === "gone");
  },
  operationProblem(record: GroupRecord, { isShown }: { readonly isShown: boolean }) {
    record.hasOperationProblem = isShown;
  },

  completed(record: GroupRecord, { desired }: { readonly desired: Fingerprint }) {
    record.change = undefined;
    restartPacing(record);
    record.lastCompleted = desired;
    record.knownSpec = desired.spec;
  },
  /** A reconcile ended without an error. `isSettled`: nothing is left to do. */
  succeeded(record: GroupRecord, { isSettled }: { readonly isSettled: boolean }) {
    // What waits for a proof after a failure has not succeeded yet.
    if (isSettled) record.progress.endFailures();
    record.backoffUntil = undefined;
  },
  failed({ progress }: GroupRecord) {
    progress.noteFailure();
  },
  errorHandled(record: GroupRecord) {
    record.listingRequestedAt = undefined;
    record.failedChange = undefined;
  },
  /** Until then, only a change of a Service retries it. */
  backsOff(record: GroupRecord, { until }: { readonly until: number }) {
    record.backoffUntil = until;
  },
};

export type GroupChange = ChangeIn<typeof transitions>;

/**
 * A deletion that the cloud reports as done may have had no effect. Before a Service may go, listings must prove it, unless a later answer
 * already does. One that stays gets another load balancer at once, and what is left of the old one would be reported as a duplicate.
 */
function noteStepsDone(
  evidence: BalancerEvidence,
  { serving, leaving, isRemoval }: Pick<OperationOf, "serving" | "leaving" | "isRemoval">,
  at: number,
  isGone: boolean,
): void {
  if (isRemoval) evidence.noteRemoved(serving, at);
  else evidence.noteChange(serving, at, "exists");
  if (isGone) evidence.noteRemoved(leaving, at);
  else evidence.noteRemoval(leaving, at);
}

/** The next plan needs a listing that began later. */
function outdate(record: GroupRecord, at: number): void {
  record.changedAt = at;
  record.kept = undefined;
}

/** The desired load balancer has changed, so waits and counts start over. */
function restartPacing(record: GroupRecord): void {
  record.waitingSince = undefined;
  record.progress.restart();
}

/** Called only by `GroupStates.commit`. */
export function applyChange(record: GroupRecord, change: GroupChange): void {
  applyTransition(transitions, record, change);
}
