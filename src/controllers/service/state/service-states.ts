// What is remembered about each Service: a record that everything may read and only `ServiceStates.commit` changes. Everything that
// can happen to a Service, and how long each part of its record lasts. A record is created when the Service is first read.

import { type Cidr, type ServiceUID, serviceUID } from "../../../core/brand.ts";
import type { Fields, Values } from "../../../core/settings.ts";
import { keyOf, type Service } from "../../../kube/objects.ts";
import type { BalancerTarget } from "../../../provider/load-balancers.ts";
import type { Reported } from "../../reporter.ts";
import type { TargetRules } from "../annotations/target-rules.ts";
import type { Desired } from "../deps.ts";
import { RefusedTargets } from "./refused-targets.ts";
import { applyTransition, type ChangeIn } from "./transitions.ts";

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

/** The last valid values, which replace invalid ones. */
export interface LastValid {
  readonly lastSettings: Partial<Values<Fields>> | undefined;
  readonly lastRanges: readonly Cidr[] | "unspecified" | undefined;
  /** Undefined also for a Service that no longer needs a load balancer. */
  readonly lastTargetRules: TargetRules | undefined;
}

/** What stages and triggers may read. */
export interface ServiceState extends LastValid {
  readonly key: string;
  readonly uid: ServiceUID;
  /** The group of the Service; undefined before it is assigned and after it has left. */
  readonly group: string | undefined;
  /** The cloud has a load balancer of the Service, but its group is unknown. */
  readonly hasLeftovers: boolean;
  /** Targets that the cloud refused. */
  readonly refused: Pick<RefusedTargets, "all" | "includes" | "isWithheld" | "retryAt" | "withhold">;
  /** Open while the targets are chosen by endpoints. */
  readonly endpoints: EndpointSubscription | undefined;
  /**
   * What to do with the load balancer if the Service disappears without waiting for its finalizer: release it, or keep it
   * because on-delete was invalid. Undefined: delete it.
   */
  readonly onDelete: Desired | "on hold" | undefined;
  /** The Service is gone, and its deletion was seen. */
  readonly isDeletionSeen: boolean;
  /** It had no finalizer when it was last reconciled, and this process has added none since. */
  readonly lacksFinalizer: boolean;
  /** The cloud's names of the load balancers being released, for the event. */
  readonly releasedName: string | undefined;
  /** What was reported by topic, so that each event is published once. */
  readonly published: ReadonlyMap<EventTopic, Reported>;
}

/** Only the files of this folder know it. */
export type ServiceRecord = { -readonly [K in keyof ServiceState]: ServiceState[K] } & {
  readonly refused: RefusedTargets;
  readonly published: Map<EventTopic, Reported>;
};

export function newService(key: string, uid: ServiceUID): ServiceRecord {
  return {
    key,
    uid,
    group: undefined,
    hasLeftovers: false,
    lastSettings: undefined,
    lastRanges: undefined,
    lastTargetRules: undefined,
    refused: new RefusedTargets(),
    endpoints: undefined,
    onDelete: undefined,
    isDeletionSeen: false,
    lacksFinalizer: false,
    releasedName: undefined,
    published: new Map(),
  };
}

interface Lifetime {
  /** It is kept until the group has released a Service that is gone. Everything else ends with the Service. */
  readonly untilReleased?: true;
  readonly afterRestart: string;
}

/** How long each part of the record lasts. Nothing of it survives a restart. */
export const serviceLifetimes: Readonly<Record<Exclude<keyof ServiceState, "key" | "uid">, Lifetime>> = {
  group: { afterRestart: "Assigned again." },
  hasLeftovers: { afterRestart: "The next listing finds it." },
  lastSettings: { afterRestart: "The values in the cloud are used." },
  lastRanges: { afterRestart: "The ranges in the cloud are used." },
  lastTargetRules: { afterRestart: "The targets are frozen while a rule is invalid." },
  refused: { afterRestart: "Each is tried once more." },
  endpoints: { afterRestart: "The next reconcile opens it again." },
  onDelete: { untilReleased: true, afterRestart: "The load balancer becomes an orphan or is deleted." },
  isDeletionSeen: { afterRestart: "Services that are gone are unknown." },
  lacksFinalizer: { afterRestart: "A finalizer shows that there may be a load balancer." },
  releasedName: { untilReleased: true, afterRestart: "The event does not name them." },
  published: { afterRestart: "Published once more." },
};

/** A record with only what the release of a Service that is gone needs. */
export function untilReleased(record: ServiceRecord): ServiceRecord {
  const kept = Object.entries(record).filter(
    ([name]) => (serviceLifetimes as Readonly<Record<string, Lifetime>>)[name]?.untilReleased === true,
  );
  return Object.assign(newService(record.key, record.uid), Object.fromEntries(kept));
}

interface Read extends LastValid {
  readonly onDelete: Desired | "on hold" | undefined;
  readonly choosesEndpoints: boolean;
  /** It needs a load balancer. */
  readonly isServed: boolean;
}

interface Refused {
  readonly target: BalancerTarget;
  readonly text: string;
  readonly at: number;
  readonly retryAfter: Parameters<RefusedTargets["note"]>[3];
}

/** Each happens to a record as a function; its second parameter is the change. Times are monotonic. */
const transitions = {
  /** Its desired state was computed. */
  read(record: ServiceRecord, { choosesEndpoints, isServed, ...known }: Read) {
    if (!choosesEndpoints) closeEndpoints(record);
    if (!isServed) record.refused.clear();
    const { lastSettings, lastRanges, lastTargetRules, onDelete } = known;
    Object.assign(record, { lastSettings, lastRanges, lastTargetRules, onDelete });
  },
  endpointsOpened(record: ServiceRecord, { subscription }: { readonly subscription: EndpointSubscription }) {
    record.endpoints = subscription;
  },
  targetRefused({ refused }: ServiceRecord, { target, text, at, retryAfter }: Refused) {
    refused.note(target, text, at, retryAfter);
  },
  targetsAccepted(
    { refused }: ServiceRecord,
    { targets, at }: { readonly targets: readonly BalancerTarget[]; readonly at: number },
  ) {
    refused.accept(targets, at);
  },
  /** The Service or the settings have changed: every refused target is tried again. */
  refusalsEnded({ refused }: ServiceRecord) {
    refused.clear();
  },
  leftovers(record: ServiceRecord, { exist }: { readonly exist: boolean }) {
    record.hasLeftovers = exist;
  },
  vanished(record: ServiceRecord, { isDeletionSeen }: { readonly isDeletionSeen: boolean }) {
    record.isDeletionSeen = isDeletionSeen;
  },
  finalizer(record: ServiceRecord, { isPresent }: { readonly isPresent: boolean }) {
    record.lacksFinalizer = !isPresent;
  },
  /** Names of load balancers that are being released. */
  releasing(record: ServiceRecord, { names }: { readonly names: string }) {
    record.releasedName = names;
  },
  /** These events apply now. */
  published(
    { published }: ServiceRecord,
    { topic, reported }: { readonly topic: EventTopic; readonly reported: Reported | undefined },
  ) {
    if (reported === undefined) published.delete(topic);
    else published.set(topic, reported);
  },
};

export type ServiceChange = ChangeIn<typeof transitions>;

function closeEndpoints(record: ServiceRecord): void {
  record.endpoints?.close();
  record.endpoints = undefined;
}

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
    applyTransition(transitions, state, change);
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

  /** Only `dropServiceStates` calls this. `isReleasePending`: what the release needs is kept. */
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
