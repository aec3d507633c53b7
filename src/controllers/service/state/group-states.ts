// What the controller remembers of each group of Services that share a load balancer: one record per group, created when a
// Service joins and dropped as a whole (`drop-states.ts`). It is lost at a restart; the comments say what follows from that.

import type { ServiceUID } from "../../../core/brand.ts";
import type { ServiceStates } from "./service-states.ts";

/** The kinds of changes to a load balancer. Upstream has the first three. */
export type Change = "ensure" | "update" | "delete" | "release";

/** The desired state of a group, short enough to be kept for every group. */
export interface Fingerprint {
  readonly targets: string;
  /** Everything but the targets. */
  readonly spec: string;
}

const noInputs: ReadonlySet<string> = new Set();

export class GroupState {
  readonly group: string;

  /** Keys of the Services in the group. Lost: the Services are placed again. */
  readonly members = new Set<string>();

  /** Owners that have left, with something possibly left in the cloud. Lost: found again by the marks in the next listing. */
  readonly pendingReleases = new Set<ServiceUID>();

  /** The change that has begun and is not complete. Lost: it is announced again. */
  change: Change | undefined;

  /** The change whose steps failed in the reconcile that just ended. Lost: the event calls it a sync, not an update. */
  failedChange: Change | undefined;

  /** The desired state last completed: any other difference is drift. Lost: the next difference is not reported as drift. */
  lastCompleted: Fingerprint | undefined;

  /** Reconciles since the last completion that changed the cloud: many of them slow down. Lost: counted from zero. */
  changes = 0;

  /** Since when it has been waiting for the cloud, monotonic: checks become rarer. Lost: checked more often for a while. */
  waitingSince: number | undefined;

  /** After an error, monotonic: until then, or until a success, only a change of a Service enqueues the group. Lost: tried again early. */
  backoffUntil: number | undefined;

  /** Failed reconciles in a row: the third writes a condition. Lost: the condition comes later. */
  failures = 0;

  /** When a newer listing was requested, monotonic; undefined once it arrived. Lost: requested again. */
  listingRequestedAt: number | undefined;

  /** When the group last changed something in the cloud, monotonic: older listings are outdated. Lost: a restart lists first. */
  changedAt: number | undefined;

  /** The Services say that their operation cannot be checked. Lost: the condition stays until the next status write. */
  hasOperationProblem = false;

  /** Observe mode: the steps last reported, so that each plan is reported once. Lost: reported once more. */
  reportedSteps: string | undefined;

  /** Names of the Secrets, ConfigMaps and files that the last plan needed. Lost: no longer reread until the next plan. */
  inputs = noInputs;

  constructor(group: string) {
    this.group = group;
  }

  /** The Services asked for a different load balancer: the next waits and changes start over. */
  restartPacing(): void {
    this.waitingSince = undefined;
    this.changes = 0;
  }

  startChange(change: Change): void {
    // What began as a change of targets may become more before it is complete.
    if (this.change === undefined || this.change === "update") this.change = change;
    this.changes += 1;
  }

  complete(desired: Fingerprint): void {
    this.change = undefined;
    this.restartPacing();
    this.lastCompleted = desired;
  }

  /** A reconcile went through, so the backoff of the last error is over. */
  endFailure(): void {
    this.failures = 0;
    this.backoffUntil = undefined;
  }

  /** Nothing is left in the cloud: the next load balancer of this group is a new one. */
  startOver(): void {
    this.change = undefined;
    this.failedChange = undefined;
    this.lastCompleted = undefined;
    this.backoffUntil = undefined;
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

  /** Groups that have a member, or something to release. */
  get names(): ReadonlySet<string> {
    const states = this.all.filter(({ members, pendingReleases }) => members.size + pendingReleases.size > 0);
    return new Set(states.map(({ group }) => group));
  }

  get(group: string): GroupState | undefined {
    return this.#states.get(group);
  }

  /** The record of this group; created if there is none. */
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
    return this.all.some((state) => state.group !== group && state.pendingReleases.has(uid));
  }

  /** The group of this very Service, not of another one of its name. */
  groupOf(uid: ServiceUID): string | undefined {
    return this.#services.get(uid)?.group;
  }

  /** Returns the groups to reconcile: the one that the Service is in now, and the one that it left. */
  place(key: string, uid: ServiceUID, group: string): readonly string[] {
    const before = this.#services.placed(key);
    if (before?.uid === uid && before.group === group) return [group];
    const left = this.remove(key);
    this.#services.place(this.#services.create(key, uid), group);
    const { members, pendingReleases } = this.of(group);
    members.add(key);
    // It came back before the group had released it.
    pendingReleases.delete(uid);
    return [...left, group];
  }

  /** The Service leaves its group, which must release what it has. Returns the groups to reconcile. */
  remove(key: string): readonly string[] {
    const state = this.#services.placed(key);
    if (state?.group === undefined) return [];
    const { group } = state;
    this.#services.unplace(state);
    this.of(group).members.delete(key);
    this.addPendingRelease(group, state.uid);
    return [group];
  }

  /** The Service leaves its group and has nothing there. */
  dismiss(key: string): void {
    const state = this.#services.placed(key);
    for (const group of this.remove(key)) if (state !== undefined) this.released(group, [state.uid]);
  }

  /** The owner has something in a group that it does not belong to. */
  addPendingRelease(group: string, uid: ServiceUID): void {
    this.of(group).pendingReleases.add(uid);
  }

  /** The cloud has nothing of these owners in the group any more. */
  released(group: string, owners: readonly ServiceUID[]): void {
    for (const uid of owners) this.#states.get(group)?.pendingReleases.delete(uid);
  }

  /** Only `drop-states.ts` calls this. */
  delete(group: string): void {
    this.#states.delete(group);
  }
}
