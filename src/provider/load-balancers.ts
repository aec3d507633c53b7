// Load balancers by observe → plan (pure) → apply. A balancer group is what must not be worked on twice at once: one
// Service on most clouds, several where they share a balancer. The framework owns finalizers, events, retries and status.

import type { Cidr, IpAddress, Milliseconds, NodeName, ProviderID, ServiceUID } from "../core/brand.ts";
import type { Problem } from "../core/problem.ts";
import type { Fields, Values } from "../core/settings.ts";
import type { Call } from "./call.ts";
import type { Inputs } from "./inputs.ts";
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
  readonly id?: ProviderID;
  readonly addresses: readonly IpAddress[];
  /** On its way out: no new connections, removed when drained. */
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
  /** `release`: the Service goes or asks for it, but the cloud object stays and loses our mark. */
  readonly ending?: "delete" | "release";
}

export interface BalancerAddress {
  readonly ip?: IpAddress;
  readonly hostname?: string;
  /** Absent equals VIP. */
  readonly ipMode?: "VIP" | "Proxy";
}

/** Everything in the cloud that carries our mark for one group, also half-made and left-over parts. */
export interface ObservedLoadBalancer {
  readonly group: string;
  /** Who is served by it according to its marks; none known is an orphan. */
  readonly owners: readonly ServiceUID[];
  readonly state: "ready" | "changing" | "failed";
}

/** What to write into a Service's status. */
export type Publication =
  | { readonly kind: "addresses"; readonly addresses: readonly BalancerAddress[] }
  /** Not yet: the status stays as it is. */
  | { readonly kind: "wait"; readonly waitingFor: string }
  /** Somebody else announces this address (kube-vip, an agent): we never write this status. */
  | { readonly kind: "not-ours" };

export interface LoadBalancers<A extends Fields, O extends ObservedLoadBalancer, S extends Step> {
  /** Pure. The group a Service belongs to; without this member every Service is a group of its own, named by its uid. */
  groupOf?(desired: DesiredLoadBalancer<A>): string;
  /** Everything with our mark, page by page; also what makes orphans and drift visible. */
  list(call: Call): AsyncIterable<readonly O[]>;
  /** Where one group can be read more cheaply than by listing: by facts remembered, by name, by an id to adopt. */
  observe?(group: string, members: readonly DesiredLoadBalancer<A>[], call: Call): Promise<O | undefined>;
  /**
   * Pure. No steps means converged. Members that end carry `ending`; no members and something observed means that
   * everything of the group goes. A provider without sharing gets exactly one member or none.
   */
  plan(members: readonly DesiredLoadBalancer<A>[], observed: O | undefined, inputs: Inputs): Plan<S>;
  apply(step: S, call: Call): Promise<StepOutcome>;
  /** Pure. The status of one member, given what is there. */
  publish(member: DesiredLoadBalancer<A>, observed: O | undefined): Publication;
  readonly limits?: {
    readonly targets?: number;
    readonly ports?: number;
  };
  /** How long connections are left to finish before a target is removed; absent where the cloud drains by itself. */
  readonly drain?: Milliseconds;
  /** Pure. Problems of a wish that a settings table cannot express (port clashes, families), for admission and events. */
  check?(members: readonly DesiredLoadBalancer<A>[]): readonly Problem[];
}
