// What a provider author gives to the conformance suites: the definition, its configuration, and a function that makes a
// simulated cloud. The suites add faults, time, signals and counting.

import type { Fields } from "../../core/settings.ts";
import type { Transport } from "../../platform/transport.ts";
import type { ObservedLoadBalancer } from "../../provider/load-balancers.ts";
import type { Step } from "../../provider/plan.ts";
import type { Cloud, ProviderDefinition } from "../../provider/provider.ts";
import type { VirtualClock } from "../virtual-time/virtual-clock.ts";

/** A cloud in memory, as the conformance suites see and change it. */
export interface SimulatedCloud {
  /** Answers each request synchronously, in the clock's time. */
  readonly transport: Transport;
  addMachine(name: string): void;
  stopMachine(name: string): void;
  terminateMachine(name: string): void;
  removeMachine(name: string): void;
  /** Everything that a provider may change, without ids and times: the suites compare end states by it. */
  state(): unknown;
  /** Drops an entry from the next page of machines while the page's total still counts it. For clouds that report a total. */
  shortenNextPage?(): void;
  /** Drops an entry from the next page of routes in the same way. */
  shortenNextRoutePage?(): void;
  /** Creates a load balancer without Fairlead's marks and returns its id. Required when the provider has `adopts`. */
  addUnmarkedBalancer?(): string;
  /** Changes the route table as another client would. For clouds whose routes are one document. */
  disturbRoutes?(): void;
}

/** What a conformance suite needs to run a provider against its simulated cloud. */
export interface Harness {
  // biome-ignore lint/suspicious/noExplicitAny: the suites take a provider of any types and hand them back unread.
  readonly definition: ProviderDefinition<any, any, any, any, any>;
  /** Values of the provider's settings. */
  readonly config: Readonly<Record<string, string>>;
  simulate(clock: VirtualClock): SimulatedCloud;
  /**
   * Annotations with which a Service adopts the load balancer with this id, without the provider's prefix. Required when
   * the provider has `adopts`.
   */
  adoptionAnnotations?(id: string): Readonly<Record<string, string>>;
  /** How many requests it takes to list all sources when there are this many machines. */
  listingRequests(machines: number): number;
}

/** A connected provider of any types. */
export type AnyCloud = Cloud<Fields, ObservedLoadBalancer, Step, unknown>;
