// The record of a Service: what the controller knows about the Service and its load balancer, until nothing of it remains. Its
// methods change it. After a restart, the Service and the next listings provide what matters.

import { afterSteps, type Observation } from "../../../cloud/inventory/balancer-observation.ts";
import { type Cidr, minutes, type ServiceUID } from "../../../core/brand.ts";
import { defined } from "../../../core/defined.ts";
import type { Problem } from "../../../core/problem.ts";
import type { Fields, Values } from "../../../core/settings.ts";
import type { BalancerTarget, ObservedLoadBalancer } from "../../../provider/load-balancers.ts";
import { ObjectBoard } from "../../kernel/board.ts";
import { Creations } from "../../kernel/creations.ts";
import { Ledger } from "../../kernel/ledger.ts";
import type { TargetRules } from "../annotations/target-rules.ts";
import type { Desired } from "../deps.ts";
import { Progress } from "./progress.ts";
import {
  type AcceptedRequest,
  type AppliedPlan,
  type ChangeKind,
  type CreationRequest,
  createsBalancer,
  type Fingerprint,
  type Hold,
  type ManagedBalancer,
  type ObservedHealth,
  type RunningStep,
  SessionPart,
  type StartedOperation,
} from "./record-parts.ts";
import type { RefusedTargets } from "./refused-targets.ts";

/** New events of a topic replace the topic's earlier events. */
export type EventTopic =
  | "annotations"
  | "adoption"
  | "plan"
  | "failure"
  | "waiting"
  | "drift"
  | "absence"
  | "duplicates"
  | "health";

/** Keeps the watch of EndpointSlices open for one Service. */
export interface EndpointSubscription {
  readonly close: () => void;
}

/**
 * The last valid values, which replace invalid values. After a restart, the settings of the load balancer take their place.
 */
export interface LastValid {
  readonly lastSettings: Partial<Values<Fields>> | undefined;
  readonly lastRanges: readonly Cidr[] | "unspecified" | undefined;
  /**
   * Undefined for a Service that no longer needs a load balancer. While a rule is invalid after a restart, the targets do not
   * change.
   */
  readonly lastTargetRules: TargetRules | undefined;
}

export interface Said extends LastValid {
  /**
   * What to do with the load balancer if the Service disappears without waiting for its finalizer: release it, or keep it
   * because on-delete was invalid. Undefined to delete it. After a restart, the load balancer becomes an orphan or is deleted.
   */
  readonly onDelete: Desired | "on hold" | undefined;
}

/** The window in which two changes of target health are reported. A later plan reports the state at that time. */
const healthFlapsWithin = minutes(10);

/** All times are monotonic. */
export class ServiceRecord {
  readonly key: string;
  readonly uid: ServiceUID;
  /**
   * `managed`: the Service exists, and the controller has work for it. `leaving`: the Service is gone or needs nothing any
   * more, but may still have a load balancer. `idle`: no work is pending.
   */
  phase: "idle" | "managed" | "leaving" = "idle";

  // The content of the Service, until its record ends.
  said: Said = {
    lastSettings: undefined,
    lastRanges: undefined,
    lastTargetRules: undefined,
    onDelete: undefined,
  };
  /** Open while the targets are chosen by endpoints. */
  endpoints: EndpointSubscription | undefined;
  /** When the Service was first missing from the API server, although Fairlead had not removed its finalizer. */
  goneAt: number | undefined;
  /** When a user last changed the Service; `-Infinity` if this process has seen no change. */
  changedInClusterAt: number = Number.NEGATIVE_INFINITY;
  /** True if this process saw the Service's deletion, or a change after which the Service needs no load balancer. */
  isDeletionSeen: boolean = false;
  /** The Service had no finalizer when it was last reconciled, and this process has added none since. */
  lacksFinalizer: boolean = false;

  // The evidence that the load balancer exists, until its absence is proved.
  readonly evidence: Ledger = new Ledger();
  readonly creations: Creations = new Creations();
  /**
   * When the last creation with an unknown outcome was sent. It may take effect later, and a listing then shows the load
   * balancer.
   */
  uncertainCreationAt: number | undefined;
  /**
   * When Fairlead last changed the cloud; older listings are outdated. Infinity while requests are sent, because every listing
   * is outdated.
   */
  changedAt: number | undefined;

  /** The observations, until the next leadership session begins. */
  session: SessionPart = new SessionPart();

  // The progress of a change, until the load balancer is complete.
  /** The change whose steps failed in the last reconcile. */
  failedChange: ChangeKind | undefined;
  /** Failures and changes since the last progress, which determine delays. */
  readonly progress: Progress = new Progress();
  /** Since when the Service has waited for the cloud; checks become rarer. */
  waitingSince: number | undefined;
  /** The operation of the last step, until it has ended. After a restart, two listings prove its effect. */
  operation: StartedOperation | undefined;
  /**
   * The desired state without targets that was last completed, or reported as drift. After a restart,
   * --load-balancer-drift=report does not apply differences of a complete Service.
   */
  knownSpec: string | undefined;

  // The current findings, so that each event is published once.
  readonly board: ObjectBoard<EventTopic> = new ObjectBoard();
  /** Why nothing is created or removed, for reports; undefined while nothing is on hold. */
  hold: Hold | undefined;
  /** The cloud's names of the load balancers that are being released, or left to other Services, for the event. */
  released: readonly string[] = [];
  isLeft: boolean = false;
  /**
   * The Service has a condition that its operation cannot be checked. After a restart, the condition stays until the next
   * write.
   */
  hasOperationProblem: boolean = false;
  /** In observe mode, the last reported steps, so that each plan is reported once. */
  reportedSteps: string | undefined;

  constructor(key: string, uid: ServiceUID) {
    this.key = key;
    this.uid = uid;
  }

  /**
   * Another replica may have made the next difference, so it is not drift. If another process has led, it may have changed the
   * result of an open operation, which then has no meaning.
   */
  beginSession({ hasOtherLed }: { readonly hasOtherLed: boolean }): void {
    this.session = new SessionPart();
    if (hasOtherLed) this.operation = undefined;
  }

  openEndpoints(subscription: EndpointSubscription): void {
    this.endpoints = subscription;
  }

  closeEndpoints(): void {
    this.endpoints?.close();
    this.endpoints = undefined;
  }

  /** Called when the cloud rejected a target. Returns false if the target is already withheld. */
  noteRefusal(...refusal: Parameters<RefusedTargets["note"]>): boolean {
    return this.session.refused.note(...refusal);
  }

  /** Called when the cloud has these targets. Returns whether one of them was rejected before. */
  noteAccepted(targets: readonly BalancerTarget[], at: number): boolean {
    return this.session.refused.accept(targets, at);
  }

  /** Called when the Service or the settings have changed, so that every rejected target is retried. */
  endRefusals(): void {
    this.session.refused.clear();
  }

  /** Called when the Service is gone from the API. */
  noteVanished(isDeletionSeen: boolean): void {
    this.isDeletionSeen = isDeletionSeen;
  }

  /** Has no effect if there is nothing to release. */
  noteGone(at: number): void {
    if (this.phase === "leaving") this.goneAt = at;
  }

  noteFinalizer(isPresent: boolean): void {
    this.lacksFinalizer = !isPresent;
  }

  /** Duplicates are released one after another. `isFirst`: an earlier release has ended. */
  noteReleasing(
    name: string,
    { isFirst, isLeft }: { readonly isFirst: boolean; readonly isLeft: boolean },
  ): void {
    const isAnother = isLeft !== this.isLeft;
    this.isLeft = isLeft;
    this.released = isFirst || isAnother ? [name] : [...new Set([...this.released, name])];
  }

  /** Replaces the topic's previous findings. Returns the new findings. */
  report(topic: EventTopic, problems: readonly Problem[]): readonly Problem[] {
    return this.board.put(topic, problems);
  }

  /** Called when the Service has changed, so that waits and counts start again. */
  noteServiceChange(): void {
    this.waitingSince = undefined;
    this.progress.restart();
  }

  /** Called when the Service has no more findings. */
  endReports(): void {
    this.board.clear();
    this.endRefusals();
    this.closeEndpoints();
  }

  /** Called when a reconcile has observed the cloud's state. A user may have changed the Service in the meantime. */
  noteObservation(observation: Observation | undefined): void {
    const { session } = this;
    const { notBefore } = session.observation ?? {};
    session.observation = observation && { ...observation, notBefore };
  }

  /** Called when a user has changed the Service. */
  noteNews(at: number): void {
    this.changedInClusterAt = at;
  }

  /** Called when a user has changed the Service, and maybe the load balancer. */
  noteEdit(at: number): void {
    this.#updateObservation({ notBefore: at });
  }

  #updateObservation(parts: Partial<Observation>): void {
    const { session } = this;
    session.observation = session.observation && { ...session.observation, ...parts };
  }

  setManaged(managed: ManagedBalancer): void {
    this.session.managed = managed;
  }

  noteDuplicates(duplicates: readonly ObservedLoadBalancer[]): void {
    this.session.duplicates = duplicates;
  }

  /** Called when the cloud shows the load balancer. */
  noteShown(): void {
    this.creations.clear();
    this.evidence.noteShown();
  }

  /** Clears the last reconcile's hold and the fact that the load balancer was complete. */
  beginReconcile(): void {
    this.hold = undefined;
    this.#updateObservation({ completeAt: undefined });
  }

  /** Without a change, the load balancer is planned again only at long intervals. */
  noteRest(at: number): void {
    this.#updateObservation({ completeAt: at });
  }

  setHold(hold: Hold | undefined): void {
    this.hold = hold;
  }

  /** The Service waits for the cloud from now on, unless it already does. */
  beginWait(at: number): void {
    this.waitingSince ??= at;
  }

  /** Listings that began before this time are too old for the next plan. */
  outdate(at: number): void {
    this.changedAt = at;
    this.session.observation = undefined;
  }

  /** Returns when the load balancer was first seen to have lost targets, which is now if the loss is new. */
  lossSeenAt(now: number): number {
    this.session.targetsLostAt ??= now;
    return this.session.targetsLostAt;
  }

  /** A reconcile's observation may be older than the data that a user has requested since. */
  noteHealth(health: Omit<ObservedHealth, "asked">): void {
    const { session } = this;
    const { at = Number.NEGATIVE_INFINITY, asked } = session.health ?? {};
    if (health.at >= at) session.health = { ...health, asked };
  }

  /** Returns false if two changes were reported recently, because targets that fail intermittently are not news each time. */
  noteHealthReport(what: string, now: number): boolean {
    const { what: known, at, beforeAt } = this.session.reportedHealth;
    if (what === known) return true;
    if (now < beforeAt + healthFlapsWithin) return false;
    this.session.reportedHealth = { what, at: now, beforeAt: at };
    return true;
  }

  noteHealthQuestion(at: number, failure?: string): void {
    const { session } = this;
    const { health = { at: Number.NEGATIVE_INFINITY, summary: undefined } } = session;
    session.health = { ...health, asked: defined({ at, failure }) };
  }

  noteDrift(spec: string): void {
    this.knownSpec = spec;
  }

  noteReportedSteps(text: string): void {
    this.reportedSteps = text;
  }

  beginChange(change: ChangeKind, plan: AppliedPlan): void {
    // From now on, a request may have removed what a listing lacks.
    this.changedAt = Number.POSITIVE_INFINITY;
    const { session } = this;
    session.observation = afterSteps(session.observation, plan);
    // A change of targets may become a larger change before it is complete.
    if (session.change === undefined || session.change === "update") session.change = change;
    this.progress.notePlan(plan.steps.length);
    if (createsBalancer(plan)) this.creations.begin();
  }

  /** Called when the request for a step failed, although the cloud may have accepted it. */
  noteStepFailed(creation: CreationRequest | undefined): void {
    if (creation === undefined) return;
    this.creations.note({ ...creation, isAccepted: false });
    this.uncertainCreationAt = creation.at;
  }

  noteStepAccepted({ hash, isFirst, isProgress, creation }: AcceptedRequest): void {
    if (isFirst) this.progress.noteChange();
    if (creation !== undefined) this.creations.note({ ...creation, isAccepted: true });
    if (isProgress) this.progress.noteCompleted(hash);
  }

  /** Called when the last accepted step is not complete. */
  noteStepInProgress(
    { observed, duplicates, isLeaving }: AppliedPlan,
    { hash, at, operation: id, isLast, removes }: RunningStep,
  ): void {
    const isOperation = id !== undefined;
    const isOnlyOne = duplicates.length === 0;
    // The effect may fail later. The operation or the next observation reports that.
    if (!isOperation && !removes) this.progress.noteCompleted(hash);
    if (isLeaving) this.evidence.noteRemoval();
    // An operation may fail without a trace in the cloud.
    else this.evidence.noteChange(at, isOperation ? "possible" : "exists");
    this.operation = {
      id,
      since: at,
      step: hash,
      isLeaving,
      isRemoval: isOnlyOne && (removes || (isLeaving && isLast)),
      isProgress: !removes,
      isCreation: isLast && observed === undefined,
    };
  }

  /** A created load balancer exists even if listings do not show it yet. */
  noteStepsDone({ duplicates, steps, isLeaving }: AppliedPlan, at: number, isGone: boolean): void {
    const isOnlyOne = duplicates.length === 0;
    const isRemoval = isOnlyOne && (isLeaving || steps.at(-1)?.removes === true);
    this.#noteDone({ isLeaving, isRemoval }, at, isGone);
  }

  /** Called when a step failed after other steps were applied or may have taken effect. */
  noteStepsFailed({ isLeaving }: AppliedPlan, at: number, applied: number): void {
    if (isLeaving) this.evidence.noteRemoval();
    else this.evidence.noteChange(at, applied > 0 ? "exists" : "possible");
  }

  /** All requests of a change were sent. `failed`: the change, if one of its requests failed. */
  noteChangeSent(
    { observed, isLeaving, steps }: AppliedPlan,
    at: number,
    failed: ChangeKind | undefined,
  ): void {
    const { session } = this;
    this.changedAt = at;
    const isReplaced = observed === undefined || isLeaving || steps.some(({ removes }) => removes);
    // A change of more than targets may rename the load balancer. Names distinguish it from known duplicates.
    const mayBeRenamed = session.change !== "update" && session.duplicates.length === 0;
    if (isReplaced || mayBeRenamed) session.managed = undefined;
    if (failed === undefined) {
      // The cloud accepts changes again, even if this change is still in progress.
      session.backoffUntil = undefined;
      return;
    }
    this.failedChange = failed;
    session.observation = undefined;
  }

  /** `gone`: completed, with proof that the listed object is gone. Returns the operation that has ended. */
  endOperation(at: number, result: "done" | "gone" | "failed" | "lost"): StartedOperation | undefined {
    const { operation, evidence, session } = this;
    // The parts that the steps changed are outdated already.
    const kept = result === "done" ? session.observation : undefined;
    this.outdate(at);
    session.observation = kept;
    this.operation = undefined;
    if (operation === undefined) return undefined;
    const { step, isProgress, isLeaving } = operation;
    if (result === "lost") {
      // The cloud may still complete the operation, and what listings lacked while it was running proves nothing.
      if (isLeaving) evidence.restartProofs(at);
      else evidence.noteChange(at, "possible");
    } else if (result === "failed") this.creations.noteFailed(step);
    else {
      if (isProgress) this.progress.noteCompleted(step);
      this.#noteDone(operation, at, result === "gone");
    }
    return operation;
  }

  /**
   * A deletion that the cloud reports as done may have had no effect. A Service keeps its finalizer until listings or a lookup
   * prove the effect. A Service that still needs a load balancer gets a new one immediately; remains of the old one are
   * reported as a duplicate.
   */
  #noteDone(
    { isLeaving, isRemoval }: Pick<StartedOperation, "isLeaving" | "isRemoval">,
    at: number,
    isGone: boolean,
  ): void {
    const { evidence } = this;
    if (!isLeaving) {
      if (isRemoval) evidence.noteRemoved(at);
      else evidence.noteChange(at, "exists");
    } else if (isRemoval) {
      if (isGone) evidence.noteRemoved(at);
      else evidence.noteRemoval(at);
    }
  }

  setOperationProblem(isShown: boolean): void {
    this.hasOperationProblem = isShown;
  }

  complete(desired: Fingerprint): void {
    this.session.change = undefined;
    this.noteServiceChange();
    this.session.lastCompleted = desired;
    this.session.targetsLostAt = undefined;
    this.knownSpec = desired.spec;
  }

  /** Called when a reconcile ended without an error. `isSettled`: nothing is left to do. */
  noteSuccess({ isSettled }: { readonly isSettled: boolean }): void {
    // A Service that waits for a proof after a failure has not succeeded yet.
    if (isSettled) this.progress.endFailures();
    this.session.backoffUntil = undefined;
  }

  noteFailure(): void {
    this.progress.noteFailure();
  }

  noteErrorHandled(): void {
    this.failedChange = undefined;
  }

  /** Until this time, only a change of the Service retries it. */
  backOff(until: number): void {
    this.session.backoffUntil = until;
  }
}

/** The record as stages and triggers see it: they read fields and call methods. */
export type ServiceState = Readonly<
  Omit<ServiceRecord, "board" | "progress" | "evidence" | "creations" | "session">
> & {
  readonly session: Readonly<Omit<SessionPart, "refused">> & {
    readonly refused: Pick<RefusedTargets, "all" | "dueAt" | "retryAt" | "withhold">;
  };
  readonly board: Pick<ObjectBoard<EventTopic>, "all" | "of">;
  readonly progress: Pick<Progress, "failures" | "changeDelay">;
  readonly evidence: Readonly<Omit<Ledger, "noteShown">>;
  readonly creations: Pick<Creations, "countOf" | "has">;
};

export function isBackingOff({ session: { backoffUntil } }: ServiceState, now: number): boolean {
  return backoffUntil !== undefined && backoffUntil > now;
}
