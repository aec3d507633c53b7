// Load balancers: the framework observes, requests a plan, and applies its steps. The framework also manages finalizers, events,
// retries and the status of Services.

import type { Cidr, IpAddress, NodeName, ServiceUID } from "../core/brand.ts";
import type { Fields, Values } from "../core/settings.ts";
import type { Call } from "./call.ts";
import type { Machine } from "./instances.ts";
import type { Facts, Plan, Step, StepOutcome } from "./plan.ts";

/** As in a Service's `spec.ipFamilies`. */
export type IpFamily = "IPv4" | "IPv6";

/** A port of the Service, even if the cloud does not support it: omit it from the plan; the framework has reported it. */
export interface BalancerPort {
  readonly name?: string;
  readonly protocol: "TCP" | "UDP" | "SCTP";
  readonly port: number;
  /**
   * Unset with `allocateLoadBalancerNodePorts: false`: the targets are then pods. The framework does not report this, so a
   * provider that needs the port returns a problem.
   */
  readonly nodePort?: number;
}

/** The answer of `LoadBalancers.reaches`. */
export type Reached = true | string | { readonly byDesign: string };

/** A Node that receives traffic of the load balancer. */
export interface BalancerTarget {
  readonly node: NodeName;
  /**
   * Undefined while no source recognizes the Node's provider id: it has just joined, and is not a target yet. If `handles` are undefined,
   * the machine is known and may be a working target: return `waitFor` instead of a plan without it.
   */
  readonly machine?: Machine;
  /** The labels of the Node. */
  readonly labels: Readonly<Record<string, string>>;
  /** All IP addresses of the Node, of any kind. */
  readonly addresses: readonly IpAddress[];
  /** The Node's InternalIP addresses, in its order: addresses in private networks. */
  readonly internalIPs: readonly IpAddress[];
  /** The target must not receive new connections, and is removed later. Set only with `draining` in `LoadBalancers.supports`. */
  readonly draining: boolean;
}

/** The desired state of one Service: annotations are parsed and targets are selected. */
export interface DesiredLoadBalancer<A extends Fields> {
  readonly owner: { readonly uid: ServiceUID; readonly namespace: string; readonly name: string };
  /** The name that the Go managers use: "a" and the uid without dashes, at most 32 characters. */
  readonly defaultName: string;
  readonly ports: readonly BalancerPort[];
  readonly targets: readonly BalancerTarget[];
  /**
   * The clients that may connect. Undefined if the Service specifies none: the cloud's default then applies, which is usually all
   * clients (`allAddresses`). This differs from `0.0.0.0/0`, which a Service may specify. Never empty, unless `rangesOf` returned
   * an empty list: while all ranges of a Service are invalid and the previous ones are unknown, nothing is planned. They may
   * contain ranges of a family that the Service does not have.
   */
  readonly sourceRanges: readonly Cidr[] | undefined;
  /**
   * The IP families of the Service, including families that the cloud does not support. The framework does not report this, so a
   * provider that lacks all of them returns a problem.
   */
  readonly families: readonly IpFamily[];
  /** `spec.loadBalancerIP`. Only with `requestedAddress` in `LoadBalancers.supports`; otherwise the Service reports that it has no effect. */
  readonly requestedAddress?: IpAddress;
  readonly externalTrafficPolicy: "Cluster" | "Local";
  readonly healthCheckNodePort?: number;
  /** Only Nodes with an endpoint are targets, so that no health check has to find them for `externalTrafficPolicy: Local`. */
  readonly targetsHaveEndpoints?: true;
  /** Set with `sessionAffinity: ClientIP`. */
  readonly sessionAffinitySeconds?: number;
  /** The values of the provider's annotations. */
  readonly settings: Values<A>;
  /** The facts that steps have stored with `remember`. */
  readonly facts: Facts;
  /**
   * The other Services that share the load balancer, as listed; undefined while the needs of one are unknown, for example because
   * it is paused or belongs to another cluster. If unset, no other Service uses it.
   */
  readonly sharers?: ReadonlyMap<ServiceUID, DesiredLoadBalancer<A> | undefined> | undefined;
  /**
   * Set if the load balancer must be removed, because its Service is deleted or has a different type. `delete`: delete the load
   * balancer. `release`: keep it and remove the mark; only with `release` in `LoadBalancers.supports`.
   */
  readonly ending?: "delete" | "release";
}

/** The facts on a Service about its load balancer. */
export type MarkingService = Pick<DesiredLoadBalancer<Fields>, "owner" | "defaultName" | "facts">;

/** The inputs that decide which Nodes can be targets. */
export type DesiredWithoutTargets<A extends Fields> = Omit<DesiredLoadBalancer<A>, "targets">;

/** An address of a load balancer, as in the Service's `status.loadBalancer.ingress`. */
export interface BalancerAddress {
  readonly ip?: IpAddress | undefined;
  readonly hostname?: string | undefined;
  /** If unset, VIP. */
  readonly ipMode?: "VIP" | "Proxy" | undefined;
}

/** The cloud's state for a Service, including incomplete and left-over parts. Extend it with what your plan needs. */
export interface ObservedLoadBalancer {
  /** Its name or id in the cloud, for messages. */
  readonly name: string;
  /**
   * The Service that the load balancer serves according to its mark. If that Service does not exist, the load balancer is an
   * orphan. Several uids if the mark does not identify the Service (see `ownersOfDefaultName`): the load balancer then stays in
   * the cloud when the Service is gone.
   */
  readonly owners: readonly ServiceUID[];
  /**
   * `ours` carries the cluster's mark. `unmarked` is changed only after a Service adopts it. `foreign` carries another cluster's
   * mark and is never changed. List foreign load balancers too, with `owners` and `cluster`: a Service whose load balancer belongs
   * to another cluster gets no second one, because --cluster-name is probably incorrect.
   */
  readonly ownership: "ours" | "unmarked" | "foreign";
  /** The name of the other cluster, if `ownership` is `foreign` and the mark contains it. */
  readonly cluster?: string | undefined;
  /**
   * Where the mark is on the Service: the keys by which a Service owns it, first the name that is made of its uid, then ids. No name may
   * equal an id. See `LoadBalancers.ownKeys`.
   */
  readonly keys?: readonly string[] | undefined;
  /** Only for load balancers with `keys`: the IP addresses. Several Services may have its id, and one of them has its address. */
  readonly addresses?: readonly string[] | undefined;
  /** `Mark.clusterUID` in the mark, if present. */
  readonly clusterUID?: string | undefined;
  /** `false` if the mark of this load balancer is older than the marks that name the cluster. See `LoadBalancers`. */
  readonly marksNameCluster?: false | undefined;
  /**
   * The state does not block a plan; return `wait` for that. Among duplicates, a `ready` load balancer is managed, unless a
   * Service publishes the address of another one. While drift is only reported, no status is written for one that is not `ready`.
   */
  readonly state: "ready" | "changing" | "failed";
  /** The listing is incomplete for this object: `observe` is called before a plan. */
  readonly shallow?: true | undefined;
}

/** A health check of one target, with a result. */
export interface TargetCheck {
  /** `BalancerTarget.node`, or the cloud's name for a target that is not desired. */
  readonly target: string;
  readonly isHealthy: boolean;
  /** The check, and why it fails if the cloud reports it: `port 443: connection refused`. */
  readonly text: string;
}

/**
 * Features that a Service may request and some clouds lack. - `sourceRanges` only these clients can connect - `sessionAffinity`
 * `sessionAffinitySeconds`: connections of a client reach the same Node - `healthCheckNodePort` with `externalTrafficPolicy:
 * Local`, Nodes without an endpoint get no traffic: the cloud checks this port, or the node port itself - `requestedAddress` the
 * address in `spec.loadBalancerIP` - `UDP`, `SCTP` ports of this protocol - `draining` targets can reject new connections:
 * leaving Nodes are `draining` first, for the time that the operator or the Service sets. Otherwise they are removed immediately
 * - `release` `ending: "release"`. Otherwise the deletion of a Service that requests it is on hold, with an event
 */
export type ServiceFeature =
  | "sourceRanges"
  | "sessionAffinity"
  | "healthCheckNodePort"
  | "requestedAddress"
  | "UDP"
  | "SCTP"
  | "draining"
  | "release";

/** The address data for a Service's status. */
export type Publication =
  | { readonly kind: "addresses"; readonly addresses: readonly BalancerAddress[] }
  /** The load balancer has no address yet. The status does not change. */
  | { readonly kind: "wait"; readonly waitingFor: string }
  /** Another component announces the address (kube-vip, an agent): Fairlead never writes this status. */
  | { readonly kind: "not-ours" };

/**
 * The load balancers of a cloud: one per Service. If several Services share a load balancer, the provider lists one view of it per
 * Service. Only `list`, `plan`, `apply` and `publish` are required.
 */
export interface LoadBalancers<
  A extends Fields,
  O extends ObservedLoadBalancer,
  S extends Step,
  V = undefined,
> {
  /**
   * The cloud data that plans need (networks, certificates by name, features), cached like a listing. `key`: the key of the
   * Services that share it; "" for Services without a key.
   */
  prefetch?(key: string, call: Call): Promise<V>;
  /**
   * Pure. The parts of `prefetch` that this Service's plan needs, such as "certificates". Services with the same answer share one
   * prefetch, and its failure blocks only them. It is repeated when such a Service is created or changed. Undefined: nothing that
   * the Service refers to, so that it gets any result of the last minute, as does a plan of a removal. If unset, all Services share
   * one result.
   */
  prefetchKey?(desired: DesiredLoadBalancer<A>): string | undefined;
  /**
   * Pure. Whether this Service names this load balancer as the one to adopt, whatever its mark. Only an unmarked one is adopted.
   * If two Services name it, neither adopts it, unless both answers are `shared`: the Services agree to share it.
   */
  adopts?(desired: DesiredLoadBalancer<A>, found: O): boolean | "shared";
  /**
   * Pure. The load balancer that this Service requests to adopt, as the user wrote it: an id or a name. Undefined: nothing. If it
   * cannot be adopted, no load balancer is created, and the Service reports why. Implement it together with `adopts`.
   */
  requestsAdoption?(desired: DesiredLoadBalancer<A>): string | undefined;
  /**
   * Pure. The settings as they are in the cloud. A field with an invalid annotation keeps this value, never its default. A changed
   * field with `whenChanged` is noticed only if its value is here, and if the Service has the annotation: without it, the value
   * stays. Without this function, or without the field in its result, the load balancer does not change until the annotation is
   * fixed, unless this process has seen a valid value. `published` are the addresses in the status of the Service, for settings
   * that decide only which addresses are published.
   */
  settingsOf?(observed: O, owner: ServiceUID, published: readonly string[]): Partial<Values<A>>;
  /**
   * Pure. The source ranges in the cloud, or `unspecified` if none are set there. They stay while a Service has an invalid range.
   * Without this function, a process that has not seen the valid ranges uses those that can be parsed; if there are none, the load
   * balancer does not change until they are corrected.
   */
  rangesOf?(observed: O, owner: ServiceUID): readonly Cidr[] | "unspecified" | undefined;
  /**
   * Pure. Whether this load balancer can reach a target: its region, its network, its kind of machine, an address. The returned
   * function answers for one target: true, or why not, as in "they have no address in network lan". The Service reports the cause
   * once for all such Nodes, so do not name the Node. A cause that is `byDesign` is reported only when no target is left. Return
   * true while the required data is unknown, such as `Machine.handles`, because an unreachable target is removed. If unset, all
   * Nodes are reachable.
   */
  reaches?(desired: DesiredWithoutTargets<A>, observed: O | undefined): (target: BalancerTarget) => Reached;
  /**
   * Pure. The maximum number of targets for this load balancer. If it can reach more Nodes, a stable subset is selected.
   */
  targetLimit?(desired: DesiredWithoutTargets<A>, observed: O | undefined): number | undefined;
  /**
   * Pure. For a cloud that cannot store the owner, so that the mark is on the Service: a name made of its uid or its own name, or
   * an id that a step has remembered. Returns the keys of the load balancer of this Service; none for a Service that gives it up.
   * Listed objects with one of these `keys` are `ours` with this Service as the only owner, unless they are `foreign`. An id counts
   * only on a Service that has the finalizer and does not own another load balancer by name; otherwise `adopts` decides. If several
   * Services have the same id, the one with its address is the owner, then the oldest of these, then one without an address. If
   * that is not certain, it is `unmarked`. A Service with the finalizer and without an id owns the load balancer with its address.
   */
  ownKeys?(service: MarkingService): readonly string[];
  /**
   * Lists everything with the cluster's mark, everything that could be adopted, and load balancers with another cluster's mark,
   * page by page. Also finds orphans. It must throw if a page is missing, or one of several regions, because missing objects would
   * count as absent. Each listing is compared with the previous one: data that several load balancers share must be a single array,
   * Map or Set that is a direct member of each and never changes, so that it is compared once.
   */
  list(call: Call): AsyncIterable<readonly O[]>;
  /**
   * Reads the load balancer of a Service; undefined for a Service that is gone, with its `listed` object. Called before a plan if
   * the listing has no object for the Service, or only a `shallow` object; plans follow each complete listing too. A complete load
   * balancer is planned only after a listing that shows a change, or every 15 to 45 minutes. Undefined is a definite answer: a load
   * balancer that existed may then be created again, without a second listing that confirms it. Without a definite answer, throw a
   * `CloudError`, such as for a 404 that another read of the cloud contradicts: nothing is changed, and `observe` is called again
   * at its `retryAfter`, or after a backoff. Return only a load balancer with the cluster's mark, or the `listed` load balancer,
   * which is unmarked while a Service adopts it.
   */
  observe?(
    desired: DesiredLoadBalancer<A> | undefined,
    listed: O | undefined,
    call: Call,
  ): Promise<O | undefined>;
  /**
   * The observation `before`, with these `parts` reread: those in `Step.restsOn`, `all` of it, or the `mark`. Without parts, it
   * reads only what a plan would lack. `listed` is what a listing has shown since; if none has, it is `before`. Undefined if it is
   * gone, or if the listing contradicts the observation: then the listing decides, and `observe` reads everything that it lacks.
   *
   * With this function, an observation serves later plans for up to an hour, and can prove that nothing needs to change. Before
   * steps and errors, the parts that they depend on are reread. A step is followed by a reading of its parts, and not by a listing.
   * If unset, `observe` precedes each plan, and a listing precedes each change unless the last listing is recent.
   */
  observeAgain?(
    desired: DesiredLoadBalancer<A>,
    listed: O,
    before: O,
    parts: readonly string[],
    call: Call,
  ): Promise<O | undefined>;
  /**
   * Pure. The cloud's health check results for the targets, as far as they were observed: any number of checks for each target.
   * Omit checks without a result, and unchecked targets. If unset, the cloud does not report it.
   */
  healthOf?(desired: DesiredLoadBalancer<A>, observed: O): readonly TargetCheck[];
  /**
   * The observation, with the current target health. Called on a user's question about a Service, and never by a reconcile.
   * Together with `healthOf`.
   */
  observeHealth?(desired: DesiredLoadBalancer<A>, observed: O, call: Call): Promise<O>;
  /**
   * Pure. The steps from the observed to the desired state. With `ending`, and for a Service that is gone (undefined), the load
   * balancer is removed; once all steps are completed, nothing that a listing could hide may be left. `prefetched`: the result of
   * `prefetch`.
   */
  plan(desired: DesiredLoadBalancer<A> | undefined, observed: O | undefined, prefetched: V): Plan<S>;
  /** Applies one step. The process may stop at any moment: the next plan starts from a new observation. */
  apply(step: S, call: Call): Promise<StepOutcome>;
  /**
   * Pure. The steps that replace the cluster in the mark of a `foreign` load balancer with this cluster. Only the command `marks` applies
   * them, to load balancers whose owners are all Services of this cluster. If unset, a mark can only be changed in the cloud.
   */
  moveMark?(observed: O): readonly S[];
  /** Pure. The status of one Service. */
  publish(desired: DesiredLoadBalancer<A>, observed: O | undefined): Publication;
  /**
   * The setting that names the cluster in marks, if it is not `--cluster-name`: its name and value, for messages; or false, if
   * marks name only the Service. Load balancers of another cluster in the same account may then look like orphans. Load balancers
   * of Services that this process never saw are reported as possible orphans; they are never changed.
   */
  readonly marksNameCluster?: false | { readonly name: string; readonly value: string } | undefined;
  /** The Service features that plans apply. If a Service requests other features, it reports that they have no effect. */
  readonly supports?: readonly ServiceFeature[] | undefined;
  /**
   * With these settings, no plan, limit or reachability needs `Machine.handles`: the key of a machine or an address of its Node names the
   * target, and the cloud itself refuses a Node that it cannot reach. While only the service controller runs, instances are then never
   * requested, so `handles` stay undefined and no plan may wait for them. Absent: instances are listed.
   */
  readonly needsHandles?: false | undefined;
  /**
   * A step that removes a target succeeds even if the cloud has already removed the target. If unset, the departure of a Node
   * outdates all listings, because its machine is probably gone too.
   */
  readonly toleratesMissingTargets?: true | undefined;
}
