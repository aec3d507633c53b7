// What a provider author brings to the conformance suites: the definition, its configuration and a fresh simulated cloud
// on demand. Faults, time, signals and counting are the suites' own business.

import type { Fields } from "../../core/settings.ts";
import type { Transport } from "../../platform/transport.ts";
import type { ObservedLoadBalancer } from "../../provider/load-balancers.ts";
import type { Step } from "../../provider/plan.ts";
import type { Cloud, ProviderDefinition } from "../../provider/provider.ts";
import type { VirtualClock } from "../virtual-time/virtual-clock.ts";

export interface SimulatedCloud {
  /** One request in, one answer out; synchronous inside, in the clock's time. */
  readonly transport: Transport;
  addMachine(name: string): void;
  stopMachine(name: string): void;
  terminateMachine(name: string): void;
  removeMachine(name: string): void;
  /** All that a provider may change, without ids and times: equal states are equally good ends. */
  state(): unknown;
  /** The next page of machines lacks an entry although the cloud says that it is there, where a cloud says such things. */
  shortenNextPage?(): void;
  /** Somebody makes a balancer by hand, which carries no mark; gives its id. Needed where balancers can be adopted. */
  addUnmarkedBalancer?(): string;
  /** Somebody else changes the routes' table, where it is one document. */
  disturbRoutes?(): void;
}

export interface Harness {
  // biome-ignore lint/suspicious/noExplicitAny: the suites take a provider of any types and hand them back unread.
  readonly definition: ProviderDefinition<any, any, any, any, any>;
  readonly config: Readonly<Record<string, string>>;
  simulate(clock: VirtualClock): SimulatedCloud;
  /** What a Service says to have this balancer; names without the provider's prefix. Needed where balancers can be adopted. */
  adopting?(id: string): Readonly<Record<string, string>>;
  /** Requests that one listing of all sources costs when there are so many machines. */
  listingRequests(machines: number): number;
}

export type AnyCloud = Cloud<Fields, ObservedLoadBalancer, Step, unknown>;
