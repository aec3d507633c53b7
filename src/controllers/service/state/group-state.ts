// The record of a group: what the controller remembers about Services that share a load balancer. Its methods change it; only `GroupStates`
// adds and removes members. A table defines how long each part of the record lasts.

import { type AcceptedStep, type PlannedAfter, RecentSteps } from "../../../cloud/reads-lag.ts";
import type { Milliseconds, ServiceUID } from "../../../core/brand.ts";
import type { ObservedLoadBalancer } from "../../../provider/load-balancers.ts";
import type { Proof } from "../../absence/proof.ts";
import { BalancerEvidence, type Certainty } from "./balancer-evidence.ts";
import {
  type AppliedPlan,
  type Change,
  createsBalancer,
  type Fingerprint,
  type GoneService,
  type Hold,
  type KeptObservation,
  keptAfter,
  type ManagedBalancer,
  type Rest,
  type StartedOperation,
} from "./group-parts.ts";
import { GroupProgress } from "./group-progress.ts";

/** A step that creates the load balancer. */
type Creation = Omit<Parameters<BalancerEvidence["creations"]["note"]>[0], "isAccepted">;

interface AcceptedRequest {
  readonly hash: string;
  readonly isFirst: boolean;
  readonly isProgress: boolean;
  readonly creation: Creation | undefined;
  /** Only where reads lag. */
  readonly recent: AcceptedStep | undefined;
}

interface RunningStep {
  readonly hash: string;
  readonly at: number;
  readonly isOperation: boolean;
  readonly isLast: boolean;
  readonly removes: boolean;
}

/** All times are monotonic. */
export class GroupRecord {
  readonly group: string;
  /** Keys of the Services in the group. */
  readonly members: Set<string> = new Set();
  /** Owners that have left but may still have a load balancer. After a restart, the marks in the next listing show them. */
  readonly pendingReleases: Set<ServiceUID> = new Set();
  /** Owners with a pending release that are gone from the API. After a restart, their load balancers are orphans. */
  readonly goneServices: Map<ServiceUID, GoneService> = new Map();
  /** The change in progress. After a restart, its event is published again. */
  change: Change | undefined;
  /** The change whose steps failed in the last reconcile. */
  failedChange: Change | undefined;
  /** The last completed desired state; any other difference is drift. After a restart, the next difference is not. */
  lastCompleted: Fingerprint | undefined;
  /**
   * The desired state without targets that was last completed, or reported as drift. After a restart, --load-balancer-drift=report applies
   * no difference of a complete Service.
   */
  knownSpec: string | undefined;
  /** When the load balancer was first seen to have lost targets, until it is complete again. */
  targetsLostAt: number | undefined;
  /** Failures and changes since the last progress, which decide delays. */
  progress: GroupProgress = new GroupProgress();
  /** Since when it has waited for the cloud; checks become rarer. */
  waitingSince: number | undefined;
  /** Until then or until a success, only a change of a Service enqueues the group. */
  backoffUntil: number | undefined;
  /** When a newer listing was requested, until it has arrived. */
  listingRequestedAt: number | undefined;
  /** Once this time has come, an older listing is outdated: a refused target is tried again. */
  listingDueAt: number | undefined;
  /** When the last creation with an unknown outcome was sent: it may take effect later, and a listing then shows the load balancer. */
  uncertainCreationAt: number | undefined;
  /** When the group last changed the cloud; older listings are outdated. Infinity while its requests are sent: every listing is outdated. */
  changedAt: number | undefined;
  /** Set while the group is complete. */
  rest: Rest | undefined;
  /** Ends with a change that only a listing can show. */
  kept: KeptObservation | undefined;
  /** When a user changed a Service after the last observation, so that all of the load balancer is read again. */
  editedAt: number | undefined;
  /** Steps that reads may not show yet. After a restart, one may be sent again. */
  recentSteps: RecentSteps = new RecentSteps();
  /** What is known about the existence of the load balancer. After a restart, the Services and the next listings show it. */
  readonly evidence: BalancerEvidence = new BalancerEvidence();
  /** The step of the last operation. After a restart, two listings prove what it has done. */
  operation: StartedOperation | undefined;
  /** Why nothing is created or removed, for reports; undefined while nothing is on hold. */
  hold: Hold | undefined;
  /** Further load balancers with the mark of the group, in the last observation. */
  duplicates: readonly ObservedLoadBalancer[] = [];
  /**
   * The load balancer of the last observation, and since which listing only another one is shown. Undefined after a change that may have
   * given it another name, or replaced it. After a restart, the one with the address of a Service is managed, or else the first observed.
   */
  managed: ManagedBalancer | undefined;
  /** The Services have the condition that their operation cannot be checked. After a restart, it stays until the next write. */
  hasOperationProblem: boolean = false;
  /** Observe mode: the last reported steps, so that each plan is reported once. */
  reportedSteps: string | undefined;

  constructor(group: string) {
    this.group = group;
  }

  /** Resets the parts that end with this event. */
  reset(event: GroupReset): void {
    const fresh: Readonly<Record<string, unknown>> = { ...new GroupRecord(this.group) };
    const ended = Object.entries(groupLifetimes).filter(([, events]) => events.includes(event));
    Object.assign(this, Object.fromEntries(ended.map(([name]) => [name, fresh[name]])));
  }

  /** Another process may have created or removed load balancers, or another account answers from now on. */
  restartProof({ isOtherAccount }: { readonly isOtherAccount: boolean }): void {
    this.evidence.restartProof();
    if (isOtherAccount) this.evidence.creations.clear();
  }

  /** The Service shows that an earlier session may have created or removed its load balancer. */
  noteTraces(uid: ServiceUID, certainty: Certainty | undefined, isEnding: boolean, at: number): void {
    this.evidence.expect(uid, certainty, at);
    if (isEnding) this.evidence.assumeRemoval(uid);
  }

  /** Another replica added the finalizer, so it may have created a load balancer. */
  noteOthersFinalizer(uid: ServiceUID, at: number): void {
    this.outdate(at);
    this.evidence.noteChange([uid], at, "possible");
  }

  /** A Service of the group has changed, so waits and counts start over. */
  noteServiceChange(): void {
    this.waitingSince = undefined;
    this.progress.restart();
  }

  setListingRequest(at: number | undefined): void {
    this.listingRequestedAt = at;
  }

  setListingDue(at: number | undefined): void {
    this.listingDueAt = at;
  }

  /** A complete listing shows these owners, and no others. */
  noteListing(...listing: Parameters<BalancerEvidence["noteListing"]>): void {
    this.evidence.noteListing(...listing);
  }

  /** A reconcile has observed the state of the cloud at this time. */
  noteObservation(at: number, kept: KeptObservation | undefined): void {
    this.recentSteps.observedAt = at;
    this.kept = kept;
    // What was read in the meantime may be older than the edit.
    if (this.editedAt !== undefined && this.editedAt <= at) this.editedAt = undefined;
  }

  noteEdit(at: number): void {
    this.editedAt = at;
  }

  setManaged(managed: ManagedBalancer): void {
    this.managed = managed;
  }

  noteDuplicates(duplicates: readonly ObservedLoadBalancer[]): void {
    this.duplicates = duplicates;
  }

  /** The cloud shows the load balancer of the group. */
  noteShown(owners: readonly ServiceUID[]): void {
    this.evidence.noteShown(owners);
  }

  /** A lookup did not find the load balancer. */
  noteLookup(lookup: Omit<Proof, "kind">, confirmAfter: Milliseconds): void {
    this.evidence.noteLookup(lookup, confirmAfter);
  }

  /** It is certain that these owners have no load balancer in the group. */
  noteAbsent(owners: readonly ServiceUID[]): void {
    this.evidence.forget(owners);
  }

  /** The hold and the rest of the last reconcile no longer apply. */
  beginReconcile(): void {
    this.hold = undefined;
    this.rest = undefined;
  }

  /** The load balancer is complete. */
  noteRest(rest: Rest): void {
    this.rest = rest;
  }

  setHold(hold: Hold | undefined): void {
    this.hold = hold;
  }

  /** The group waits for the cloud from now on, if it does not wait already. */
  beginWait(at: number): void {
    this.waitingSince ??= at;
  }

  /** Listings that began before this time are too old for the next plan. */
  outdate(at: number): void {
    this.changedAt = at;
    this.kept = undefined;
  }

  /** When the load balancer was first seen to have lost targets: now, if that is new. */
  lossSeenAt(now: number): number {
    this.targetsLostAt ??= now;
    return this.targetsLostAt;
  }

  noteDrift(spec: string): void {
    this.knownSpec = spec;
  }

  noteReportedSteps(text: string): void {
    this.reportedSteps = text;
  }

  beginChange(change: Change, plan: AppliedPlan): void {
    // From now on, a request of this group may have removed what a listing lacks.
    this.changedAt = Number.POSITIVE_INFINITY;
    this.kept = keptAfter(this.kept, plan);
    // A change of targets may become a larger change before it is complete.
    if (this.change === undefined || this.change === "update") this.change = change;
    this.progress.notePlan(plan.steps.length);
    if (createsBalancer(plan)) this.evidence.creations.begin();
  }

  /** The request for a step failed, and the cloud may have accepted it. */
  noteStepFailed(creation: Creation | undefined): void {
    if (creation === undefined) return;
    this.evidence.creations.note({ ...creation, isAccepted: false });
    this.uncertainCreationAt = creation.at;
  }

  noteStepAccepted({ hash, isFirst, isProgress, creation, recent }: AcceptedRequest): void {
    if (isFirst) this.progress.noteChange();
    if (creation !== undefined) this.evidence.creations.note({ ...creation, isAccepted: true });
    if (recent !== undefined) this.recentSteps.note(hash, recent);
    if (isProgress) this.progress.noteCompleted(hash);
  }

  /** The last accepted step is not complete. */
  noteStepInProgress(
    { observed, duplicates, serving, leaving }: AppliedPlan,
    { hash, at, isOperation, isLast, removes }: RunningStep,
  ): void {
    const isOnlyOne = duplicates.length === 0;
    // What it does may fail later. Without an operation that reports it, the next observation does.
    if (!isOperation && !removes) this.progress.noteCompleted(hash);
    // An operation may fail without a trace in the cloud.
    this.evidence.noteChange(serving, at, isOperation ? "possible" : "exists");
    this.evidence.noteRemoval(leaving);
    this.operation = {
      step: hash,
      serving,
      leaving: isOnlyOne && (isLast || removes) ? leaving : [],
      isRemoval: removes && isOnlyOne,
      isProgress: !removes,
      isCreation: isLast && observed === undefined,
    };
  }

  /** A created load balancer exists even if listings do not show it yet. */
  noteStepsDone({ duplicates, steps, serving, leaving }: AppliedPlan, at: number, isGone: boolean): void {
    const isOnlyOne = duplicates.length === 0;
    const isRemoval = isOnlyOne && steps.at(-1)?.removes === true;
    this.#noteDone({ serving, leaving: isOnlyOne ? leaving : [], isRemoval }, at, isGone);
  }

  /** A step failed after others were applied, or may have had an effect. */
  noteStepsFailed({ serving, leaving }: AppliedPlan, at: number, applied: number): void {
    this.evidence.noteChange(serving, at, applied > 0 ? "exists" : "possible");
    this.evidence.noteRemoval(leaving);
  }

  /** All requests of a change were sent. `failed`: the change, if one of its requests failed. */
  noteChangeSent({ observed, leaving, steps }: AppliedPlan, at: number, failed: Change | undefined): void {
    this.changedAt = at;
    const isReplaced = observed === undefined || leaving.length > 0 || steps.some(({ removes }) => removes);
    // A change of more than targets may rename it. Names distinguish it from known duplicates.
    const mayBeRenamed = this.change !== "update" && this.duplicates.length === 0;
    if (isReplaced || mayBeRenamed) this.managed = undefined;
    if (failed === undefined) {
      // The cloud accepts changes again, even if this one is still in progress.
      this.backoffUntil = undefined;
      return;
    }
    this.failedChange = failed;
    this.kept = undefined;
  }

  /** `gone`: done, and proved that what was listed is gone. */
  endOperation(at: number, result: "done" | "gone" | "failed" | "lost"): void {
    this.outdate(at);
    const { operation, evidence } = this;
    if (operation === undefined) return;
    const { step, isProgress, serving, leaving } = operation;
    if (result === "lost") {
      // The cloud may still complete it, and what listings lacked while it was running proves nothing.
      evidence.noteChange(serving, at, "possible");
      evidence.restartProofsOf(leaving, at);
    } else if (result === "failed") {
      this.recentSteps.forget(step);
      evidence.creations.noteFailed(step);
    } else {
      if (isProgress) this.progress.noteCompleted(step);
      this.recentSteps.renew(step, at);
      this.#noteDone(operation, at, result === "gone");
    }
  }

  /**
   * A deletion that the cloud reports as done may have had no effect. A Service keeps its finalizer until listings or a lookup prove the
   * effect. A Service that still needs a load balancer gets another one at once; remains of the old one are reported as a duplicate.
   */
  #noteDone(
    { serving, leaving, isRemoval }: Pick<StartedOperation, "serving" | "leaving" | "isRemoval">,
    at: number,
    isGone: boolean,
  ): void {
    const { evidence } = this;
    if (isRemoval) evidence.noteRemoved(serving, at);
    else evidence.noteChange(serving, at, "exists");
    if (isGone) evidence.noteRemoved(leaving, at);
    else evidence.noteRemoval(leaving, at);
  }

  setOperationProblem(isShown: boolean): void {
    this.hasOperationProblem = isShown;
  }

  complete(desired: Fingerprint): void {
    this.change = undefined;
    this.noteServiceChange();
    this.lastCompleted = desired;
    this.targetsLostAt = undefined;
    this.knownSpec = desired.spec;
  }

  /** A reconcile ended without an error. `isSettled`: nothing is left to do. */
  noteSuccess({ isSettled }: { readonly isSettled: boolean }): void {
    // A group that waits for a proof after a failure has not succeeded yet.
    if (isSettled) this.progress.endFailures();
    this.backoffUntil = undefined;
  }

  noteFailure(): void {
    this.progress.noteFailure();
  }

  noteErrorHandled(): void {
    this.listingRequestedAt = undefined;
    this.failedChange = undefined;
  }

  /** Until this time, only a change of a Service retries the group. */
  backOff(until: number): void {
    this.backoffUntil = until;
  }
}

type Collections = "members" | "pendingReleases" | "goneServices";

/** The record as stages and triggers see it: they read it and call its methods. */
export type GroupState = Readonly<
  Omit<GroupRecord, Collections | "progress" | "evidence" | "recentSteps">
> & {
  readonly members: ReadonlySet<string>;
  readonly pendingReleases: ReadonlySet<ServiceUID>;
  readonly goneServices: ReadonlyMap<ServiceUID, GoneService>;
  readonly progress: Pick<GroupProgress, "failures" | "changeDelay">;
  readonly recentSteps: PlannedAfter;
  readonly evidence: Pick<BalancerEvidence, "owners" | "needsProof" | "uids" | "get" | "isRemoved"> & {
    readonly creations: Pick<BalancerEvidence["creations"], "countOf" | "has">;
  };
};

export function isBackingOff({ backoffUntil }: GroupState, now: number): boolean {
  return backoffUntil !== undefined && backoffUntil > now;
}

/**
 * - `session`: this replica takes the Lease. Another one may have made the next difference, so it is not drift.
 * - `gone`: the cloud no longer has a load balancer for the group; the next one will be new.
 * - `left`: no Service is left, and only releases are pending.
 */
export type GroupReset = "session" | "gone" | "left";

/**
 * The events that end each part. A part without events lasts as long as the record: until the group has no Service and no pending
 * release. No part survives a restart.
 */
export const groupLifetimes: Readonly<Record<string, readonly GroupReset[]>> = {
  members: [],
  pendingReleases: [],
  goneServices: [],
  change: ["session", "gone", "left"],
  failedChange: ["gone", "left"],
  lastCompleted: ["session", "gone", "left"],
  knownSpec: ["gone", "left"],
  targetsLostAt: ["session", "gone", "left"],
  progress: ["gone", "left"],
  waitingSince: ["gone", "left"],
  backoffUntil: ["gone", "left"],
  listingRequestedAt: ["session"],
  listingDueAt: [],
  uncertainCreationAt: [],
  changedAt: [],
  rest: ["session", "gone", "left"],
  kept: ["session", "gone", "left"],
  editedAt: ["session", "gone", "left"],
  recentSteps: [],
  evidence: [],
  operation: ["left"],
  hold: [],
  duplicates: ["left"],
  managed: ["session", "gone", "left"],
  hasOperationProblem: ["left"],
  reportedSteps: ["left"],
};
