// The inputs of load balancer plans: the desired and the observed load balancer, their marks, and single steps. Pure.

import {
  type BalancerTarget,
  type DesiredLoadBalancer,
  type DesiredWithoutTargets,
  type Facts,
  type JsonRequest,
  type MarkingService,
  type ObservedLoadBalancer,
  observedValues,
  ownersOfDefaultName,
  type Step,
  type Values,
} from "#ccm";
import { annotations, disown, keyOf } from "./annotations.ts";
import type { ApiCertificate, ApiLoadBalancer } from "./resources.ts";
import type { Settings } from "./settings.ts";
import { clusterTag, hasTag } from "./tags.ts";

export type Annotations = typeof annotations;
export type Desired = DesiredLoadBalancer<Annotations>;

export interface Observed extends ObservedLoadBalancer {
  readonly balancer: ApiLoadBalancer;
}

/** The inputs of plans besides load balancers. */
export interface Prefetched {
  readonly certificates: readonly ApiCertificate[];
}

/** Each step is one request. */
export interface DigitalOceanStep extends Step {
  readonly on: string;
  /** The id of the load balancer; absent while it is being created. */
  readonly id?: string;
  readonly request: JsonRequest;
  /** The facts that are stored on the Service when the step is done. */
  readonly remember?: Facts;
  /** The certificate that the load balancer must still have: DigitalOcean replaces a certificate when it renews it. */
  readonly certificate?: string | undefined;
  /** The Nodes of the targets, by id of the droplet. */
  readonly nodes?: Readonly<Record<string, string>>;
}

/** The annotations in which the Go manager stores facts. */
export const facts = {
  id: { annotation: "kubernetes.digitalocean.com/load-balancer-id" },
  type: { annotation: keyOf("type"), isSetting: true },
  certificate: { annotation: keyOf("certificate-id"), isSetting: true },
  disown: { annotation: disown, isSetting: true },
} as const;

/** Undefined if the annotation is invalid. */
export function isDisowned({ disown: text = "false" }: Facts): boolean | undefined {
  const parsed = annotations[disown].parse(text);
  return "value" in parsed ? parsed.value : undefined;
}

/** The name that the Go manager gives by default, and the id on the Service. A Service that disowns its load balancer has none. */
export function ownKeys({ defaultName, facts }: MarkingService): readonly string[] {
  const ids = facts["id"] === undefined ? [] : [`id ${facts["id"]}`];
  return isDisowned(facts) === true ? [] : [defaultName, ...ids];
}

const states: Readonly<Record<string, Observed["state"]>> = { active: "ready", errored: "failed" };

/** The tag names the cluster. Without a tag, only a Service records the owner. It never owns one of the type GLOBAL. */
export function toObserved(balancer: ApiLoadBalancer, tag: string | undefined): Observed {
  const { id, name, status, tags, type, ip, ipv6 } = balancer;
  const clusters = (tags ?? []).filter((one) => one.toLowerCase().startsWith(clusterTag));
  const isForeign = clusters.length > 0 && !hasTag(clusters, tag);
  const owners = ownersOfDefaultName(name);
  return {
    owners,
    name: `${name} (${id})`,
    balancer,
    keys: type === "GLOBAL" ? [] : [name, `id ${id}`],
    addresses: [ip, ipv6].flatMap((address) => address || []),
    ownership: isForeign ? "foreign" : owners.length > 0 ? "ours" : "unmarked",
    ...(isForeign && { cluster: clusters[0]?.slice(clusterTag.length) }),
    state: states[status] ?? "changing",
  };
}

/** A Service may adopt a load balancer by id, or by name if the load balancer serves this cluster or has no targets. */
export function adopts(desired: Desired, { balancer }: Observed, tag: string | undefined): boolean {
  const { settings, facts, targets } = desired;
  if (facts["id"] !== undefined) return facts["id"] === balancer.id;
  if (balancer.name !== settings.name) return false;
  const droplets = balancer.droplet_ids ?? [];
  const isTagged = hasTag(balancer.tags, tag);
  const isOwn = targets.some(({ machine }) => droplets.includes(Number(machine?.key)));
  return isTagged || isOwn || (droplets.length === 0 && !balancer.tag);
}

export const typeOf = ({ settings }: Pick<Desired, "settings">, operator: Settings): string =>
  settings.type ?? operator["default-lb-type"];

/** Why the load balancer cannot reach a Node. */
export function reach(
  member: DesiredWithoutTargets<Annotations>,
  { machine }: BalancerTarget,
  observed: Observed | undefined,
  operator: Settings,
): true | string {
  const handles = machine?.handles;
  if (handles === undefined) return true;
  const region = observed?.balancer.region?.slug ?? operator.region;
  if (region !== undefined && handles["region"] !== region) return `they are not in region ${region}`;
  if (member.settings.network === "INTERNAL") return true;
  const isPrivate = handles["ipv4"] === undefined && handles["ipv6"] === undefined;
  const isReached = handles["ipv4"] !== undefined || (isPrivate && typeOf(member, operator) === "REGIONAL");
  return isReached || "they have no public IPv4 address";
}

const groups = { "healthcheck-": "health_check", "sticky-sessions-": "sticky_sessions" } as const;
const protocolLists = { "http-ports": "http", "tls-ports": "https", "http2-ports": "http2" } as const;

/** Annotations and members of the API have the same names, except annotations that are read only as lists. */
function textIn(name: string, balancer: ApiLoadBalancer): unknown {
  const { firewall, forwarding_rules } = balancer;
  if (name === "allow-rules" || name === "deny-rules")
    return firewall?.[name === "allow-rules" ? "allow" : "deny"] ?? [];
  const protocol = protocolLists[name as keyof typeof protocolLists];
  if (protocol !== undefined)
    return forwarding_rules?.flatMap((rule) => (rule.entry_protocol === protocol ? rule.entry_port : []));
  const [prefix = "", group = ""] = Object.entries(groups).find(([start]) => name.startsWith(start)) ?? [];
  const members = group === "" ? balancer : ((balancer[group] ?? {}) as Readonly<Record<string, unknown>>);
  const member = name.slice(prefix.length).replaceAll("-", "_");
  return members[member] ?? members[`${member}_seconds`];
}

/** The annotation values of an existing load balancer: an invalid annotation keeps them. */
export function settingsOf({ balancer }: Observed): Partial<Values<Annotations>> {
  // The health check port is a node port in the API, and a Service port in the annotation.
  const { "healthcheck-port": _, ...readable } = annotations;
  return observedValues(readable, (name) => textIn(name, balancer));
}
