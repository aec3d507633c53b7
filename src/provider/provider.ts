// What a provider is: a definition that the executable imports, and the cloud it connects to. Start reading here.

import type { Problem } from "../core/problem.ts";
import type { Fields, Values } from "../core/settings.ts";
import type { Call, CloudRequest, CloudTransport, Moment } from "./call.ts";
import type { InputDeclaration, Inputs } from "./inputs.ts";
import type { Instances } from "./instances.ts";
import type { LoadBalancers, ObservedLoadBalancer } from "./load-balancers.ts";
import type { FactPlace, Pending, Step } from "./plan.ts";
import type { Routes } from "./routes.ts";

/** Grows by one when a change breaks providers; announced one release ahead. */
export const contractVersion = 1;

export interface Fetched<T> {
  readonly value: T;
  /** Absent: until it is refused. */
  readonly goodUntil?: Moment;
}

/**
 * Something that is paid for and limited together: a credential with its budget and its breaker. It is fetched on first
 * use, shared by all callers, and fetched again before it ends, when it is refused, and when what it is made from changes.
 */
export interface Account<T> {
  /** Shown to people and on metrics: a region, a project, an endpoint. */
  readonly name: string;
  fetch(plain: CloudTransport, call: Call): Promise<Fetched<T>>;
  /** Puts the credential on a request, directly before it is sent. `now` is for signatures that hold a time. */
  sign(request: CloudRequest, credential: T, now: number): CloudRequest | Promise<CloudRequest>;
}

export interface OpenAccount<T> {
  readonly transport: CloudTransport;
  /** What came with the credential (a service catalogue), where the provider needs it. */
  credential(call: Call): Promise<T>;
}

/** What the framework gives to `connect`. There is no clock, no logger and no Kubernetes in it, on purpose. */
export interface Context {
  account<T>(account: Account<T>): OpenAccount<T>;
  readonly inputs: Inputs;
  /** Our mark on everything we make: cluster id and owner. */
  readonly mark: { readonly cluster: string; readonly owner: string };
}

/** What stands in a cloud's own configuration file. */
export interface ConfigFile {
  /** By name in the table `config`, as text, with the line (from 1) it stands on; the environment and flags count more. */
  readonly settings: Readonly<Record<string, { readonly text: string; readonly line: number }>>;
  /** What cannot be read, with the line. Unknown names and wrong values are found by the table. */
  readonly problems: readonly (Problem & { readonly line: number })[];
}

/** Capabilities are there or not. */
export interface Cloud<A extends Fields, O extends ObservedLoadBalancer, S extends Step, V = undefined> {
  /** Where work takes time and its failures are told only by ticket. */
  readonly pending?: Pending;
  readonly instances?: Instances;
  readonly loadBalancers?: LoadBalancers<A, O, S, V>;
  readonly routes?: Routes;
}

export interface ProviderDefinition<
  C extends Fields = Fields,
  A extends Fields = Fields,
  O extends ObservedLoadBalancer = ObservedLoadBalancer,
  S extends Step = Step,
  V = undefined,
> {
  readonly contract: typeof contractVersion;
  /** As in `<name>-cloud-controller-manager` and `--cloud-provider=<name>`. */
  readonly name: string;
  /** Schemes of provider ids, with `://`; the first is the one that is written. May never change. */
  readonly schemes: readonly [`${string}://`, ...`${string}://`[]];
  readonly config: C;
  /** The annotations this cloud understands on Services. A field whose name contains "/" is a complete key. */
  readonly annotations?: { readonly prefix: `${string}/${string}`; readonly fields: A };
  /** What must be known before it can connect: files. A Secret or a ConfigMap is refused here; mounted, it is a file. */
  inputs?(config: Values<C>): readonly InputDeclaration[];
  readonly facts?: Readonly<Record<string, FactPlace>>;
  /** Upstream flags that the Go manager of this cloud presets, by flag name. */
  readonly presets?: Readonly<Record<string, string>>;
  /** Flags that the Go manager of this cloud adds and that do nothing here, by name: why, or what to use. */
  readonly ignoredFlags?: Readonly<Record<string, string>>;
  /** Pure. The file that `--cloud-config` names, in the format of that cloud's Go manager. Absent: there is none. */
  readConfigFile?(text: string): ConfigFile;
  /** Pure. What a table of fields cannot say about the configuration (either a token or a key, never both). */
  checkConfig?(config: Values<C>): readonly Problem[];
  /** Makes the cloud; asks it nothing yet. Called again with new values when the configuration changes. */
  connect(config: Values<C>, context: Context): Cloud<A, O, S, V>;
}

/** Identity; it is there so that the types of the parts are inferred and fit together. */
export function defineProvider<
  C extends Fields,
  A extends Fields,
  O extends ObservedLoadBalancer,
  S extends Step,
  V = undefined,
>(definition: ProviderDefinition<C, A, O, S, V>): ProviderDefinition<C, A, O, S, V> {
  return definition;
}
