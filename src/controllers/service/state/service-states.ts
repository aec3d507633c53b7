// The records of all Services, by UID: created when the Service is first read, and dropped as a whole (`drop-states.ts`).

import { type ServiceUID, serviceUID } from "../../../core/brand.ts";
import { keyOf, type Service } from "../../../kube/objects.ts";
import {
  applyServiceChange,
  closeEndpoints,
  newService,
  type ServiceChange,
  type ServiceRecord,
  type ServiceState,
  untilReleased,
} from "./service-record.ts";

export class ServiceStates {
  readonly #byUID = new Map<ServiceUID, ServiceRecord>();
  /** The members of groups by key. A new Service may have taken the name of an old one that is still known by its UID. */
  readonly #members = new Map<string, ServiceState>();
  /** The Services that select their targets by label. */
  readonly #selecting = new Set<ServiceUID>();

  get all(): readonly ServiceState[] {
    return [...this.#byUID.values()];
  }

  /** Whether a Service selects its targets by label. Read on every change of a Node. */
  get hasTargetSelector(): boolean {
    return this.#selecting.size > 0;
  }

  get(uid: ServiceUID): ServiceState | undefined {
    return this.#byUID.get(uid);
  }

  /** The state of this Service; created if there is none. It stays current: later changes are visible in it. */
  of({ metadata }: Service): ServiceState {
    const uid = serviceUID(metadata.uid);
    return this.#byUID.get(uid) ?? this.create(keyOf(metadata), uid);
  }

  create(key: string, uid: ServiceUID): ServiceState {
    const known = this.#byUID.get(uid);
    if (known !== undefined) return known;
    const record = newService(key, uid);
    this.#byUID.set(uid, record);
    return record;
  }

  /** Applies what happened to a Service. Everything else may only read its state. */
  commit(state: ServiceState, change: ServiceChange): void {
    // Every state that this store gives away is a record.
    applyServiceChange(state as ServiceRecord, change);
    if (change.kind === "read") this.#indexSelector(state);
  }

  /** The Service with this key that is a member of a group. */
  member(key: string): ServiceState | undefined {
    return this.#members.get(key);
  }

  /** Only `GroupStates` calls this. */
  assign(state: ServiceState, group: string): void {
    (state as ServiceRecord).group = group;
    this.#members.set(state.key, state);
  }

  /** Only `GroupStates` calls this. */
  unassign(state: ServiceState): void {
    (state as ServiceRecord).group = undefined;
    this.#members.delete(state.key);
  }

  /** Only `drop-states.ts` calls this. `isReleasePending`: what the release needs is kept. */
  drop(state: ServiceState, isReleasePending: boolean): void {
    const record = state as ServiceRecord;
    closeEndpoints(record);
    this.#selecting.delete(state.uid);
    if (isReleasePending) this.#byUID.set(state.uid, untilReleased(record));
    else this.#byUID.delete(state.uid);
  }

  #indexSelector({ uid, lastTargetRules: rules }: ServiceState): void {
    if (rules?.selector === undefined && rules?.cloudSelector === undefined) this.#selecting.delete(uid);
    else this.#selecting.add(uid);
  }
}
