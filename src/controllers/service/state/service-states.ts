// What the controller remembers of each Service: one record per UID, created when the Service is first read and dropped as a
// whole (`drop-states.ts`). It is lost at a restart; the comments say what follows from that.

import { type Cidr, type ServiceUID, serviceUID } from "../../../core/brand.ts";
import type { Fields, Values } from "../../../core/settings.ts";
import { keyOf, type Service } from "../../../kube/objects.ts";
import type { TargetRules } from "../annotations/target-rules.ts";
import type { Desired } from "../deps.ts";

/** Events of one topic replace the events published before on the same topic. */
export type EventTopic = "annotations" | "adoption" | "plan" | "failure" | "waiting" | "drift";

/** Keeps the watch of EndpointSlices open for one Service. */
export interface EndpointSubscription {
  readonly close: () => void;
}

export class ServiceState {
  readonly key: string;
  readonly uid: ServiceUID;

  /** The group that the Service is a member of; undefined before it is placed and after it has left. Lost: placed again. */
  group: string | undefined;

  /** The cloud has something of the Service, but the provider could not name its group. Lost: the next listing shows it. */
  hasLeftovers = false;

  /** The last valid settings: an invalid one keeps its old value. Lost: the value that the cloud shows is kept. */
  lastSettings: Partial<Values<Fields>> | undefined;

  /** The last valid source ranges. Lost: the ranges that the cloud shows are kept. */
  lastRanges: readonly Cidr[] | undefined;

  /** The last valid target rules. Lost: the targets are frozen while a rule is invalid. */
  lastTargetRules: TargetRules | undefined;

  /** Open while the targets are chosen by endpoints. Lost: the next reconcile opens it again. */
  endpoints: EndpointSubscription | undefined;

  /**
   * How to end the load balancer if the Service disappears without waiting for its finalizer: release what this describes, or
   * leave it because on-delete was invalid. Undefined: delete. Lost: the load balancer becomes an orphan, or is deleted.
   */
  onDelete: Desired | "on hold" | undefined;

  /** The cloud's name of the load balancer being released, for the event. Lost: the event does not name it. */
  releasedName: string | undefined;

  /** The events last published, by topic, so that each is published once. Lost: published once more. */
  readonly published = new Map<EventTopic, ReadonlySet<string>>();

  constructor(key: string, uid: ServiceUID) {
    this.key = key;
    this.uid = uid;
  }
}

export class ServiceStates {
  readonly #byUID = new Map<ServiceUID, ServiceState>();
  /** The members of groups by key. A new Service may have taken the name of an old one that is still known by its UID. */
  readonly #placed = new Map<string, ServiceState>();

  get all(): readonly ServiceState[] {
    return [...this.#byUID.values()];
  }

  get(uid: ServiceUID): ServiceState | undefined {
    return this.#byUID.get(uid);
  }

  /** The record of this Service; created if there is none. */
  of({ metadata }: Service): ServiceState {
    return this.create(keyOf(metadata), serviceUID(metadata.uid));
  }

  create(key: string, uid: ServiceUID): ServiceState {
    const known = this.#byUID.get(uid);
    if (known !== undefined) return known;
    const state = new ServiceState(key, uid);
    this.#byUID.set(uid, state);
    return state;
  }

  /** The Service with this key that is a member of a group. */
  placed(key: string): ServiceState | undefined {
    return this.#placed.get(key);
  }

  place(state: ServiceState, group: string): void {
    state.group = group;
    this.#placed.set(state.key, state);
  }

  unplace(state: ServiceState): void {
    state.group = undefined;
    this.#placed.delete(state.key);
  }

  /** Only `drop-states.ts` calls this. */
  delete(state: ServiceState): void {
    state.endpoints?.close();
    this.#byUID.delete(state.uid);
  }
}
