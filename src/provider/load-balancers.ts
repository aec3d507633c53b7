// Load balancers by observe → plan (pure) → apply. A balancer group is what must not be worked on twice at once: one
// Service on most clouds, several where they share a balancer. The framework owns finalizers, events, retries and status.

import type { Cidr, IpAddress, NodeName, ServiceUID } from "../core/brand.ts";
import type { Fields, Values } from "../core/settings.ts";
import type { Call } from "./call.ts";
import type { InputDeclaration, Inputs, ServiceInput } from "./inputs.ts";
import type { Machine } from "./instances.ts";
import type { Facts, Plan, Step, StepOutcome } from "./plan.ts";

export type IpFamily = "IPv4" | "IPv6";

export interface BalancerPort {
  readonly name?: string;
  readonly protocol: "TCP" | "UDP" | "SCTP";
  readonly port: number;
  /** Absent when the Service allocates none (`allocateLoadBalancerNodePorts: false`): then targets are pods. */
  readonly nodePort?: number;
  readonly appProtocol?: string;
}

export interface BalancerTarget {
  readonly node: NodeName;
  readonly machine?: Machine;
  readonly labels: Readonly<Record<string, string>>;
  readonly addresses: readonly IpAddress[];
  /** On its way out, no new connections; it is left out when its time is over. Only where `drains` is said. */
  readonly draining: boolean;
}

/** One Service's wish, complete: annotations are parsed, nodes are chosen, nothing else needs to be asked. */
export interface DesiredLoadBalancer<A extends Fields> {
  readonly owner: { readonly uid: ServiceUID; readonly namespace: string; readonly name: string };
  /** The name the Go managers use by default: "a" + uid without dashes, at most 32 characters. */
  readonly defaultName: string;
  readonly ports: readonly BalancerPort[];
  readonly targets: readonly BalancerTarget[];
  readonly sourceRanges: readonly Cidr[];
  readonly families: readonly IpFamily[];
  readonly requestedAddress?: IpAddress;
  readonly externalTrafficPolicy: "Cluster" | "Local";
  readonly healthCheckNodePort?: number;
  readonly sessionAffinitySeconds?: number;
  readonly settings: Values<A>;
  readonly facts: Facts;
  /** `release`: the Service goes, but what it has in the cloud stays and loses our mark. Only where `releases` is said. */
  readonly ending?: "delete" | "release";
}

export interface BalancerAddress {
  readonly ip?: IpAddress;
  readonly hostname?: string;
  /** Absent equals VIP. */
  readonly ipMode?: "VIP" | "Proxy";
}

/** Everything in the cloud that belongs to one group, also half-made and left-over parts. */
export interface ObservedLoadBalancer {
  readonly group: string;
  /** Who is served by it according to its marks; none known is an orphan. */
  readonly owners: readonly ServiceUID[];
  /** `ours` carries our mark; only that is ever changed, and `unmarked` only once a member adopts it. */
  readonly ownership: "ours" | "unmarked" | "foreign";
  readonly state: "ready" | "changing" | "failed";
  /** Came from a listing that does not tell everything: `observe` is asked before a plan. */
  readonly shallow?: true;
}

/** What to write into a Service's status. */
export type Publication =
  | { readonly kind: "addresses"; readonly addresses: readonly BalancerAddress[] }
  /** Not yet: the status stays as it is. */
  | { readonly kind: "wait"; readonly waitingFor: string }
  /** Somebody else announces this address (kube-vip, an agent): we never write this status. */
  | { readonly kind: "not-ours" };

/** What a plan may look at besides wishes and what is there. */
export interface PlanContext<V> {
  readonly survey: V;
  readonly inputs: Inputs;
  /** Owners named by marks whose Services are known to be gone; owners that are neither members nor here stay. */
  readonly orphans: readonly ServiceUID[];
}

export interface LoadBalancers<
  A extends Fields,
  O extends ObservedLoadBalancer,
  S extends Step,
  V = undefined,
> {
  /** What every plan needs: a pool, a certificate for all. A change of it has all groups planned again. */
  readonly inputs?: readonly InputDeclaration[];
  /** Pure. What the plan of this Service needs besides: a certificate that an annotation names. */
  inputsOf?(desired: DesiredLoadBalancer<A>): readonly ServiceInput[];
  /** What all plans need to know of the cloud (networks, certificates by name, features); shared and aged like a listing. */
  survey?(desired: readonly DesiredLoadBalancer<A>[], call: Call): Promise<V>;
  /** Pure. Does this member ask for this unmarked balancer? Two answers of "yes" are a problem, not a choice. */
  adopts?(member: DesiredLoadBalancer<A>, found: O): boolean;
  /**
   * Pure. The settings as they are in the cloud: a field whose annotation is wrong keeps this value, never its fallback.
   * Without this member, or without the field in its answer, a process that has never seen the right value changes nothing
   * of the balancer until the annotation is mended: its targets are frozen too, and so is the whole group it is in.
   */
  settingsOf?(observed: O, owner: ServiceUID): Partial<Values<A>>;
  /**
   * Pure. From where it may be reached, as it is in the cloud: while a Service names a wrong range, these stay. Without this
   * member a process that has never seen the right ones keeps those of them that can be read.
   */
  rangesOf?(observed: O, owner: ServiceUID): readonly Cidr[] | undefined;
  /** Pure. The most targets that one balancer with these settings takes; of more nodes a stable part is chosen. */
  targetLimit?(settings: Values<A>): number | undefined;
  /**
   * Pure. The group a Service belongs to; without this member every Service is a group of its own, named by its uid. Two
   * groups that share a member or an observed owner are never worked on at once.
   */
  groupOf?(desired: DesiredLoadBalancer<A>): string;
  /** Everything that is ours or could be adopted, page by page; also what makes orphans and drift visible. */
  list(call: Call): AsyncIterable<readonly O[]>;
  /** Where one group can be read better or more cheaply than by listing: in depth, by facts remembered. */
  observe?(
    members: readonly DesiredLoadBalancer<A>[],
    listed: O | undefined,
    call: Call,
  ): Promise<O | undefined>;
  /**
   * Pure. No steps means converged. Members that end carry `ending`; no members and something observed means that
   * everything of the group goes. A provider without sharing gets exactly one member or none.
   */
  plan(members: readonly DesiredLoadBalancer<A>[], observed: O | undefined, given: PlanContext<V>): Plan<S>;
  apply(step: S, call: Call): Promise<StepOutcome>;
  /** Pure. The status of one member, given what is there. */
  publish(member: DesiredLoadBalancer<A>, observed: O | undefined): Publication;
  /**
   * What a Service has can be given back: `plan` knows the ending `release`, after which it stays and nothing of it carries our
   * mark for that Service. In a group with others only what is this Service's alone is let go; the rest is theirs. Absent, a
   * Service that asks for it and ends keeps what it has, finalizer included, and is told so.
   */
  readonly releases?: true;
  /**
   * A target can be told to take no new connections: where the operator or the Service gives nodes that leave the time for
   * it, they come as `draining` first. Absent, they are left out at once: the cloud drains by itself, or cannot.
   */
  readonly drains?: true;
}
