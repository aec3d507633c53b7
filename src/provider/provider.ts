// What a provider is: a definition that the executable imports, and the cloud it connects to. Start reading here.

import type { Milliseconds, ProviderID } from "../core/brand.ts";
import type { Problem } from "../core/problem.ts";
import type { Secret } from "../core/secret.ts";
import type { Fields, Values } from "../core/settings.ts";
import type { Call, CloudTransport } from "./call.ts";
import type { InputDeclaration, Inputs } from "./inputs.ts";
import type { Instances } from "./instances.ts";
import type { LoadBalancers, ObservedLoadBalancer } from "./load-balancers.ts";
import type { Plan, Step, StepOutcome } from "./plan.ts";
import type { Routes } from "./routes.ts";

/** Grows by one when a change breaks providers; announced one release ahead. */
export const contractVersion = 1;

/** A credential that is fetched, lives for a while and is fetched again: an OAuth token, a session. */
export interface FetchedCredential {
  readonly value: Secret;
  /** How long it is good for, counted from the answer; absent: until it is refused. */
  readonly goodFor?: Milliseconds;
}

/** What the framework gives to `connect`. There is no clock, no logger and no Kubernetes in it, on purpose. */
export interface Context {
  readonly transport: CloudTransport;
  /**
   * A credential that renews itself: fetched on first use, shared by all callers, fetched again before it ends, when a
   * call was answered `unauthorized`, and when the configuration it came from changed.
   */
  credential(fetch: (call: Call) => Promise<FetchedCredential>): (call: Call) => Promise<Secret>;
  /** Our mark on everything we make: cluster id and owner. */
  readonly mark: { readonly cluster: string; readonly owner: string };
}

/** A controller the provider brings itself (tagging, firewalls, volume labels): the same observe → plan → apply. */
export interface ExtraController<O, S extends Step> {
  readonly name: string;
  readonly inputs: readonly InputDeclaration[];
  observe(call: Call): Promise<O>;
  /** Pure. `nodes` are the ids of all managed Nodes. */
  plan(wanted: { readonly nodes: readonly ProviderID[]; readonly inputs: Inputs }, observed: O): Plan<S>;
  apply(step: S, call: Call): Promise<StepOutcome>;
}

/** Capabilities are there or not. */
export interface Cloud<A extends Fields, O extends ObservedLoadBalancer, S extends Step> {
  readonly instances?: Instances;
  readonly loadBalancers?: LoadBalancers<A, O, S>;
  readonly routes?: Routes;
  // biome-ignore lint/suspicious/noExplicitAny: each extra controller has its own types, known only to itself.
  readonly extra?: readonly ExtraController<any, any>[];
  /** One cheap read that proves credentials and endpoint; named in health checks and by `doctor`. */
  probe?(call: Call): Promise<void>;
}

export interface ProviderDefinition<
  C extends Fields = Fields,
  A extends Fields = Fields,
  O extends ObservedLoadBalancer = ObservedLoadBalancer,
  S extends Step = Step,
> {
  readonly contract: typeof contractVersion;
  /** As in `<name>-cloud-controller-manager` and `--cloud-provider=<name>`. */
  readonly name: string;
  /** Schemes of provider ids, with `://`; the first is the one that is written. May never change. */
  readonly schemes: readonly [`${string}://`, ...`${string}://`[]];
  readonly config: C;
  /** The annotations this cloud understands on Services. */
  readonly annotations?: { readonly prefix: `${string}/`; readonly fields: A };
  readonly inputs?: readonly InputDeclaration[];
  /** Upstream flags that the Go manager of this cloud presets, by flag name. */
  readonly presets?: Readonly<Record<string, string>>;
  /** Pure. What a table of fields cannot say about the configuration (either a token or a key, never both). */
  checkConfig?(config: Values<C>): readonly Problem[];
  /** Makes the cloud; asks it nothing yet. Called again with new values when the configuration changes. */
  connect(config: Values<C>, context: Context): Cloud<A, O, S>;
}

/** Identity; it is there so that the types of the parts are inferred and fit together. */
export const defineProvider = <
  C extends Fields,
  A extends Fields,
  O extends ObservedLoadBalancer,
  S extends Step,
>(
  definition: ProviderDefinition<C, A, O, S>,
): ProviderDefinition<C, A, O, S> => definition;
