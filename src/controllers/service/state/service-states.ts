// The record of each Service: what the controller remembers about it. The methods of a record, and of the collection, change it. A record
// is created when the Service is first read, and is lost in a restart.

import { type Cidr, type ServiceUID, serviceUID } from "../../../core/brand.ts";
import type { Fields, Values } from "../../../core/settings.ts";
import { keyOf, type Service } from "../../../kube/objects.ts";
import type { BalancerTarget } from "../../../provider/load-balancers.ts";
import type { Reported } from "../../reporter.ts";
import type { TargetRules } from "../annotations/target-rules.ts";
import type { Desired } from "../deps.ts";
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

/** The last valid values. They replace invalid ones. */
export interface LastValid {
  readonly lastSettings: Partial<Values<Fields>> | undefined;
  readonly lastRanges: readonly Cidr[] | "unspecified" | undefined;
  /** Undefined also for a Service that no longer needs a load balancer. */
  readonly lastTargetRules: TargetRules | undefined;
}

interface Read extends LastValid {
  readonly onDelete: Desired | "on hold" | undefined;
  /** It needs a load balancer. */
  readonly isServed: boolean;
}

export class ServiceRecord implements LastValid {
  readonly key: string;
  readonly uid: ServiceUID;
  /** The group of the Service; undefined before it is assigned and after it has left. */
  group: string | undefined;
  /** The cloud has a load balancer of the Service, but its group is unknown. */
  hasLeftovers: boolean = false;
  /** After a restart, what the load balancer has replaces invalid values, and targets are frozen while a rule is invalid. */
  lastSettings: LastValid["lastSettings"];
  lastRanges: LastValid["lastRanges"];
  lastTargetRules: LastValid["lastTargetRules"];
  /** Targets that the cloud refused. */
  readonly refused: RefusedTargets = new RefusedTargets();
  /** Open while the targets are chosen by endpoints. */
  endpoints: EndpointSubscription | undefined;
  /**
   * What to do with the load balancer if the Service disappears without waiting for its finalizer: release it, or keep it
   * because on-delete was invalid. Undefined: delete it. After a restart, the load balancer becomes an orphan or is deleted.
   */
  onDelete: Desired | "on hold" | undefined;
  /** The Service is gone, and its deletion was seen. */
  isDeletionSeen: boolean = false;
  /** It had no finalizer when it was last reconciled, and this process has added none since. */
  lacksFinalizer: boolean = false;
  /** The cloud's names of the load balancers being released, for the event. */
  releasedName: string | undefined;
  /** What was reported by topic, so that each event is published once. */
  readonly published: Map<EventTopic, Reported> = new Map();

  constructor(key: string, uid: ServiceUID) {
    this.key = key;
    this.uid = uid;
  }

  openEndpoints(subscription: EndpointSubscription): void {
    this.endpoints = subscription;
  }

  closeEndpoints(): void {
    this.endpoints?.close();
    this.endpoints = undefined;
  }

  /** The cloud refused a target. Returns false if the target is withheld already. */
  noteRefusal(...refusal: Parameters<RefusedTargets["note"]>): boolean {
    return this.refused.note(...refusal);
  }

  /** The cloud has these targets. Returns whether one of them was refused before. */
  noteAccepted(targets: readonly BalancerTarget[], at: number): boolean {
    return this.refused.accept(targets, at);
  }

  /** The Service or the settings have changed: every refused target is tried again. */
  endRefusals(): void {
    this.refused.clear();
  }

  setLeftovers(exist: boolean): void {
    this.hasLeftovers = exist;
  }

  /** The Service is gone from the API. */
  noteVanished(isDeletionSeen: boolean): void {
    this.isDeletionSeen = isDeletionSeen;
  }

  noteFinalizer(isPresent: boolean): void {
    this.lacksFinalizer = !isPresent;
  }

  /** The names of the load balancers that are being released. */
  noteReleasing(names: string): void {
    this.releasedName = names;
  }

  /** The events of this topic that apply now. Undefined: none does. */
  notePublished(topic: EventTopic, reported: Reported | undefined): void {
    if (reported === undefined) this.published.delete(topic);
    else this.published.set(topic, reported);
  }
}

/** The record as stages and triggers see it: they read it and call its methods. */
export type ServiceState = Readonly<Omit<ServiceRecord, "refused" | "published">> & {
  readonly refused: Pick<RefusedTargets, "all" | "retryAt" | "withhold">;
  readonly published: ReadonlyMap<EventTopic, Reported>;
};

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
    const record = new ServiceRecord(key, uid);
    this.#byUID.set(uid, record);
    return record;
  }

  /** The desired state of the Service was computed. Ends the subscription and the refusals that it no longer needs. */
  noteRead(state: ServiceState, { isServed, ...known }: Read): void {
    const { lastTargetRules: rules } = known;
    if (rules?.policy !== "endpoints") state.closeEndpoints();
    if (!isServed) state.endRefusals();
    Object.assign(state, known);
    if (rules?.selector === undefined && rules?.cloudSelector === undefined)
      this.#selecting.delete(state.uid);
    else this.#selecting.add(state.uid);
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

  /** Only `GroupStates` calls this. `isReleasePending`: the parts that the release needs are kept. */
  drop(state: ServiceState, isReleasePending: boolean): void {
    const { key, uid, onDelete, releasedName } = state;
    state.closeEndpoints();
    this.#selecting.delete(uid);
    if (isReleasePending)
      this.#byUID.set(uid, Object.assign(new ServiceRecord(key, uid), { onDelete, releasedName }));
    else this.#byUID.delete(uid);
  }
}
