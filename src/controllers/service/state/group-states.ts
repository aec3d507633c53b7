// The in-memory state of each group of Services that share a load balancer, created when a Service joins and dropped as a whole
// (`drop-states.ts`). A restart loses it; the comments describe what happens then.

import type { ServiceUID } from "../../../core/brand.ts";
import type { BalancerTarget, ObservedLoadBalancer } from "../../../provider/load-balancers.ts";
import { BalancerEvidence } from "./balancer-evidence.ts";
import { GroupListings } from "./group-listings.ts";
import type { ManagedBalancer } from "./managed-balancer.ts";
import { GroupProgress } from "./progress.ts";
import { RecentSteps } from "./recent-steps.ts";
import type { ServiceStates } from "./service-states.ts";

/** The kinds of changes to a load balancer. Upstream has the first three. */
export type Change = "ensure" | "update" | "delete" | "release";

/** The desired state of a group, short enough to be stored for every group. */
export interface Fingerprint {
  readonly targets: string;
  /** Everything except the targets. */
  readonly spec: string;
  /** The targets of each Service. All Services with the same targets share one list. */
  readonly lists: readonly (readonly BalancerTarget[])[];
}

/** Why the absence of a load balancer or Service has no consequences yet. */
export interface Hold {
  readonly reason: string;
  readonly message: string;
  /** An operator can release it. */
  readonly isReleasable?: true;
}

/** A Service that is gone from the API although Fairlead did not remove its finalizer. */
export interface GoneService {
  readonly key: string;
  /** When it was missing first (monotonic). */
  readonly at: number;
  /** Its deletion, or a change after which it needs no load balancer, was seen before. */
  readonly isDeletionSeen: boolean;
}

/** The step of an operation, hashed; which owners it serves, and which it completely removes. A removal is no progress. */
export interface OperationOf {
  readonly step: string;
  readonly serving: readonly ServiceUID[];
  readonly leaving: readonly ServiceUID[];
  readonly isProgress: boolean;
  /** It completes a load balancer that was absent. */
  readonly isCreation: boolean;
}

const noInputs: ReadonlySet<string> = new Set();

export class GroupState {
  readonly group: string;

  /** Keys of the Services in the group. After a restart: the Services are assigned again. */
  readonly members = new Set<string>();

  /** Owners that have left but may still have a load balancer. After a restart: found again by the marks in the next listing. */
  readonly pendingReleases = new Set<ServiceUID>();

  /** Owners with a pending release that are gone from the API. After a restart: their load balancers are orphans. */
  readonly goneServices = new Map<ServiceUID, GoneService>();

  /** The change in progress. After a restart: its event is published again. */
  change: Change | undefined;

  /** The change whose steps failed in the last reconcile. After a restart: the event calls it a sync, not an update. */
  failedChange: Change | undefined;
  /** The last completed desired state; any other difference is drift. After a restart: the next difference is not drift. */
  lastCompleted: Fingerprint | undefined;

  /**
   * The desired state without targets that was last completed, or reported as drift. After a restart: it is not known what has
   * changed, so --load-balancer-drift=report applies no difference of a complete Service.
   */
  knownSpec: string | undefined;

  /** Failures and changes since the last progress, which decide delays. After a restart: counted from zero. */
  readonly progress = new GroupProgress();

  /** Since when it has waited for the cloud (monotonic); checks become rarer. After a restart: checked more often again. */
  waitingSince: number | undefined;

  /** Until then (monotonic) or until a success, only a change of a Service enqueues the group. After a restart: retried early. */
  backoffUntil: number | undefined;

  /** The listings that it needs. After a restart: all parts of the cloud. */
  readonly listings = new GroupListings();

  /** When the group last changed the cloud (monotonic); older listings are outdated. After a restart: a listing comes first. */
  changedAt: number | undefined;

  /** Steps that reads may not show yet. After a restart: a step may be sent again. */
  readonly recentSteps: RecentSteps = new RecentSteps();

  /** What is known about the existence of the load balancer. After a restart: read from the Services and the next listings. */
  readonly evidence: BalancerEvidence;

  /** The step of the last operation. After a restart: two listings prove what it has done. */
  operation: OperationOf | undefined;

  /** Why nothing is created or removed, for reports; undefined while nothing is on hold. After a restart: found again. */
  hold: Hold | undefined;

  /** Further load balancers with the mark of the group, in the last observation. After a restart: observed again. */
  duplicates: readonly ObservedLoadBalancer[] = [];

  /**
   * The load balancer of the last observation, by its name in the cloud, and since which listing only another one is shown.
   * Undefined after a change. After a restart: the first one that is observed is managed.
   */
  managed: ManagedBalancer | undefined;

  /** The Services have the condition that their operation cannot be checked. After a restart: it stays until the next write. */
  hasOperationProblem = false;

  /** Observe mode: the last reported steps, so that each plan is reported once. After a restart: reported once more. */
  reportedSteps: string | undefined;

  /** Names of the Secrets, ConfigMaps and files that the last plan needed. After a restart: not reread until the next plan. */
  inputs = noInputs;

  constructor(group: string, evidence = new BalancerEvidence()) {
    this.group = group;
    this.evidence = evidence;
  }

  /** The desired load balancer has changed, so waits and counts start over. */
  restartPacing(): void {
    this.waitingSince = undefined;
    this.progress.restart();
  }

  startChange(change: Change): void {
    // A change of targets may become a larger change before it is complete.
    if (this.change === undefined || this.change === "update") this.change = change;
  }

  complete(desired: Fingerprint): void {
    this.change = undefined;
    this.restartPacing();
    this.lastCompleted = desired;
    this.knownSpec = desired.spec;
  }

  /** Another replica may have made the next difference, so it is not drift, and may have completed the change in progress. */
  beginSession(): void {
    this.change = undefined;
    this.lastCompleted = undefined;
    this.managed = undefined;
  }

  /** A reconcile succeeded, so the backoff of the last error ends. */
  endFailure(): void {
    this.progress.endFailures();
    this.backoffUntil = undefined;
  }

  /** The cloud no longer has a load balancer for the group; the next one will be new. */
  startOver(): void {
    this.change = undefined;
    this.failedChange = undefined;
    this.lastCompleted = undefined;
    this.knownSpec = undefined;
    this.backoffUntil = undefined;
    this.managed = undefined;
    this.restartPacing();
  }

  isBackingOff(now: number): boolean {
    return this.backoffUntil !== undefined && this.backoffUntil > now;
  }
}

export class GroupStates {
  readonly #states = new Map<string, GroupState>();
  readonly #services: ServiceStates;

  constructor(services: ServiceStates) {
    this.#services = services;
  }

  get all(): readonly GroupState[] {
    return [...this.#states.values()];
  }

  /** Groups that have a member or a pending release. */
  get names(): ReadonlySet<string> {
    const states = this.all.filter(({ members, pendingReleases }) => members.size + pendingReleases.size > 0);
    return new Set(states.map(({ group }) => group));
  }

  get(group: string): GroupState | undefined {
    return this.#states.get(group);
  }

  /** The state of this group; created if there is none. */
  of(group: string): GroupState {
    const known = this.#states.get(group);
    if (known !== undefined) return known;
    const state = new GroupState(group);
    this.#states.set(group, state);
    return state;
  }

  membersOf(group: string): readonly string[] {
    return [...(this.#states.get(group)?.members ?? [])];
  }

  pendingReleasesOf(group: string): readonly ServiceUID[] {
    return [...(this.#states.get(group)?.pendingReleases ?? [])];
  }

  isReleasePending(uid: ServiceUID, group: string): boolean {
    return this.#states.get(group)?.pendingReleases.has(uid) === true;
  }

  isReleasePendingElsewhere(uid: ServiceUID, group: string): boolean {
    return this.#states.values().some((state) => state.group !== group && state.pendingReleases.has(uid));
  }

  /** The group of the Service with this UID, not of another one with the same name. */
  groupOf(uid: ServiceUID): string | undefined {
    return this.#services.get(uid)?.group;
  }

  /** Returns the groups to reconcile: the one that the Service is in now, and the one that it left. */
  assign(key: string, uid: ServiceUID, group: string): readonly string[] {
    const before = this.#services.member(key);
    if (before?.uid === uid && before.group === group) return [group];
    const left = this.remove(key);
    this.#services.assign(this.#services.create(key, uid), group);
    const { members, pendingReleases } = this.of(group);
    members.add(key);
    // It returned before the group had released it.
    pendingReleases.delete(uid);
    this.of(group).goneServices.delete(uid);
    return [...left, group];
  }

  /** Removes the Service from its group, which must release its load balancer. Returns the groups to reconcile. */
  remove(key: string): readonly string[] {
    const state = this.#services.member(key);
    if (state?.group === undefined) return [];
    const { group } = state;
    this.#services.unassign(state);
    this.of(group).members.delete(key);
    this.addPendingRelease(group, state.uid);
    return [group];
  }

  /** Removes the Service from its group. It has no load balancer there. */
  dismiss(key: string): void {
    const state = this.#services.member(key);
    for (const group of this.remove(key)) if (state !== undefined) this.released(group, [state.uid]);
  }

  /** The owner has a load balancer in a group that it does not belong to. */
  addPendingRelease(group: string, uid: ServiceUID): void {
    this.of(group).pendingReleases.add(uid);
  }

  /** The Service is gone from the API. Without effect if the group has nothing to release. */
  noteGone(group: string, uid: ServiceUID, gone: GoneService): void {
    const state = this.#states.get(group);
    if (state?.pendingReleases.has(uid) === true) state.goneServices.set(uid, gone);
  }

  /** The group no longer has a load balancer of these owners. */
  released(group: string, owners: readonly ServiceUID[]): void {
    const state = this.#states.get(group);
    for (const uid of owners) {
      state?.pendingReleases.delete(uid);
      state?.goneServices.delete(uid);
    }
    state?.evidence.forget(owners);
  }

  /** Only `drop-states.ts` calls this. */
  delete(group: string): void {
    this.#states.delete(group);
  }

  /** Replaces the state by a new one that keeps only what is pending. Only `drop-states.ts` calls this. */
  startOver(state: GroupState): void {
    const { group, evidence, recentSteps, listings, pendingReleases, goneServices, changedAt, hold } = state;
    const next = new GroupState(group, evidence);
    for (const uid of pendingReleases) next.pendingReleases.add(uid);
    for (const [uid, gone] of goneServices) next.goneServices.set(uid, gone);
    this.#states.set(group, Object.assign(next, { changedAt, hold, recentSteps, listings }));
  }
}
