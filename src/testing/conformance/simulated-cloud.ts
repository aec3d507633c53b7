// The input that a provider author passes to the conformance suites: the definition, its configuration, and a function that creates
// a simulated cloud. The suites add faults, time, signals and counting.

import type { Secret } from "../../core/secret.ts";
import type { Clock } from "../../platform/clock.ts";
import type { OpenSocket } from "../../platform/socket.ts";
import type { Transport } from "../../platform/transport.ts";
import type { Inputs } from "../../provider/inputs.ts";
import type { Machine, MatchKey } from "../../provider/instances.ts";
import type { ProviderDefinition } from "../../provider/provider.ts";

/** An in-memory cloud, as the conformance suites see and change it. */
export interface SimulatedCloud {
  /** Responds to each request synchronously, in the clock's time. */
  readonly transport: Transport;
  addMachine(name: string): void;
  /** If unset, the cloud cannot stop a machine. */
  stopMachine?(name: string): void;
  /** If unset, a machine is gone as soon as it is deleted. */
  terminateMachine?(name: string): void;
  removeMachine(name: string): void;
  /** Everything that a provider may change, without ids and times, so that the suites can compare end states. */
  state(): unknown;
  /**
   * Completes the work that is due now. For simulators that otherwise complete it with the next request, which the suites would
   * consider a mutating request.
   */
  settle?(): void;
  /** Drops an entry from the next page of machines while the page's total still counts it. For clouds that report a total. */
  shortenNextPage?(): void;
  /** Drops an entry from the next page of routes in the same way. */
  shortenNextRoutePage?(): void;
  /** Drops an entry from the next page of volumes in the same way. */
  shortenNextVolumePage?(): void;
  /** Drops an entry from the next page of snapshots in the same way. */
  shortenNextSnapshotPage?(): void;
  /** The data that machines write to the disks of volumes, by volume id. Required when volumes are created from snapshots or volumes. */
  readonly disks?: { write(id: string, data: string): void; read(id: string): string };
  /** Drops an entry from the next page of load balancers in the same way. */
  shortenNextBalancerPage?(): void;
  /** The WebSockets of the cloud. Required when the provider receives `messages`. */
  readonly socket?: OpenSocket;
  /** Breaks the connections by which the cloud reports changes. Required when the provider has `changes`. */
  breakChanges?(): void;
  /** Creates a load balancer without Fairlead's marks and returns its id. Required when the provider has `adopts`. */
  addUnmarkedBalancer?(): string;
  /** Changes the route table as another client would. For clouds whose routes are one document. */
  disturbRoutes?(): void;
  /** From now on, the cloud rejects this machine as a target and accepts others. For clouds that reject single targets. */
  refuseTarget?(machine: TargetMachine): void;
  /** Exhausts the rate limit, so that the next request is rejected. The limit recovers with time. */
  spendBudget?(): void;
}

/** Everything that a conformance suite needs to run a provider against its simulated cloud. */
export interface Harness {
  // biome-ignore lint/suspicious/noExplicitAny: the suites take a provider of any types and hand them back unread.
  readonly definition: ProviderDefinition<any, any, any, any, any>;
  /** Values of the provider's settings. */
  readonly config: Readonly<Record<string, string>>;
  simulate(clock: Clock): SimulatedCloud;
  /**
   * Three machines that load balancers and routes use as targets. Called once for each simulated cloud, with the same result. As
   * in the framework, unreachable targets are omitted. If unset, keys `1`, `2` and `3` of the first source, which do not exist in
   * the simulated cloud.
   */
  targets?(simulated: SimulatedCloud): readonly [TargetMachine, TargetMachine, TargetMachine];
  /** The files of `ProviderDefinition.inputs`. If unset, none exist. */
  readonly inputs?: Inputs;
  /** The Secrets of `ProviderDefinition.inputs`, such as `kube-system/example`. If unset, none exist. */
  readonly secrets?: Readonly<Record<string, ReadonlyMap<string, Secret>>>;
  /**
   * Annotations with which a Service adopts the load balancer with this id, without the provider's prefix. Required when
   * the provider has `adopts`.
   */
  adoptionAnnotations?(id: string): Readonly<Record<string, string>>;
  /** The number of requests that list all sources with this many machines. */
  listingRequests(machines: number): number;
  /** The number of requests for a lookup of existing machines; one if unset. */
  readonly lookupRequests?: number;
  /** A valid key without a machine, for each kind of lookup where that is not `404`. */
  readonly unknownKeys?: Readonly<Partial<Record<MatchKey, string>>>;
  /** Set if two machines cannot have the same name. */
  readonly hasUniqueNames?: true;
  /** The number of requests that check this many operations, at most `Pending.limit`; one if unset. */
  pendingRequests?(operations: number): number;
}

/** A machine as a target: what the framework passes to load balancers and routes, and the addresses of its Node. */
export interface TargetMachine extends Machine {
  /**
   * The addresses that the cloud knows for the machine, of both IP families: the InternalIPs of its Node. If unset, an address such as
   * 10.0.0.1.
   */
  readonly addresses?: readonly string[];
}

/** For `Harness.targets`: adds three machines, and describes each by its name. */
export function threeTargets(
  simulated: SimulatedCloud,
  describe: (name: string) => TargetMachine,
): readonly [TargetMachine, TargetMachine, TargetMachine] {
  const add = (name: string): TargetMachine => {
    simulated.addMachine(name);
    return describe(name);
  };
  return [add("target-1"), add("target-2"), add("target-3")];
}

/** For `SimulatedCloud.state`: sorts by name, because the order depends on the order of requests. */
export function byName<T extends { readonly name: string }>(all: readonly T[]): readonly T[] {
  return all.toSorted((one, other) => one.name.localeCompare(other.name));
}
