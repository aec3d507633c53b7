// What plans of load balancers work with: the desired and the observed load balancer, their marks, and single steps. Pure.

import {
  type BalancerTarget,
  type DesiredLoadBalancer,
  type DesiredWithoutTargets,
  type Facts,
  type MarkingService,
  type ObservedLoadBalancer,
  ownersOfDefaultName,
  type ServiceUID,
  type Step,
  type Values,
} from "#ccm";
import type { annotations } from "./annotations.ts";
import type { ApiCertificate, ApiLoadBalancer, BalancerPlace, BalancerSpec } from "./resources.ts";
import type { Settings } from "./settings.ts";

export type Annotations = typeof annotations;
export type Desired = DesiredLoadBalancer<Annotations>;
export type DesiredAlone = DesiredWithoutTargets<Annotations>;

const prefix = "service.beta.kubernetes.io/do-loadbalancer-";
export const annotation = (name: keyof Annotations & string): string =>
  name.includes("/") ? name : prefix + name;

const disown = "service.kubernetes.io/do-loadbalancer-disown";

/** Where the Go manager stores what it remembers. */
export const facts = {
  id: { annotation: "kubernetes.digitalocean.com/load-balancer-id" },
  type: { annotation: annotation("type"), isSetting: true },
  certificate: { annotation: annotation("certificate-id"), isSetting: true },
  disown: { annotation: disown, isSetting: true },
} as const;

export interface Observed extends ObservedLoadBalancer {
  readonly balancer: ApiLoadBalancer;
}

/** What plans need besides load balancers. */
export interface Prefetched {
  readonly certificates: readonly ApiCertificate[];
  /** Undefined if no region is set. */
  readonly regions: readonly string[] | undefined;
}

/** One change. */
export type DigitalOceanStep = Step & {
  readonly owner?: ServiceUID | undefined;
  /** Stored on the Service when the step is done. */
  readonly remember?: Facts;
} & (
    | { readonly do: "create load balancer"; readonly body: Body }
    | UpdateStep
    | { readonly do: "tag load balancer"; readonly id: string; readonly tag: string }
    | {
        readonly do: "adopt load balancer" | "follow certificate" | "delete load balancer";
        readonly id: string;
      }
  );

export type Body = Partial<BalancerPlace> & BalancerSpec;

export interface UpdateStep {
  readonly do: "update load balancer" | "rename load balancer" | "change targets";
  readonly id: string;
  readonly body: Body;
  /** The certificate that the load balancer had, if any: DigitalOcean replaces it when it renews it. */
  readonly certificate: string | undefined;
  /** The part of the body that changes only targets, if it does. */
  readonly targets?: Body;
}

const clusterTag = "k8s:";
export const tagOf = ({ "cluster-id": id }: Settings): string | undefined => id && clusterTag + id;
export const isDisowned = ({ settings }: Pick<Desired, "settings">): boolean => settings[disown];

/** The id on the Service, and the name that the Go manager gives by default. A Service that disowns its load balancer has none. */
export function ownKeys({
  defaultName,
  facts: { id, disown: value = "" },
}: MarkingService): readonly string[] {
  if (/^(1|t|true)$/i.test(value.trim())) return [];
  return id === undefined ? [defaultName] : [id, defaultName];
}

const states: Readonly<Record<string, Observed["state"]>> = { active: "ready", errored: "failed" };

/** The tag names the cluster. Without one, only a Service says what it belongs to. */
export function toObserved(balancer: ApiLoadBalancer, tag: string | undefined): Observed {
  const { id, name, status, tags } = balancer;
  const clusters = (tags ?? []).filter((one) => one.startsWith(clusterTag));
  const isForeign = clusters.length > 0 && (tag === undefined || !clusters.includes(tag));
  const owners = ownersOfDefaultName(name);
  const [group, ownership] = owners.length > 0 ? ([name, "ours"] as const) : ([id, "unmarked"] as const);
  return {
    group,
    owners,
    ownership: isForeign ? "foreign" : ownership,
    ...(isForeign && { cluster: clusters[0]?.slice(clusterTag.length) }),
    name: `${name} (${id})`,
    keys: [name, id],
    state: states[status] ?? "changing",
    balancer,
  };
}

/** A Service may adopt a load balancer by id or by name, if it serves this cluster or nothing. */
export function adopts(
  { settings, facts: { id }, targets }: Desired,
  { balancer }: Observed,
  tag: string | undefined,
): boolean {
  if (id !== undefined) return id === balancer.id;
  if (balancer.name !== settings.name) return false;
  const droplets = balancer.droplet_ids ?? [];
  const own = new Set(targets.flatMap(({ machine }) => (machine === undefined ? [] : Number(machine.key))));
  const isTagged = tag !== undefined && (balancer.tags ?? []).includes(tag);
  return isTagged || droplets.length === 0 || droplets.some((droplet) => own.has(droplet));
}

export const isNetwork = ({ type }: Pick<BalancerPlace, "type">): boolean => type === "REGIONAL_NETWORK";

export function typeOf({ settings }: Pick<Desired, "settings">, operator: Settings): string {
  return settings.type ?? operator["default-lb-type"] ?? "REGIONAL_NETWORK";
}

export const networkOf = ({ settings }: Pick<Desired, "settings">): string => settings.network ?? "EXTERNAL";

/** Why the load balancer cannot reach a Node. */
export function reach(
  member: DesiredAlone,
  { machine }: BalancerTarget,
  observed: Observed | undefined,
  operator: Settings,
): true | string {
  const handles = machine?.handles;
  if (handles === undefined) return true;
  const region = observed?.balancer.region?.slug ?? operator.region;
  if (region !== undefined && handles["region"] !== region) return `they are not in region ${region}`;
  if (networkOf(member) === "INTERNAL" || handles["ipv4"] !== undefined) return true;
  if (handles["ipv6"] === undefined && !isNetwork({ type: typeOf(member, operator) })) return true;
  return "they have no public IPv4 address";
}

type OwnSettings = Partial<Values<Annotations>>;
const portsOf = ({ forwarding_rules }: ApiLoadBalancer, protocol: string): readonly number[] =>
  (forwarding_rules ?? []).flatMap((rule) => (rule.entry_protocol === protocol ? rule.entry_port : []));
const choiceIn = <const T extends string>(choices: readonly T[], value: unknown): T | undefined =>
  choices.find((choice) => choice === value);

/** The annotations as an existing load balancer has them: an invalid annotation keeps this value. */
export function settingsOf({ balancer }: Observed): OwnSettings {
  const { health_check: check, sticky_sessions: sticky, firewall, size_unit: unit } = balancer;
  const values: { readonly [K in keyof OwnSettings]: OwnSettings[K] | null | undefined } = {
    name: balancer.name,
    type: choiceIn(["REGIONAL", "REGIONAL_NETWORK"], balancer.type),
    network: choiceIn(["EXTERNAL", "INTERNAL"], balancer.network),
    "network-stack": choiceIn(["IPV4", "DUALSTACK"], balancer.network_stack),
    "subnet-uuid": balancer.subnet_uuid,
    "size-unit": unit,
    "http-ports": portsOf(balancer, "http"),
    "tls-ports": portsOf(balancer, "https"),
    "http2-ports": portsOf(balancer, "http2"),
    "redirect-http-to-https": balancer.redirect_http_to_https,
    "disable-lets-encrypt-dns-records": balancer.disable_lets_encrypt_dns_records,
    "enable-proxy-protocol": balancer.enable_proxy_protocol,
    "enable-backend-keepalive": balancer.enable_backend_keepalive,
    "http-idle-timeout-seconds": balancer.http_idle_timeout_seconds,
    "sticky-sessions-type": choiceIn(["none", "cookies"], sticky?.type),
    "sticky-sessions-cookie-name": sticky?.cookie_name,
    "sticky-sessions-cookie-ttl": sticky?.cookie_ttl_seconds,
    "healthcheck-path": check?.path,
    "healthcheck-protocol": choiceIn(["tcp", "http", "https"], check?.protocol),
    "healthcheck-check-interval-seconds": check?.check_interval_seconds,
    "healthcheck-response-timeout-seconds": check?.response_timeout_seconds,
    "healthcheck-unhealthy-threshold": check?.unhealthy_threshold,
    "healthcheck-healthy-threshold": check?.healthy_threshold,
    "allow-rules": firewall?.allow ?? [],
    "deny-rules": firewall?.deny ?? [],
  };
  return Object.fromEntries(
    Object.entries(values).filter(([, value]) => value !== null && value !== undefined),
  );
}
