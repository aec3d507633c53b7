// A simulated cloud on the loopback interface, as `npm start` and `npm run cloud` use it. To add a cloud, write one file next
// to this one and add one line to `registry.ts`.

import type { SimulatedApi } from "#ccm/testing";
import type { Milliseconds } from "../../src/core/brand.ts";
import type { Clock } from "../../src/platform/clock.ts";
import type { AnyProvider } from "../../src/provider/provider.ts";

export interface LocalCloudOptions {
  readonly clock: Clock;
  /** The port; 0 for any free port. */
  readonly port: number;
  /** The time that the cloud takes to answer a request. */
  readonly latency: Milliseconds;
  /** The time that a change takes after the cloud has accepted it. */
  readonly actionTime: Milliseconds;
  /** The rate limit; without effect in a cloud that has none. */
  readonly requestsPerHour: number;
  /** The only valid token. */
  readonly token: string;
}

export interface LocalMachine {
  readonly name: string;
  /** The state: `running`, or another word of the cloud. */
  readonly state: string;
}

/** Makes some requests fail: the first `after` succeed, then one fails. Without a status, its connection is closed. */
export interface LocalFault {
  readonly status?: number;
  readonly after: number;
}

/** A running cloud. Disposing it closes its port. */
export interface LocalCloud extends AsyncDisposable {
  readonly url: string;
  /** The settings of a manager that uses this cloud. */
  readonly settings: Readonly<Record<string, string>>;
  /** A type of machine that is not the default. */
  readonly largerType: string;
  addMachine(name: string): void;
  machines(): readonly LocalMachine[];
  /** Undefined if there is no such machine. */
  machineState(name: string): string | undefined;
  /** The system UUID of a machine, if the cloud finds machines by it. */
  readonly systemUUID?: (name: string) => string | undefined;
  resize(name: string, type: string): void;
  stop(name: string): void;
  remove(name: string): void;
  /**
   * Whether a load balancer carries the mark of the Service with this uid and this name, for example `default/shop`.
   * Undefined if the cloud has no load balancers.
   */
  readonly hasLoadBalancerOf?: (serviceUID: string, key: string) => boolean;
  /** Undefined if the cloud has no routes. */
  readonly routeCount?: () => number;
  /** How many targets each default load balancer has. Undefined in a cloud that is not benchmarked with a Go manager. */
  readonly targetCounts?: () => readonly number[];
  /** The requests, and their number by operation, for example `GET /machines`. */
  readonly api: Pick<SimulatedApi, "counts" | "seen">;
  addFault(fault: LocalFault): void;
}

export interface LocalCloudDefinition {
  /** The folder in `providers/`, and the name on the command line. */
  readonly name: string;
  readonly provider: AnyProvider;
  readonly defaultPort: number;
  /** Milliseconds. */
  readonly defaultActionTime: number;
  /** Undefined if the cloud has no quota. */
  readonly defaultRequestsPerHour?: number;
  /** Set if the cloud has no load balancers, so that `hasLoadBalancerOf` is undefined. */
  readonly hasNoBalancers?: true;
  /** The load balancer quota. */
  readonly maxLoadBalancers?: number;
  /** Set if tokens can be added and revoked over HTTP. */
  readonly hasTokens?: true;
  /** A token that looks like one of the cloud. */
  readonly exampleToken: string;
  /** Further settings of the manager in the demo, for the features that its steps show. */
  readonly demoSettings?: Readonly<Record<string, string>>;
  /** How a developer changes the cloud while it runs. */
  hint(url: string): string;
  /** Throws if the port is in use. */
  open(options: LocalCloudOptions): LocalCloud;
}

/** The variables with which a manager or a command uses this cloud. */
export function variablesOf(
  { provider }: LocalCloudDefinition,
  { settings }: LocalCloud,
): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(settings).map(([name, value]) => [provider.config[name]?.env ?? name, value]),
  );
}
