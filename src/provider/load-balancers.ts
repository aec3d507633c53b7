// Load balancers: the framework observes, requests a plan, and applies its steps. It owns finalizers, events, retries
// and the status of Services.

import type { Cidr, IpAddress, NodeName, ServiceUID } from "../core/brand.ts";
import type { Fields, Values } from "../core/settings.ts";
import type { Call } from "./call.ts";
import type { Machine } from "./instances.ts";
import type { Facts, Plan, Step, StepOutcome } from "./plan.ts";

/** As in a Service's `spec.ipFamilies`. */
export type IpFamily = "IPv4" | "IPv6";

/** A port of the Service, even one that the cloud does not support: leave it out of the plan, the framework has reported it. */
export interface BalancerPort {
  readonly name?: string;
  readonly protocol: "TCP" | "UDP" | "SCTP";
  readonly port: number;
  /** Absent with `allocateLoadBalancerNodePorts: false`: then the targets are pods. Not reported: a provider that needs it returns a problem. */
  readonly nodePort?: number;
}

/** The answer of `LoadBalancers.reaches`. */
export type Reached = true | string | { readonly byDesign: string };

/** A Node that receives traffic of the load balancer. */
export interface BalancerTarget {
  readonly node: NodeName;
  /**
   * Undefined while no source knows the provider id of the Node: it has just joined, and is no target yet. If `handles` are undefined,
   * the machine is known and may be a working target: return `waitFor` instead of a plan without it.
   */
  readonly machine?: Machine;
  /** The labels of the Node. */
  readonly labels: Readonly<Record<string, string>>;
  /** All IP addresses of the Node, of any kind. */
  readonly addresses: readonly IpAddress[];
  /** The addresses of kind InternalIP, in the order of the Node: those in private networks. */
  readonly internalIPs: readonly IpAddress[];
  /** It must not receive new connections, and is removed later. Only with `draining` in `LoadBalancers.supports`. */
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
   * The clients that may connect. Undefined when the Service names none: then the cloud's default applies, which is usually all
   * clients (`allAddresses`). It is not the same as `0.0.0.0/0`, which a Service may name. Never empty, unless `rangesOf` returned
   * an empty list: while all ranges of a Service are invalid and the previous ones are unknown, nothing is planned. They may contain
   * ranges of a family that the Service does not have.
   */
  readonly sourceRanges: readonly Cidr[] | undefined;
  /**
   * The IP families of the Service, including those that the cloud lacks. Not reported: a provider that lacks all of them returns a
   * problem.
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
  /** What steps have stored with `remember`. */
  readonly facts: Facts;
  /**
   * The other Services that have the same load balancer, as listed; undefined while it is not known what one needs, for example because it
   * is paused or belongs to another cluster. Absent: no other Service has it.
   */
  readonly sharers?: ReadonlyMap<ServiceUID, DesiredLoadBalancer<A> | undefined> | undefined;
  /**
   * Set when the load balancer must be removed: its Service is deleted or has another type. `delete`: delete it. `release`: keep it and remove the mark; only with
   * `release` in `LoadBalancers.supports`.
   */
  readonly ending?: "delete" | "release";
}

/** What a Service says about the load balancer that it has. */
export type MarkingService = Pick<DesiredLoadBalancer<Fields>, "owner" | "defaultName" | "facts">;

/** What decides which Nodes can be targets. */
export type DesiredWithoutTargets<A extends Fields> = Omit<DesiredLoadBalancer<A>, "targets">;

/** An address of a load balancer, as in the Service's `status.loadBalancer.ingress`. */
export interface BalancerAddress {
  readonly ip?: IpAddress | undefined;
  readonly hostname?: string | undefined;
  /** Absent means VIP. */
  readonly ipMode?: "VIP" | "Proxy" | undefined;
}

/** What the cloud has for one Service, including incomplete and left-over parts. Extend it with what your plan needs. */
export interface ObservedLoadBalancer {
  /** Its name or id in the cloud, for messages. */
  readonly name: string;
  /**
   * The Service that it serves according to its mark. If that does not exist, it is an orphan. Several uids where the mark does not
   * say which of them it is: see `ownersOfDefaultName`. Then it stays in the cloud when the Service is gone.
   */
  readonly owners: readonly ServiceUID[];
  /**
   * `ours` carries the cluster's mark. `unmarked` is changed only after a Service adopts it. `foreign` carries another cluster's
   * mark and is never changed. List those too, with `owners` and `cluster`: a Service whose load balancer belongs to another
   * cluster gets no second one, because --cluster-name is probably wrong.
   */
  readonly ownership: "ours" | "unmarked" | "foreign";
  /** The name of the other cluster, if `ownership` is `foreign` and the mark has it. */
  readonly cluster?: string | undefined;
  /**
   * Where the mark is on the Service: the keys by which a Service owns it, first the name that is made of its uid, then ids. No name may
   * equal an id. See `LoadBalancers.ownKeys`.
   */
  readonly keys?: readonly string[] | undefined;
  /** With `keys`: its IP addresses. Several Services may have its id, and one of them has its address. */
  readonly addresses?: readonly string[] | undefined;
  /** `Mark.clusterUID` in the mark, if it has one. */
  readonly clusterUID?: string | undefined;
  /** `false` if the mark of this load balancer is older than the marks that name the cluster. See `LoadBalancers`. */
  readonly marksNameCluster?: false | undefined;
  /**
   * Does not hold up a plan: return `wait` for that. Among duplicates, a `ready` one is managed unless a Service has the address of
   * another one. While drift is only reported, no status is written for one that is not `ready`.
   */
  readonly state: "ready" | "changing" | "failed";
  /** The listing is incomplete for this object: `observe` is called before a plan. */
  readonly shallow?: true | undefined;
}

/** A health check of one target, with a result. */
export interface TargetCheck {
  /** `BalancerTarget.node`, or what the cloud calls a target that is none of the desired ones. */
  readonly target: string;
  readonly isHealthy: boolean;
  /** What is checked, and why it fails if the cloud says so: `port 443: connection refused`. */
  readonly text: string;
}

/**
 * What a Service may request and some clouds lack.
 *
 * - `sourceRanges`         only these clients can connect
 * - `sessionAffinity`      `sessionAffinitySeconds`: connections of a client reach the same Node
 * - `healthCheckNodePort`  with `externalTrafficPolicy: Local`, Nodes without an endpoint get no traffic: the cloud checks this port,
 *                          or the node port itself
 * - `requestedAddress`     the address in `spec.loadBalancerIP`
 * - `UDP`, `SCTP`          ports of this protocol
 * - `draining`             targets can stop accepting new connections: leaving Nodes are `draining` first, for the time that the
 *                          operator or the Service sets. Otherwise they are removed immediately
 * - `release`              `ending: "release"`. Otherwise the deletion of a Service that requests it is on hold, with an event
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

/** What to write to the status of a Service. */
export type Publication =
  | { readonly kind: "addresses"; readonly addresses: readonly BalancerAddress[] }
  /** No address yet: the status does not change. */
  | { readonly kind: "wait"; readonly waitingFor: string }
  /** Another component announces the address (kube-vip, an agent): Fairlead never writes this status. */
  | { readonly kind: "not-ours" };

/**
 * The load balancers of a cloud: one per Service. Where several Services share what the cloud has, the provider lists one view of it
 * per Service. Only `list`, `plan`, `apply` and `publish` are required.
 */
export interface LoadBalancers<
  A extends Fields,
  O extends ObservedLoadBalancer,
  S extends Step,
  V = undefined,
> {
  /**
   * What plans need to know about the cloud (networks, certificates by name, features), cached like a listing. `key`: of the Services
   * that share it; "" for those without one.
   */
  prefetch?(key: string, call: Call): Promise<V>;
  /**
   * Pure. What the plan of this Service needs of `prefetch`, such as "certificates". Services with the same answer share one prefetch,
   * and its failure holds up only them. It is repeated when such a Service is created or changed. Undefined: nothing that the Service
   * refers to, so that it gets any result of the last minute, as does a plan of a removal. Absent: all Services share one.
   */
  prefetchKey?(desired: DesiredLoadBalancer<A>): string | undefined;
  /**
   * Pure. Whether this Service names this load balancer as the one to adopt, whatever its mark. Only an unmarked one is adopted.
   * If two Services name it, neither adopts it, unless both answers are `shared`: the Services agree to share it.
   */
  adopts?(desired: DesiredLoadBalancer<A>, found: O): boolean | "shared";
  /**
   * Pure. What this Service asks to adopt, as its user wrote it: an id or a name. Undefined: nothing. If it cannot be adopted, no
   * load balancer is created, and the Service reports why. Implement it together with `adopts`.
   */
  requestsAdoption?(desired: DesiredLoadBalancer<A>): string | undefined;
  /**
   * Pure. The settings as they are in the cloud. A field with an invalid annotation keeps this value, never its default. A changed field
   * with `whenChanged` is noticed only if its value is here, and if the Service has the annotation: without it, the value stays.
   * Without this function, or without the field in its result, nothing of the load balancer changes until the annotation is fixed,
   * unless this process has seen a valid value. `published` are the addresses in the status of the Service, for settings that decide only
   * which addresses are published.
   */
  settingsOf?(observed: O, owner: ServiceUID, published: readonly string[]): Partial<Values<A>>;
  /**
   * Pure. The source ranges as they are in the cloud, or `unspecified` where none are set there. They stay while a Service has an
   * invalid range. Without this function, a process that has not seen the valid ranges uses those that can be parsed; if there
   * are none, nothing of the load balancer changes until they are corrected.
   */
  rangesOf?(observed: O, owner: ServiceUID): readonly Cidr[] | "unspecified" | undefined;
  /**
   * Pure. Whether this load balancer can reach a target: its region, its network, its kind of machine, an address. The returned
   * function answers for one target: true, or why not, as in "they have no address in network lan". The Service reports the cause once for
   * all such Nodes, so do not name the Node. A cause that is `byDesign` is reported only when no target is left.
   * Answer true while what it depends on is unknown, such as `Machine.handles`: a target that cannot be reached is removed.
   * Absent: all Nodes are reachable.
   */
  reaches?(desired: DesiredWithoutTargets<A>, observed: O | undefined): (target: BalancerTarget) => Reached;
  /**
   * Pure. The maximum number of targets of this load balancer. If it reaches more Nodes, a stable subset of these is selected.
   */
  targetLimit?(desired: DesiredWithoutTargets<A>, observed: O | undefined): number | undefined;
  /**
   * Pure. For a cloud without a place for the owner, where the mark is on the Service: a name made of its uid or its own name, or an id that a
   * step has remembered. Returns the keys of the load balancer of this Service; none for a Service that gives it up. What is listed with
   * one of these `keys` is `ours` with this Service as the only owner, unless it is `foreign`. An id counts only on a Service with the
   * finalizer, which does not own another one by name; otherwise `adopts` decides. If several Services have the same id, the one with its
   * address is the owner, then the oldest of these, then one without an address. If that is not certain, it is `unmarked`. A Service with
   * the finalizer and without an id owns what has its address.
   */
  ownKeys?(service: MarkingService): readonly string[];
  /**
   * Lists everything with the cluster's mark, everything that could be adopted, and load balancers with another cluster's mark,
   * page by page. Also finds orphans. It must throw when a page is missing, or a region of several: what is missing would count as absent.
   * Each listing is compared with the previous one: what several load balancers share must be one array, Map or Set that is a direct member
   * of each and does not change any more, so that it is compared once.
   */
  list(call: Call): AsyncIterable<readonly O[]>;
  /**
   * Reads the load balancer of one Service; undefined for a Service that is gone, with what is `listed`. Called before a plan when the
   * listing has nothing for the Service, or only a `shallow` object; plans also follow each complete listing. A complete load balancer is
   * planned only after a listing that shows a change, or every 15 to 45 minutes. Undefined is a definite answer: a load balancer that
   * existed may then be created again, without a second listing that confirms it. Without a definite answer, throw a `CloudError`, such as
   * for a 404 that another read of the cloud contradicts: nothing is changed, and `observe` is called again at its `retryAfter`, or after
   * a backoff. Return only a load balancer with the cluster's mark, or the `listed` one, which is unmarked while a Service adopts it.
   */
  observe?(
    desired: DesiredLoadBalancer<A> | undefined,
    listed: O | undefined,
    call: Call,
  ): Promise<O | undefined>;
  /**
   * What was observed `before`, with these `parts` as they are now: those in `Step.restsOn`, `all` of it, or the `mark`. Without parts, it
   * reads only what a plan would lack. `listed` is what a listing has shown since; if none has, it is `before`. Undefined if it is gone, or
   * if the listing contradicts what was observed: then the listing decides, and `observe` reads all that it lacks.
   *
   * With it, an observation serves later plans for up to an hour, and shows that nothing is to be done. Before steps and errors, the parts
   * that they rest on are read again. A step is followed by a reading of its parts, and not by a listing. Absent: `observe` precedes each
   * plan, and a listing each change if the last one is not recent.
   */
  observeAgain?(
    desired: DesiredLoadBalancer<A>,
    listed: O,
    before: O,
    parts: readonly string[],
    call: Call,
  ): Promise<O | undefined>;
  /**
   * Pure. What the health checks of the cloud say about the targets, as far as it was observed: any number of checks for each target. Leave
   * out what has no result yet, and what is not checked. Absent: the cloud does not say it.
   */
  healthOf?(desired: DesiredLoadBalancer<A>, observed: O): readonly TargetCheck[];
  /**
   * What was observed, with the health of the targets as it is now. Called when a person asks about one Service, and never by a reconcile.
   * Together with `healthOf`.
   */
  observeHealth?(desired: DesiredLoadBalancer<A>, observed: O, call: Call): Promise<O>;
  /**
   * Pure. The steps from the observed to the desired state. With `ending`, and for a Service that is gone (undefined), the load balancer
   * is removed; when all steps are done, nothing of it may be left that a listing could hide. `prefetched`: the result of `prefetch`.
   */
  plan(desired: DesiredLoadBalancer<A> | undefined, observed: O | undefined, prefetched: V): Plan<S>;
  /** Applies one step. The process may stop at any moment: the next plan starts from what is observed then. */
  apply(step: S, call: Call): Promise<StepOutcome>;
  /**
   * Pure. The steps that replace the cluster in the mark of a `foreign` load balancer with this one. Only the command `marks` applies
   * them, to load balancers whose owners are all Services of this cluster. Absent: a mark can only be changed in the cloud.
   */
  moveMark?(observed: O): readonly S[];
  /** Pure. The status of one Service. */
  publish(desired: DesiredLoadBalancer<A>, observed: O | undefined): Publication;
  /**
   * What names the cluster in marks, where that is not `--cluster-name`: a setting and its value, for messages; or false, where marks name
   * only the Service. Load balancers of another cluster in the same account may then look like orphans. Those of Services that this
   * process never saw are reported as possible orphans; they are never changed anyway.
   */
  readonly marksNameCluster?: false | { readonly name: string; readonly value: string } | undefined;
  /** What plans use of a Service's requests. Anything else that a Service requests is reported there, as without effect. */
  readonly supports?: readonly ServiceFeature[] | undefined;
  /**
   * With these settings, no plan, limit or reachability needs `Machine.handles`: the key of a machine or an address of its Node names the
   * target, and the cloud itself refuses a Node that it cannot reach. While only the service controller runs, instances are then never
   * requested, so `handles` stay undefined and no plan may wait for them. Absent: instances are listed.
   */
  readonly needsHandles?: false | undefined;
  /**
   * A step that removes a target succeeds although the cloud has removed it already. Absent: the departure of a Node outdates all
   * listings, because its machine is probably gone too.
   */
  readonly toleratesMissingTargets?: true | undefined;
}
