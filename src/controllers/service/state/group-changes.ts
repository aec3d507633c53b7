// Everything that can happen to a group, and what each changes in its record. Stages and triggers hand these changes to
// `GroupStates.commit`; nothing else writes to a record, except that the store assigns Services to groups.

import type { AcceptedStep } from "../../../cloud/reads-lag.ts";
import type { Milliseconds, ServiceUID } from "../../../core/brand.ts";
import type { ObservedLoadBalancer } from "../../../provider/load-balancers.ts";
import type { BalancerEvidence, Certainty } from "./balancer-evidence.ts";
import {
  type Change,
  type Fingerprint,
  type GroupRecord,
  type Hold,
  type ManagedBalancer,
  type OperationOf,
  resetGroup,
} from "./group-record.ts";

/** A step that creates the load balancer. */
type Creation = Omit<Parameters<BalancerEvidence["creations"]["note"]>[0], "isAccepted">;

/** The owners that have a load balancer when the steps of a plan are applied, and those that then have none. */
interface Owners {
  readonly serving: readonly ServiceUID[];
  readonly leaving: readonly ServiceUID[];
  /** All that they have is one load balancer: with duplicates, its removal leaves others. */
  readonly isOnlyOne: boolean;
}

/** Times are monotonic. */
interface Changes {
  /** This replica takes the Lease. */
  sessionBegan: object;
  /** Another process may have created or removed load balancers, or another account answers from now on. */
  proofRestarted: { readonly isOtherAccount: boolean };
  /** The Service shows traces of a load balancer from before this session, or that it may have been removed. */
  tracesFound: {
    readonly uid: ServiceUID;
    readonly certainty: Certainty | undefined;
    readonly isEnding: boolean;
  };
  /** Another replica added the finalizer, so it may have created a load balancer. */
  finalizerFound: { readonly uid: ServiceUID; readonly at: number };
  /** A Service of the group has changed. */
  serviceChanged: object;

  /** The load balancer may be in other parts of the cloud than before. */
  partsChosen: { readonly parts: ReadonlySet<string> };
  listingRequested: { readonly part: string; readonly at: number };
  requestsEnded: object;
  listingDue: { readonly at: number | undefined };
  /** Listings show these owners; also which they lack, if all parts are listed where the load balancer may be. */
  listed: {
    readonly parts: readonly string[];
    readonly owners: readonly ServiceUID[];
    readonly complete?: {
      readonly beganAt: number;
      readonly knownAt: number;
      readonly isElsewhere: (uid: ServiceUID) => boolean;
    };
  };

  /** A reconcile observes the cloud as it was then. */
  observed: { readonly at: number };
  managedChosen: { readonly managed: ManagedBalancer };
  duplicatesFound: { readonly duplicates: readonly ObservedLoadBalancer[] };
  /** The load balancer of the group is shown in these parts; in none if only a lookup shows it. */
  shown: { readonly owners: readonly ServiceUID[]; readonly parts: readonly string[] };
  /** A lookup that covers every part did not find it. */
  notFound: {
    readonly lookup: { readonly beganAt: number; readonly knownAt: number };
    readonly confirmAfter: Milliseconds;
  };
  /** It is certain that the group has no load balancer. */
  absent: object;
  /** It is certain that these owners have no load balancer in the group. */
  ownersAbsent: { readonly owners: readonly ServiceUID[] };

  held: { readonly hold: Hold | undefined };
  /** The group waits for the cloud from now on, if it does not wait already. */
  waits: { readonly at: number };
  /** Listings that began before are too old for the next plan. */
  outdated: { readonly at: number };
  driftReported: { readonly spec: string };
  stepsReported: { readonly text: string };

  changeBegan: { readonly change: Change; readonly steps: number };
  creationBegan: object;
  /** The request for a step failed, and the cloud may have accepted it. */
  stepFailed: { readonly creation: Creation | undefined };
  stepAccepted: {
    readonly hash: string;
    readonly isFirst: boolean;
    readonly isProgress: boolean;
    readonly creation: Creation | undefined;
    /** Only where reads lag. */
    readonly recent: AcceptedStep | undefined;
  };
  /** The last accepted step is not complete. */
  stepInProgress: Owners & {
    readonly hash: string;
    readonly at: number;
    readonly isOperation: boolean;
    readonly isLast: boolean;
    readonly isCreation: boolean;
    readonly removes: boolean;
  };
  stepsDone: Owners & { readonly at: number; readonly removes: boolean; readonly isGone: boolean };
  /** A step failed after others were applied, or may have had an effect. */
  stepsFailed: Pick<Owners, "serving" | "leaving"> & { readonly at: number; readonly applied: number };
  /** All requests of a change were sent. `failed`: the change, if one of them failed. */
  changeSent: { readonly at: number; readonly failed: Change | undefined };
  /** `gone`: done, and proved that what was listed is gone. */
  operationEnded: { readonly at: number; readonly result: "done" | "gone" | "failed" | "lost" };
  operationProblem: { readonly isShown: boolean };

  completed: { readonly desired: Fingerprint };
  /** No Service needs the load balancer, and it is gone. */
  gone: object;
  /** No Service is left, and only releases are pending. */
  left: object;
  /** A reconcile ended without an error. `isSettled`: nothing is left to do. */
  succeeded: { readonly isSettled: boolean };
  failed: object;
  errorHandled: object;
  /** Until then, only a change of a Service retries it. */
  backsOff: { readonly until: number };
}

export type GroupChange = {
  readonly [K in keyof Changes]: { readonly kind: K } & Changes[K];
}[keyof Changes];

type Transitions = {
  readonly [K in keyof Changes]: (record: GroupRecord, change: Changes[K]) => void;
};

const transitions: Transitions = {
  sessionBegan(record) {
    resetGroup(record, "session");
  },
  proofRestarted({ evidence }, { isOtherAccount }) {
    evidence.restartProof();
    if (isOtherAccount) evidence.creations.clear();
  },
  tracesFound({ evidence }, { uid, certainty, isEnding }) {
    evidence.expect(uid, certainty);
    if (isEnding) evidence.assumeRemoval(uid);
  },
  finalizerFound(record, { uid, at }) {
    record.changedAt = at;
    record.evidence.noteChange([uid], at, "possible");
    record.evidence.places.forget();
  },
  serviceChanged(record) {
    restartPacing(record);
  },

  partsChosen(record, { parts }) {
    const { parts: before, evidence } = record;
    record.parts = parts;
    // In a part that is new, earlier listings proved less than they seemed to.
    if (before !== undefined && [...parts].some((part) => !before.has(part))) evidence.restartAbsence();
  },
  listingRequested(record, { part, at }) {
    record.requestedListings = new Map(record.requestedListings).set(part, at);
  },
  requestsEnded(record) {
    endRequests(record);
  },
  listingDue(record, { at }) {
    record.listingDueAt = at;
  },
  listed({ evidence }, { parts, owners, complete }) {
    evidence.places.noteSeen(parts);
    if (complete === undefined) evidence.noteShown(owners);
    else {
      const { beganAt, knownAt, isElsewhere } = complete;
      evidence.noteListing({ beganAt, knownAt }, { here: owners, isElsewhere });
    }
  },

  observed({ recentSteps }, { at }) {
    recentSteps.observedAt = at;
  },
  managedChosen(record, { managed }) {
    record.managed = managed;
  },
  duplicatesFound(record, { duplicates }) {
    record.duplicates = duplicates;
  },
  shown({ evidence, parts: possible }, { owners, parts }) {
    evidence.noteShown(owners);
    if (parts.length > 0) evidence.places.replace(parts);
    else evidence.places.notePossible([...(possible ?? [])]);
  },
  notFound({ evidence }, { lookup, confirmAfter }) {
    evidence.noteLookup(lookup, confirmAfter);
  },
  absent({ evidence }) {
    evidence.places.replace([]);
  },
  ownersAbsent({ evidence }, { owners }) {
    evidence.forget(owners);
  },

  held(record, { hold }) {
    record.hold = hold;
  },
  waits(record, { at }) {
    record.waitingSince ??= at;
  },
  outdated(record, { at }) {
    record.changedAt = at;
  },
  driftReported(record, { spec }) {
    record.knownSpec = spec;
  },
  stepsReported(record, { text }) {
    record.reportedSteps = text;
  },

  changeBegan(record, { change, steps }) {
    record.evidence.places.notePossible([...(record.parts ?? [])]);
    // A change of targets may become a larger change before it is complete.
    if (record.change === undefined || record.change === "update") record.change = change;
    record.progress.notePlan(steps);
  },
  creationBegan({ evidence }) {
    evidence.creations.begin();
  },
  stepFailed(record, { creation }) {
    if (creation === undefined) return;
    record.evidence.creations.note({ ...creation, isAccepted: false });
    record.uncertainCreationAt = creation.at;
  },
  stepAccepted({ evidence, progress, recentSteps }, { hash, isFirst, isProgress, creation, recent }) {
    if (isFirst) progress.noteChange();
    if (creation !== undefined) evidence.creations.note({ ...creation, isAccepted: true });
    if (recent !== undefined) recentSteps.note(hash, recent);
    if (isProgress) progress.noteCompleted(hash);
  },
  stepInProgress(
    record,
    { hash, serving, leaving, at, isOnlyOne, isOperation, isLast, isCreation, removes },
  ) {
    const { evidence, progress } = record;
    // What it does may fail later. Without an operation that reports it, the next observation does.
    if (!isOperation && !removes) progress.noteCompleted(hash);
    // An operation may fail without a trace in the cloud.
    evidence.noteChange(serving, at, isOperation ? "possible" : "exists");
    evidence.noteRemoval(leaving);
    const isRemoval = removes && isOnlyOne;
    record.operation = {
      step: hash,
      serving,
      leaving: isOnlyOne && (isLast || removes) ? leaving : [],
      isRemoval,
      isProgress: !removes,
      isCreation: isLast && isCreation,
    };
  },
  /** A created load balancer exists even if listings do not show it yet. */
  stepsDone({ evidence }, { serving, leaving, at, isOnlyOne, removes, isGone }) {
    const isRemoval = removes && isOnlyOne;
    noteStepsDone(evidence, { serving, leaving: isOnlyOne ? leaving : [], at, isRemoval, isGone });
  },
  stepsFailed({ evidence }, { serving, leaving, at, applied }) {
    evidence.noteChange(serving, at, applied > 0 ? "exists" : "possible");
    evidence.noteRemoval(leaving);
  },
  changeSent(record, { at, failed }) {
    record.changedAt = at;
    record.managed = undefined;
    if (failed !== undefined) record.failedChange = failed;
    // The cloud accepts changes again, even if this one is still in progress.
    else record.backoffUntil = undefined;
  },
  operationEnded(record, { at, result }) {
    const { operation, evidence, progress, recentSteps } = record;
    record.changedAt = at;
    if (operation === undefined || result === "lost") return;
    const { step, isProgress } = operation;
    if (result === "failed") {
      recentSteps.forget(step);
      evidence.creations.noteFailed(step);
      return;
    }
    if (isProgress) progress.noteCompleted(step);
    recentSteps.renew(step, at);
    noteStepsDone(evidence, { ...operation, at, isGone: result === "gone" });
  },
  operationProblem(record, { isShown }) {
    record.hasOperationProblem = isShown;
  },

  completed(record, { desired }) {
    record.change = undefined;
    restartPacing(record);
    record.lastCompleted = desired;
    record.knownSpec = desired.spec;
  },
  gone(record) {
    resetGroup(record, "gone");
  },
  left(record) {
    resetGroup(record, "left");
  },
  succeeded(record, { isSettled }) {
    // What waits for a proof after a failure has not succeeded yet.
    if (isSettled) record.progress.endFailures();
    record.backoffUntil = undefined;
  },
  failed({ progress }) {
    progress.noteFailure();
  },
  errorHandled(record) {
    endRequests(record);
    record.failedChange = undefined;
  },
  backsOff(record, { until }) {
    record.backoffUntil = until;
  },
};

/**
 * A deletion that the cloud reports as done may have had no effect. Before a Service may go, listings must prove it, unless a later answer
 * already does. One that stays gets another load balancer at once, and what is left of the old one would be reported as a duplicate.
 */
function noteStepsDone(
  evidence: BalancerEvidence,
  {
    serving,
    leaving,
    at,
    isRemoval,
    isGone,
  }: Pick<OperationOf, "serving" | "leaving" | "isRemoval"> & {
    readonly at: number;
    readonly isGone: boolean;
  },
): void {
  if (isRemoval) evidence.noteRemoved(serving, at);
  else evidence.noteChange(serving, at, "exists");
  if (isGone) evidence.noteRemoved(leaving, at);
  else evidence.noteRemoval(leaving, at);
}

const noRequests: ReadonlyMap<string, number> = new Map();

function endRequests(record: GroupRecord): void {
  record.requestedListings = noRequests;
}

/** The desired load balancer has changed, so waits and counts start over. */
function restartPacing(record: GroupRecord): void {
  record.waitingSince = undefined;
  record.progress.restart();
}

/** Called only by `GroupStates.commit`. */
export function applyChange(record: GroupRecord, change: GroupChange): void {
  const transition = transitions[change.kind] as (record: GroupRecord, change: GroupChange) => void;
  transition(record, change);
}
