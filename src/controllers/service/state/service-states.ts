// The in-memory state of each Service, by UID: created when the Service is first read, and dropped as a whole (`drop-states.ts`).
// A restart loses it; the comments describe what happens then.

import { type Cidr, type ServiceUID, serviceUID } from "../../../core/brand.ts";
import type { Fields, Values } from "../../../core/settings.ts";
import { keyOf, type Service } from "../../../kube/objects.ts";
import type { TargetRules } from "../annotations/target-rules.ts";
import type { Desired, ServiceEvent } from "../deps.ts";
import { RefusedTargets } from "./refused-targets.ts";

/** New events of a topic replace the topic's earlier events. */
export type EventTopic =
  | "annotations"
  | "adoption"
  | "plan"
  | "failure"
  | "waiting"
  | "drift"
  | "absence"
  | "duplicates";

/** Keeps the watch of EndpointSlices open for one Service. */
export interface EndpointSubscription {
  readonly close: () => void;
}

export class ServiceState {
  readonly key: string;
  readonly uid: ServiceUID;

  /** The group of the Service; undefined before it is assigned and after it has left. After a restart: assigned again. */
  group: string | undefined;

  /** The cloud has a load balancer of the Service, but its group is unknown. After a restart: the next listing finds it. */
  hasLeftovers = false;

  /** The last valid settings, which replace invalid ones. After a restart: the values in the cloud are used. */
  lastSettings: Partial<Values<Fields>> | undefined;

  /** The last valid source ranges. After a restart: the ranges in the cloud are used. */
  lastRanges: readonly Cidr[] | "unspecified" | undefined;

  /** Targets that the cloud refused. After a restart: each is tried once more. */
  readonly refused = new RefusedTargets();

  /** Open while the targets are chosen by endpoints. After a restart: the next reconcile opens it again. */
  endpoints: EndpointSubscription | undefined;

  /**
   * What to do with the load balancer if the Service disappears without waiting for its finalizer: release it, or keep it
   * because on-delete was invalid. Undefined: delete it. After a restart: it becomes an orphan or is deleted.
   */
  onDelete: Desired | "on hold" | undefined;

  /** The Service is gone, and its deletion was seen. After a restart: Services that are gone are unknown. */
  isDeletionSeen = false;

  /**
   * It had no finalizer when it was last reconciled, and this process has added none since. After a restart: a finalizer shows that
   * there may be a load balancer.
   */
  lacksFinalizer = false;

  /** The cloud's names of the load balancers being released, for the event. After a restart: the event does not name them. */
  releasedName: string | undefined;

  /** The last published events by topic and identity, so that each is published once. After a restart: published once more. */
  readonly published = new Map<EventTopic, ReadonlyMap<string, ServiceEvent>>();

  readonly #selecting: Set<ServiceState>;
  #lastTargetRules: TargetRules | undefined;

  /** `selecting` contains the Services that select their targets by label. */
  constructor(key: string, uid: ServiceUID, selecting: Set<ServiceState>) {
    this.key = key;
    this.uid = uid;
    this.#selecting = selecting;
  }

  /** The last valid target rules. After a restart: the targets are frozen while a rule is invalid. */
  get lastTargetRules(): TargetRules | undefined {
    return this.#lastTargetRules;
  }

  set lastTargetRules(rules: TargetRules | undefined) {
    this.#lastTargetRules = rules;
    if (rules?.selector === undefined && rules?.cloudSelector === undefined) this.#selecting.delete(this);
    else this.#selecting.add(this);
  }
}

export class ServiceStates {
  readonly #byUID = new Map<ServiceUID, ServiceState>();
  /** The members of groups by key. A new Service may have taken the name of an old one that is still known by its UID. */
  readonly #members = new Map<string, ServiceState>();

  readonly #selecting = new Set<ServiceState>();

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

  /** The state of this Service; created if there is none. */
  of({ metadata }: Service): ServiceState {
    const uid = serviceUID(metadata.uid);
    return this.#byUID.get(uid) ?? this.create(keyOf(metadata), uid);
  }

  create(key: string, uid: ServiceUID): ServiceState {
    const known = this.#byUID.get(uid);
    if (known !== undefined) return known;
    const state = new ServiceState(key, uid, this.#selecting);
    this.#byUID.set(uid, state);
    return state;
  }

  /** The Service with this key that is a member of a group. */
  member(key: string): ServiceState | undefined {
    return this.#members.get(key);
  }

  assign(state: ServiceState, group: string): void {
    state.group = group;
    this.#members.set(state.key, state);
  }

  unassign(state: ServiceState): void {
    state.group = undefined;
    this.#members.delete(state.key);
  }

  /** Only `drop-states.ts` calls this. */
  delete(state: ServiceState): void {
    state.endpoints?.close();
    state.lastTargetRules = undefined;
    this.#byUID.delete(state.uid);
  }
}
