// The dependencies of the service controller. `src/app` composes them; tests use small fakes.

import type { Answer } from "../../cloud/inventory/instances.ts";
import type { SharedListing } from "../../cloud/inventory/shared-listing.ts";
import type { Problem } from "../../core/problem.ts";
import type { Fields } from "../../core/settings.ts";
import type { KubeError } from "../../kube/errors/kube-error.ts";
import type { EndpointSlice, Node, Service } from "../../kube/objects.ts";
import type { Patch } from "../../kube/patches/patch.ts";
import type { Reflector } from "../../kube/watch/reflector.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Random } from "../../platform/random.ts";
import type { Machine } from "../../provider/instances.ts";
import type {
  DesiredLoadBalancer,
  LoadBalancers,
  ObservedLoadBalancer,
} from "../../provider/load-balancers.ts";
import type { FactPlace, Pending, Step } from "../../provider/plan.ts";
import type { ForeignNodes } from "../foreign-nodes.ts";
import type { FormerLeaders } from "../former-leaders.ts";
import type { RemovalLimitSetting } from "../kernel/removal-limit.ts";
import type { RemovalMemory } from "../kernel/removal-memory.ts";
import type { ObjectStore } from "../latest-objects.ts";
import type { NodeStore, Note } from "../node-deps.ts";
import type { AnnotationTable } from "./annotations/annotations.ts";
import type { ServedClasses } from "./served-classes.ts";
import type { ServiceSettings } from "./settings.ts";

export type AnyBalancers = LoadBalancers<Fields, ObservedLoadBalancer, Step, unknown>;

/** The listing that all Services share. */
export type BalancerListing = Pick<
  SharedListing<ObservedLoadBalancer>,
  "latest" | "failure" | "request" | "subscribe"
>;

/** The desired load balancer of one Service. */
export type Desired = DesiredLoadBalancer<Fields>;

export type ServiceStore = ObjectStore<Service>;

/** Guarded writes. Each write is recorded in the journal with its reason; observe mode only records it. */
export interface ServiceWrites {
  /** Undefined in observe mode, which writes nothing. */
  patch(service: Service, patch: Patch, why: string, signal: AbortSignal): Promise<Service | undefined>;
}

export type OpenSlices = (
  onProblem: (problem: KubeError) => void,
) => Pick<Reflector<EndpointSlice>, "store" | "run">;

export interface StepEntry {
  readonly step: Step;
  /** The name of the load balancer, used if the step does not contain a name. */
  readonly balancer: string;
  readonly why: string;
  readonly outcome: "done" | "failed" | "refused" | "observed";
  readonly detail?: string;
}

/** Measurements, in upstream's terms. */
export interface ServiceObserver {
  /** All load balancers were updated after a change of Nodes. */
  readonly onNodeSync: (durationMs: number) => void;
  /** The targets of one load balancer were changed, or the change failed. */
  readonly onHostUpdate: (durationMs: number, isFailed: boolean) => void;
}

export interface ServiceControllerDeps {
  readonly services: ServiceStore;
  readonly writes: ServiceWrites;
  readonly nodes: NodeStore;
  /** Whether this manager handles the Node. Nodes of other managers are not targets. */
  readonly isSelected: (node: Node) => boolean;
  readonly machineOf: (node: Node) => Machine | undefined;
  /** Undefined unless k3s and RKE2 Nodes are targets. */
  readonly foreignNodes?: Pick<ForeignNodes, "observe"> | undefined;
  readonly machines: {
    readonly check: (node: Node) => Answer;
    /**
     * True if no answer is expected soon: the last request for the machine failed, or this configuration never requests
     * instances.
     */
    readonly isFailing: (node: Node) => boolean;
    /** Requests an answer from a read that begins at or after this moment. */
    readonly request: (node: Node, since: number) => void;
  };
  /** Calls the listener when more machines may be known than before. Returns a function that unsubscribes. */
  readonly onMachines: (listener: () => void) => () => void;
  readonly balancers: AnyBalancers;
  readonly listing: BalancerListing;
  /** The value of --cluster-name, for messages. */
  readonly clusterName: string;
  /** Which Services this manager serves. */
  readonly classes: ServedClasses;
  readonly annotations: AnnotationTable<Fields>;
  readonly facts: Readonly<Record<string, FactPlace>>;
  readonly pending: Pending | undefined;
  readonly report: (service: Service, problem: Problem) => void;
  /** The memory of the mass limits. */
  readonly removals: RemovalMemory;
  /** Logs a warning about a Service that does not exist. */
  readonly warn: Note;
  /** Logs what cannot be an event because the Service is gone. */
  readonly note: Note;
  /** Records every step that is sent to the cloud, or planned in observe mode. */
  readonly journal: (entry: StepEntry) => void;
  readonly observer: ServiceObserver;
  readonly isObserving: boolean;
  /** The name under which the API server records writes of this program. */
  readonly program: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly concurrency: number;
  readonly settings: ServiceSettings;
}

export interface ServiceHistoryDeps
  extends Pick<
    ServiceControllerDeps,
    "services" | "nodes" | "isSelected" | "classes" | "annotations" | "facts" | "clock"
  > {
  readonly balancers: Pick<AnyBalancers, "marksNameCluster">;
  readonly formerLeaders: FormerLeaders;
  readonly removalLimit: () => RemovalLimitSetting;
  /** Opens a watch of EndpointSlices, only while a Service chooses its targets by endpoints. */
  readonly openSlices: OpenSlices;
}
