// The inputs of load balancer plans: the desired and the observed load balancer, and the operator's settings. Pure.

import {
  changedTargets,
  type DesiredLoadBalancer,
  nodesByMachine,
  type ObservedLoadBalancer,
  type Values,
} from "#ccm";
import type { ApiClassicAttributes, ApiClassicBalancer, ApiInstanceHealth } from "../api/elb.ts";
import type { ApiBalancer, ApiListener, ApiTargetGroup, ApiTargetHealth } from "../api/elbv2.ts";
import type { ApiSecurityGroup } from "../api/resources.ts";
import type { Settings } from "../settings.ts";
import { type Annotations, otherTypes } from "./annotations.ts";
import type { Tags } from "./balancer-names.ts";
import type { Network } from "./subnets.ts";

export type Desired = DesiredLoadBalancer<Annotations>;

/** A target group of a Service. */
export interface ObservedTargetGroup extends ApiTargetGroup {
  /** Whether the group has the tags of the Service. Other groups are never changed. */
  readonly isOwn: boolean;
}

/** A classic or a network load balancer, or the remains of one. */
export interface Observed extends ObservedLoadBalancer {
  readonly lb: string;
  readonly tags: Tags;
  readonly classic?: ApiClassicBalancer | undefined;
  readonly network?: ApiBalancer | undefined;
  /** The security groups of the cluster; in-depth reads add the groups of the targets' Nodes. */
  readonly groups: readonly ApiSecurityGroup[];
  /** The ids of security groups that other load balancers use. */
  readonly usedGroups: ReadonlySet<string>;
  /** By port: the ARNs of the cluster's network load balancers whose health checks use this port explicitly. */
  readonly checkers: ReadonlyMap<string, readonly string[]>;
  /** The names of network load balancers without the tag of this cluster. */
  readonly foreign: ReadonlySet<string>;
  /** The target groups that are attached to the load balancer, or to nothing. */
  readonly targetGroups: readonly ObservedTargetGroup[];
  readonly inDepth?: InDepth | undefined;
  /** The health of a classic load balancer's instances; read only on a user's request. */
  readonly instanceHealth?: readonly ApiInstanceHealth[];
}

/** Data that listings do not include. */
export interface InDepth {
  /** The security groups that are not in listings. */
  readonly further: readonly string[];
  readonly classicAttributes?: ApiClassicAttributes | undefined;
  readonly attributes?: ReadonlyMap<string, string> | undefined;
  readonly listeners: readonly ApiListener[];
  /** The targets by ARN of the target group. */
  readonly targets: Readonly<Record<string, readonly ApiTargetHealth[]>>;
  /** The attributes by ARN of the target group; only if the Service sets some. */
  readonly targetGroupAttributes: Readonly<Record<string, ReadonlyMap<string, string>>>;
}

/** The operator's settings, with the value of --cluster-name. */
export type BalancerSettings = Settings & { readonly cluster: string };

export interface PlanInput {
  readonly operator: BalancerSettings;
  readonly network: Network;
}

export const isNetwork = ({ settings }: Pick<Desired, "settings">): boolean => settings.type === "nlb";

/** Whether the AWS Load Balancer Controller serves the Service. */
export const isOthers = ({ settings }: Pick<Desired, "settings">): boolean =>
  otherTypes.some((one) => one === settings.type);

/** The security groups from the annotation or the operator's setting. */
export function givenGroups(
  { settings }: Pick<Desired, "settings">,
  operator: BalancerSettings,
): readonly string[] {
  const named = settings["security-groups"] ?? [];
  const ofOperator = isNetwork({ settings }) ? undefined : operator["elb-security-group"];
  return named.length > 0 || ofOperator === undefined ? named : [ofOperator];
}

/** Whether Fairlead creates a security group for the load balancer because none is given. */
export function managesGroup(desired: Pick<Desired, "settings">, operator: BalancerSettings): boolean {
  const isManaged = !isNetwork(desired) || operator["nlb-security-group-mode"] === "Managed";
  return isManaged && givenGroups(desired, operator).length === 0;
}

/** The client ranges of one address family. */
export function rangesOf({ sourceRanges }: Desired, family: "IPv4" | "IPv6"): readonly string[] {
  if (sourceRanges === undefined) return [family === "IPv4" ? "0.0.0.0/0" : "::/0"];
  return sourceRanges.filter((range) => range.includes(":") === (family === "IPv6"));
}

/** Ports without a node port are omitted, because AWS forwards to instances. */
export function servedPorts({ ports }: Pick<Desired, "ports">) {
  return ports.flatMap(({ nodePort, ...port }) => (nodePort === undefined ? [] : { ...port, nodePort }));
}

/** Whether the Service requests TLS on this port. */
export function hasTLS(
  { settings }: Pick<Desired, "settings">,
  { port, name = "", protocol }: Desired["ports"][number],
): boolean {
  const { "ssl-cert": [certificate] = [], "ssl-ports": ports = ["*"] } = settings;
  if (certificate === undefined || protocol !== "TCP") return false;
  return (
    ports.length === 0 ||
    ports.includes("*") ||
    ports.includes(String(port)) ||
    (name !== "" && ports.includes(name))
  );
}

export const instanceIDs = ({ targets }: Desired): readonly string[] =>
  [...new Set(targets.flatMap(({ machine }) => machine?.key ?? []))].toSorted();

export const nodesOf = ({ targets }: Desired) => nodesByMachine(targets);

/** The target changes of a step that replaces these instances with the desired targets. */
export const replaced = (desired: Desired, ids: readonly string[]) => changedTargets(nodesOf(desired), ids);

/** The type, and the settings that AWS accepts only at creation, as on the existing load balancer. */
export function settingsOf({ classic, network }: Observed): Partial<Values<Annotations>> {
  if (classic === undefined && network === undefined) return {};
  const scheme = network?.Scheme ?? classic?.Scheme;
  const addresses = (network?.AvailabilityZones ?? []).flatMap(({ LoadBalancerAddresses: all }) =>
    (all ?? []).flatMap((one) => one ?? []),
  );
  const listed = (values: readonly (string | null | undefined)[]) =>
    new Map(values.flatMap((one) => (one ? [[one, ""] as const] : [])));
  return {
    type: network === undefined ? "classic" : "nlb",
    internal: scheme === "internal",
    "eip-allocations": listed(addresses.map((one) => one.AllocationId)),
    "private-ipv4-addresses": listed(addresses.map((one) => one.PrivateIPv4Address)),
  };
}
