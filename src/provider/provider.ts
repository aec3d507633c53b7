// The definition of a provider and the cloud that it connects to. Start reading the contract here.

import type { Announcement } from "../core/announcements.ts";
import type { NodeSelector } from "../core/node-selector.ts";
import type { Problem } from "../core/problem.ts";
import type { Secret } from "../core/secret.ts";
import { ruleProblems, valueFiles, type WithFiles, withFiles } from "../core/setting-rules.ts";
import type { Field, Fields, Values } from "../core/settings.ts";
import type { Call, CloudRequest, CloudTransport, Moment } from "./call.ts";
import type { Changes } from "./changes.ts";
import type { InputDeclaration, Inputs, SecretName } from "./inputs.ts";
import type { Instances } from "./instances.ts";
import type { DesiredWithoutTargets, LoadBalancers, ObservedLoadBalancer } from "./load-balancers.ts";
import type { MachineTags } from "./machine-tags.ts";
import type { NodeFirewall } from "./node-firewall.ts";
import type { FactPlace, Pending, Step } from "./plan.ts";
import type { RateLimitReport } from "./rate-limit.ts";
import type { DeclaredReasons, ProviderProblem } from "./reasons.ts";
import type { RouteTables } from "./routes.ts";
import type { VolumeDriver, Volumes } from "./volumes.ts";

/** The version of this contract. It increases with each change that breaks providers, which is announced one release ahead. */
export const contractVersion = 3;

/** A credential and its expiry. */
export interface Fetched<T> {
  readonly value: T;
  /** If unset, the credential is valid until the cloud rejects it. */
  readonly goodUntil?: Moment | undefined;
}

/**
 * A credential with its own rate limit and circuit breaker: a project, a region, an endpoint. Where reads and writes have separate
 * limits, open an account for each, with the same `fetch`.
 *
 * @example
 * const reads = account({ ...common, name: "reads" });
 * const writes = account({ ...common, name: "writes" });
 * const transport: CloudTransport = (request, call, read) =>
 *   (request.mutates ? writes : reads).transport(request, call, read);
 */
export interface Account<T> {
  /** The name in messages and metrics. */
  readonly name: string;
  /**
   * Gets a credential. Called on first use, before it expires, and after the cloud rejected it; concurrent calls share one
   * fetch. `plain` sends requests without a credential. Return a static token as is.
   */
  fetch(plain: CloudTransport, call: Call): Promise<Fetched<T>>;
  /** Adds the credential to a request immediately before it is sent. `now` is for signatures that contain the time. */
  sign(request: CloudRequest, credential: T, now: number): CloudRequest | Promise<CloudRequest>;
  /**
   * Pure. Reads the rate limit from a response; `rateLimitHeaders` creates such a function from header names. Absent, or undefined
   * for a response: Fairlead reads `RateLimit-Limit`, `-Remaining` and `-Reset`, the same with `X-`, and `Retry-After`. A cloud
   * without any of them needs none: after a 429, Fairlead does not send the operation for 5 seconds.
   */
  rateLimit?(response: Pick<Response, "status" | "headers">): RateLimitReport | undefined;
  /** A limit of requests per minute that no response reports, so that Fairlead would learn it only from rejections. */
  readonly requestsPerMinute?: number | undefined;
  /**
   * The source of the credential if no setting contains it, for the message that the cloud rejected it: `cloud prod in
   * /etc/clouds.yaml`.
   */
  readonly credentialPlace?: string | undefined;
}

/** An account that is ready for requests. */
export interface OpenAccount<T> {
  /** The transport for `jsonApi`. */
  readonly transport: CloudTransport;
  /**
   * Opens a WebSocket and receives its text messages, for `Changes.follow`. Yields an empty text when the socket is open. It ends
   * with the connection; Fairlead opens the next one.
   */
  messages(request: CloudRequest, call: Call): AsyncIterable<string>;
  /** The credential, for providers that need data that came with it, such as a service catalog. */
  credential(call: Call): Promise<T>;
}

/** The argument of `connect`. It deliberately has no clock, no logger and no Kubernetes client. */
export interface Context {
  /**
   * Opens an account.
   *
   * @example
   * const { transport } = account({
   *   name: "example",
   *   fetch: async () => ({ value: settings.token }),
   *   sign: (request, token) => ({
   *     ...request,
   *     headers: { ...request.headers, authorization: `Bearer ${token.reveal()}` },
   *   }),
   * });
   */
  account<T>(account: Account<T>): OpenAccount<T>;
  /**
   * Reports that the cloud has deprecated something that the cluster uses, or returned a value that the provider does not know;
   * see `knownValues`. Repeated calls count once. Announcements in response headers are found automatically.
   */
  readonly announce: (found: Announcement) => void;
  /** The files that `ProviderDefinition.inputs` declared. */
  readonly inputs: Inputs;
  /**
   * The values of a Secret that `ProviderDefinition.inputs` declared, as they are now: call it in `Account.fetch`, which is called again
   * after the cloud rejected the credential. Undefined: it does not exist. Throws a CloudError if it cannot be read.
   */
  readSecret(secret: SecretName, call: Call): Promise<ReadonlyMap<string, Secret> | undefined>;
  /** Put this mark on every object that you create, and treat only objects with it as yours. */
  readonly mark: Mark;
}

/** Identifies what this cluster created in the cloud. */
export interface Mark {
  /** The value of `--cluster-name`. */
  readonly cluster: string;
  /** `fairlead`. */
  readonly owner: string;
  /**
   * Names the cluster even where several have the same name. Undefined before the API server has answered, and without the
   * permission: read it when you need it. Add it to what you create where the mark has room. A mark with a different uid is
   * `foreign`; a mark without a uid is yours.
   */
  readonly clusterUID?: string | undefined;
}

/** A value of a cloud's own configuration file, with the line from 1 on. */
export interface ConfigValue {
  readonly text: string;
  readonly line: number;
  /** The setting's name in messages: its key and section, such as `enabled in [LoadBalancer]`. If unset, its name. */
  readonly title?: string;
}

/** An entry of a `records` setting: a section of the file, with its values by name. */
export interface ConfigSection {
  readonly line: number;
  /** The header of the section, such as `[Zone "north"]`. */
  readonly title?: string;
  readonly values: Readonly<Record<string, ConfigValue>>;
}

/** The content of a cloud's own configuration file (`--cloud-config`). */
export interface ConfigFile {
  /**
   * Values by name in the `config` table; a `records` setting has its sections. Environment variables and flags take precedence.
   */
  readonly settings: Readonly<Record<string, ConfigValue | readonly ConfigSection[]>>;
  /** Syntax errors. The framework finds unknown names and invalid values. */
  readonly problems: readonly (Problem & { readonly line: number })[];
}

/** A connected cloud. The controllers run for the capabilities that are present. */
export interface Cloud<A extends Fields, O extends ObservedLoadBalancer, S extends Step, V = undefined> {
  /** Set only if the state of long-running work is found by operation id. */
  readonly pending?: Pending | undefined;
  /** Machines: initializes Nodes, and deletes Nodes whose machine is gone. */
  readonly instances?: Instances | undefined;
  /** Load balancers for Services of type LoadBalancer. */
  readonly loadBalancers?: LoadBalancers<A, O, S, V> | undefined;
  /** The ports that Services open on Nodes, if a cloud firewall protects the Nodes. Only together with `loadBalancers`. */
  readonly nodeFirewall?: NodeFirewall<A, S> | undefined;
  /** The operator's tags on machines, for the `tagging` controller. */
  readonly machineTags?: MachineTags | undefined;
  /** Routes to the pod networks of Nodes: one table, or a list of them. */
  readonly routes?: RouteTables | undefined;
  /** Volumes for claims. `ProviderDefinition.volumeDriver` describes them. */
  readonly volumes?: Volumes | undefined;
  /**
   * Checks in the cloud whether the objects that settings name exist, such as a region or network. Called when this replica
   * becomes the leader, and by `doctor`. Problems are reported on the Lease but stop nothing, so a plan that needs the setting
   * must report them.
   */
  checkSettings?(call: Call): Promise<readonly Problem[]>;
  /** Reports changes before the next listing shows them. */
  readonly changes?: Changes | undefined;
  /**
   * Releases what the connection holds in the cloud, such as a session that counts against a limit. Called once, after all other
   * calls have ended; the process waits a few seconds. Sessions that cannot be closed must expire in the cloud.
   */
  close?(call: Call): Promise<void>;
}

/** The names of fields whose value is a `NodeSelector`. */
export type SelectorName<A extends Fields> = {
  [Name in keyof A & string]: A[Name] extends Field<NodeSelector> ? Name : never;
}[keyof A & string];

/** A provider's annotations on Services. */
export interface AnnotationsDefinition<A extends Fields> {
  /** Prepended unchanged to each name, so the prefix ends with "/", or with a separator such as "-". */
  readonly prefix: `${string}/` | `${string}/${string}${"-" | "." | "_"}`;
  /** A field whose name contains "/" is a complete key. */
  readonly fields: A;
  /**
   * The `nodeSelector` field that selects the target Nodes. Nodes that it excludes are not targets, regardless of
   * `fairlead.dev/target-policy`. Targets do not change while it is invalid.
   */
  readonly targetSelector?: SelectorName<A> | undefined;
  /**
   * The field, and its values with which another controller serves a Service: `by`, such as "the AWS Load Balancer Controller".
   * Such a Service is ignored, like a Service with a load balancer class, except that it keeps an existing load balancer in this
   * cloud. The field therefore needs `whenChanged: "reject"`. With these values, `plan` returns no steps, and `publish` no
   * address.
   */
  readonly servedElsewhere?:
    | { readonly field: keyof A & string; readonly values: readonly string[]; readonly by: string }
    | undefined;
  /**
   * Pure. Contradictions between the annotations and ports of one Service, for `lint` and the webhook; `onlyWith` and `overriddenBy` of
   * the fields need no code. All single values are valid, annotations with `defaultFrom` have the operator's default, and node ports
   * may not be allocated yet. Use the same rule in `LoadBalancers.plan`.
   */
  check?(service: DesiredWithoutTargets<A>): readonly ProviderProblem[];
}

/** The permissions that a cloud policy must grant to the running controllers. */
export interface PolicyNeeds {
  readonly nodes: boolean;
  readonly routes: boolean;
  readonly loadBalancers: boolean;
  readonly tagging: boolean;
  readonly volumes: boolean;
  /** False with `--mode=observe`. */
  readonly isWriting: boolean;
}

/** A provider, from which an executable of Fairlead is built. Create it with `defineProvider`. */
export interface ProviderDefinition<
  C extends Fields = Fields,
  A extends Fields = Fields,
  O extends ObservedLoadBalancer = ObservedLoadBalancer,
  S extends Step = Step,
  V = undefined,
> {
  /** Must be `contractVersion`; the build rejects any other value. */
  readonly contract: typeof contractVersion;
  /** The name in `--cloud-provider=<name>`, and in `<name>-cloud-controller-manager` if `executable` is unset. */
  readonly name: string;
  /** The name in `<executable>-cloud-controller-manager`, if users know the cloud by another name. */
  readonly executable?: string | undefined;
  /** The schemes of provider ids, with `://`. The first scheme is written. Schemes must never change. */
  readonly schemes: readonly [`${string}://`, ...`${string}://`[]];
  /** The cloud settings. Users set them by environment variable, flag or file. */
  readonly config: C;
  /** The annotations on Services. */
  readonly annotations?: AnnotationsDefinition<A> | undefined;
  /** How volumes of this cloud appear in Kubernetes. Required together with `Cloud.volumes`. */
  readonly volumeDriver?: VolumeDriver | undefined;
  /** The files and Secrets needed to connect. */
  inputs?(config: Values<C>): readonly InputDeclaration[];
  /** Where each fact is stored on the Service, by name. */
  readonly facts?: Readonly<Record<string, FactPlace>> | undefined;
  /** The provider's own reasons of problems, which appear in events, conditions, metrics and `schema`. */
  readonly reasons?: DeclaredReasons | undefined;
  /**
   * Flag defaults that differ for this cloud, by flag name: upstream flags whose defaults the cloud's Go manager changes, and
   * Fairlead's flags. `--help` shows them. With `--compatibility=upstream`, the defaults of Fairlead's flags do not apply.
   */
  readonly presets?: Readonly<Record<string, string>> | undefined;
  /** Flags of the cloud's Go manager that have no effect here, by name, with the reason or a replacement. */
  readonly ignoredFlags?: Readonly<Record<string, string>> | undefined;
  /**
   * Pure. A policy for the manager's credentials in the cloud's format, such as an IAM policy. Create it from the operations that
   * the code calls. If unset, the cloud has no such policies.
   */
  policy?(needs: PolicyNeeds): object;
  /** Pure. Parses the `--cloud-config` file in the format of the cloud's Go manager. If unset, there is no such file. */
  readConfigFile?(text: string): ConfigFile | Promise<ConfigFile>;
  /**
   * Pure. Checks that a table cannot express: "either a token or a key". If a setting cannot be read, it is called without a value
   * for it and with any valid value, and problems that occur both times are reported. Texts name a setting by its variable, or by
   * its name if that has a hyphen or is the first word; the user reads what the setting is called where its value comes from.
   */
  checkConfig?(config: Values<C>): readonly Problem[];
  /** Creates the cloud without sending a request. Called at start and again when the configuration changes. */
  connect(config: Values<C>, context: Context): Cloud<A, O, S, V>;
}

/** A definition of any cloud, for code that works with all of them. */
export type AnyProvider = ProviderDefinition<Fields, Fields, ObservedLoadBalancer, Step, unknown>;
/** A connected cloud of any types. */
export type AnyCloud = Cloud<Fields, ObservedLoadBalancer, Step, unknown>;

/**
 * Creates a provider from a definition; the compiler infers and checks the types of its parts. Adds what the fields of `config`
 * declare: settings with the paths of files, the files as inputs, and the checks of `exclusiveWith`, `ineffective` and URLs.
 * @example export const example = defineProvider({ contract: 3, name: "example", schemes: ["example://"], config: { token:
 * secret("The API token.", { required: true, env: "EXAMPLE_TOKEN" }) }, connect: (settings, { account }) => ({ instances: {
 * sources: [source], matchBy: ["name"] } }), });
 */
export function defineProvider<
  C extends Fields,
  A extends Fields,
  O extends ObservedLoadBalancer,
  S extends Step,
  V = undefined,
>(definition: ProviderDefinition<C, A, O, S, V>): ProviderDefinition<WithFiles<C>, A, O, S, V> {
  const config = withFiles(definition.config);
  return {
    ...definition,
    config,
    inputs: (settings) => [
      ...valueFiles(config, settings).map((path) => ({ kind: "File", path }) as const),
      ...(definition.inputs?.(settings) ?? []),
    ],
    checkConfig: (settings) => [
      ...ruleProblems(config, settings),
      ...(definition.checkConfig?.(settings) ?? []),
    ],
  };
}
