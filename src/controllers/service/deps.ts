// What the service controller needs from the outside, named: composed once in `app`, replaced by small fakes in tests.

import type { SharedListing } from "../../cloud/shared-listing.ts";
import type { Fields } from "../../core/settings.ts";
import type { KubeError } from "../../kube/errors/kube-error.ts";
import type { EndpointSlice, Node, Service } from "../../kube/objects.ts";
import type { Patch } from "../../kube/patches/patch.ts";
import type { Reflector } from "../../kube/watch/reflector.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Random } from "../../platform/random.ts";
import type { Machine } from "../../provider/instances.ts";
import type { LoadBalancers, ObservedLoadBalancer } from "../../provider/load-balancers.ts";
import type { FactPlace, Pending, Step } from "../../provider/plan.ts";
import type { ObjectStore } from "../latest-objects.ts";
import type { NodeEvent, NodeStore, Note } from "../node-deps.ts";
import type { InputReader } from "../read-input.ts";
import type { ServiceSettings } from "./settings.ts";

export type AnyBalancers = LoadBalancers<Fields, ObservedLoadBalancer, Step, unknown>;

export type ServiceStore = ObjectStore<Service>;

/** Guarded writes; each is journalled with its reason, and only journalled in observe mode (then nothing comes back). */
export interface ServiceWrites {
  patch(service: Service, patch: Patch, why: string, signal: AbortSignal): Promise<Service | undefined>;
}

export type OpenSlices = (onProblem: (problem: KubeError) => void) => Reflector<EndpointSlice>;

/** What is measured, in upstream's terms. */
export interface ServiceObserver {
  /** All balancers have followed a change of Nodes. */
  readonly onNodeSync: (durationMs: number) => void;
  /** The targets of one balancer were changed, or that failed. */
  readonly onHostUpdate: (durationMs: number, isFailed: boolean) => void;
}

export interface ServiceDeps {
  readonly services: ServiceStore;
  readonly writes: ServiceWrites;
  readonly nodes: NodeStore;
  /** Whether a Node is this manager's: another one's machines are no targets of ours. */
  readonly isSelected: (node: Node) => boolean;
  readonly machineOf: (node: Node) => Machine | undefined;
  /** Called when more may be known of machines than before; returns how to stop it. */
  readonly onMachines: (listener: () => void) => () => void;
  /** A watch of EndpointSlices that is begun only when somebody asks for endpoints. */
  readonly openSlices: OpenSlices;
  readonly balancers: AnyBalancers;
  readonly listing: SharedListing<ObservedLoadBalancer>;
  readonly annotations: { readonly prefix: string; readonly fields: Fields };
  readonly facts: Readonly<Record<string, FactPlace>>;
  readonly pending: Pending | undefined;
  /** Reads one Secret, ConfigMap or file that a plan needs. */
  readonly readInput: InputReader;
  readonly report: (service: Service, event: NodeEvent) => void;
  /** What is done where there is no Service any more to tell it on. */
  readonly note: Note;
  /** Every step handed to the cloud, with the group it is for. */
  readonly journal: (
    step: Step,
    group: string,
    outcome: "done" | "failed" | "refused" | "observed",
    detail?: string,
  ) => void;
  readonly observer: ServiceObserver;
  readonly isObserving: boolean;
  readonly clock: Clock;
  readonly random: Random;
  readonly concurrency: number;
}

export interface ServiceControllerOptions extends ServiceDeps {
  readonly settings: ServiceSettings;
}
