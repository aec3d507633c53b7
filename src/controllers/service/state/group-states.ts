// The records of all groups, and the Services that each group has. Only this class adds members to groups, removes them, and drops the
// records of groups and Services. A record is created when a Service joins its group, and is dropped as a whole.

import type { ServiceUID } from "../../../core/brand.ts";
import type { ServiceStore } from "../deps.ts";
import { isManaged } from "../predicates.ts";
import { GroupRecord, type GroupState } from "./group-state.ts";
import type { ServiceState, ServiceStates } from "./service-states.ts";

/** How many names of dropped groups are remembered, of at most 36 characters each. */
const maxFormer = 5000;

export class GroupStates {
  readonly #records = new Map<string, GroupRecord>();
  readonly #services: ServiceStates;
  /** Groups whose record was dropped, oldest first. */
  readonly #former = new Set<string>();
  readonly #remembersGroups: boolean;

  /** `remembersGroups`: set if marks do not name the cluster. Otherwise the mark says which cluster a load balancer belongs to. */
  constructor(services: ServiceStates, { remembersGroups = false } = {}) {
    this.#services = services;
    this.#remembersGroups = remembersGroups;
  }

  get all(): readonly GroupState[] {
    return [...this.#records.values()];
  }

  /** Groups that have a member or a pending release. */
  get names(): ReadonlySet<string> {
    const states = this.all.filter(({ members, pendingReleases }) => members.size + pendingReleases.size > 0);
    return new Set(states.map(({ group }) => group));
  }

  get(group: string): GroupState | undefined {
    return this.#records.get(group);
  }

  /** The state of this group; created if there is none. It stays current: later changes are visible in it. */
  of(group: string): GroupState {
    return this.#record(group);
  }

  #record(group: string): GroupRecord {
    const known = this.#records.get(group);
    if (known !== undefined) return known;
    const record = new GroupRecord(group);
    this.#records.set(group, record);
    return record;
  }

  membersOf(group: string): readonly string[] {
    return [...(this.#records.get(group)?.members ?? [])];
  }

  pendingReleasesOf(group: string): readonly ServiceUID[] {
    return [...(this.#records.get(group)?.pendingReleases ?? [])];
  }

  isReleasePendingElsewhere(uid: ServiceUID, group: string): boolean {
    return this.#records.values().some((state) => state.group !== group && state.pendingReleases.has(uid));
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
    const { members, pendingReleases } = this.#record(group);
    members.add(key);
    // It returned before the group had released it.
    pendingReleases.delete(uid);
    this.#record(group).goneServices.delete(uid);
    return [...left, group];
  }

  /** Removes the Service from its group, which must release its load balancer. Returns the groups to reconcile. */
  remove(key: string): readonly string[] {
    const state = this.#services.member(key);
    if (state?.group === undefined) return [];
    const { group } = state;
    this.#services.unassign(state);
    this.#record(group).members.delete(key);
    this.addPendingRelease(group, state.uid);
    return [group];
  }

  /** Removes the Service from its group. It has no load balancer there. */
  dismiss(key: string): void {
    const state = this.#services.member(key);
    for (const group of this.remove(key)) if (state !== undefined) this.noteReleased(group, [state.uid]);
  }

  /** The owner has a load balancer in a group that it does not belong to. */
  addPendingRelease(group: string, uid: ServiceUID): void {
    this.#record(group).pendingReleases.add(uid);
  }

  /** The Service is gone from the API. Without effect if the group has nothing to release. */
  noteGone(group: string, uid: ServiceUID, at: number): void {
    const state = this.#records.get(group);
    const gone = this.#services.get(uid);
    if (gone === undefined || state?.pendingReleases.has(uid) !== true) return;
    const { key, isDeletionSeen } = gone;
    state.goneServices.set(uid, { key, at, isDeletionSeen });
  }

  /** The group no longer has a load balancer of these owners. */
  noteReleased(group: string, owners: readonly ServiceUID[]): void {
    const state = this.#records.get(group);
    for (const uid of owners) {
      state?.pendingReleases.delete(uid);
      state?.goneServices.delete(uid);
    }
    state?.evidence.forget(owners);
  }

  /** Whether this process knew a Service of the group. Its load balancer then belongs to this cluster, even if the mark does not say so. */
  wasKnown(group: string): boolean {
    return this.#records.has(group) || this.#former.has(group);
  }

  /**
   * Drops the state of these Services, unless they still exist or have something pending. While a group must still release a
   * Service, its state keeps how to do that.
   */
  dropServices(uids: Iterable<ServiceUID>, store: Pick<ServiceStore, "get">): void {
    for (const uid of uids) {
      const state = this.#services.get(uid);
      if (state === undefined || state.group !== undefined || isNeeded(state, store)) continue;
      const isPending = state.onDelete !== undefined;
      this.#services.drop(state, isPending && this.all.some((group) => group.pendingReleases.has(uid)));
    }
  }

  /** Drops the state of a group without members. While a release is pending, the parts that it needs are kept. */
  drop(group: string): void {
    const record = this.#records.get(group);
    if (record === undefined || record.members.size > 0) return;
    if (record.pendingReleases.size > 0) {
      record.reset("left");
      return;
    }
    this.#records.delete(group);
    if (!this.#remembersGroups) return;
    this.#former.delete(group);
    this.#former.add(group);
    const [oldest] = this.#former;
    if (this.#former.size > maxFormer && oldest !== undefined) this.#former.delete(oldest);
  }
}

function isNeeded({ key, uid, hasLeftovers }: ServiceState, store: Pick<ServiceStore, "get">): boolean {
  const service = store.get(key);
  return service?.metadata.uid === uid && (hasLeftovers || isManaged(service));
}
