// The inputs of load balancer plans: the desired and the observed load balancer, and single steps. Pure.

import {
  type DesiredLoadBalancer,
  type JsonRequest,
  type ObservedLoadBalancer,
  parseIp,
  type Step,
  seconds,
  type Values,
  withOperatorDefaults,
} from "#ccm";
import { annotations } from "./annotations.ts";
import { isOfServices, ownPart, portMarksOf } from "./marks.ts";
import type { ApiCertificate, ApiLoadBalancer, ApiService } from "./resources.ts";
import { healthCheckDefaults, type Settings } from "./settings.ts";

export type Annotations = typeof annotations;
export type Desired = DesiredLoadBalancer<Annotations>;

export interface Observed extends ObservedLoadBalancer {
  readonly balancer: ApiLoadBalancer;
}

/** Each step is one request. */
export interface HetznerStep extends Step {
  readonly request: JsonRequest;
  /** The object that the step adds or removes. The step is skipped if another Service has just done the same, or needs the target. */
  readonly target?: string | undefined;
  /** Removes the labels of this Service; the load balancer continues to exist without them. */
  readonly unmarks?: string | undefined;
  /**
   * The step is applied only while the load balancer has the labels that the plan saw: other Services may have joined or left since.
   * With a name only: while there is none of this name that it could share.
   */
  readonly whileMarked?:
    | Pick<ApiLoadBalancer, "id" | "labels" | "services">
    | { readonly name: string }
    | undefined;
}

/** The inputs of plans besides load balancers. */
export interface Prefetched {
  readonly networkID: number | undefined;
  readonly certificates: readonly ApiCertificate[];
}

type Own = Desired["settings"];

/**
 * Completed settings by the settings of the operator and of the Service, because several contract members
 * need them for each plan.
 */
const completed = new WeakMap<Settings, WeakMap<Own, Own>>();

/** Adds the operator's defaults. */
export function withDefaults<D extends Pick<Desired, "settings">>(desired: D, operator: Settings): D {
  const known = completed.get(operator) ?? new WeakMap<Own, Own>();
  completed.set(operator, known);
  const settings = known.get(desired.settings) ?? complete(desired.settings, operator);
  known.set(desired.settings, settings);
  return { ...desired, settings };
}

/** An empty value counts as unset. A location takes precedence over the default network zone. */
function complete(own: Own, operator: Settings): Own {
  const ignored = Object.fromEntries(
    healthCheckDefaults.flatMap((name) => ((operator[name] ?? 1) > 0 ? [] : [[name, undefined]])),
  );
  const all = withOperatorDefaults(annotations, own, { ...operator, ...ignored });
  const [type, location] = [all.type || undefined, all.location || undefined];
  const zone = (location === undefined ? all : own)["network-zone"] || undefined;
  const usesNetwork = all["use-private-ip"] ?? false;
  return { ...all, type, location, "network-zone": zone, "use-private-ip": usesNetwork };
}

/** The annotation values of an existing load balancer: an invalid annotation keeps them. */
type OwnSettings = Partial<Values<Annotations>>;

const choiceIn = <T extends string>(choices: readonly T[], text: string | undefined): T | undefined =>
  choices.find((choice) => choice === text);

/** Settings that a port has without annotations for health checks are undefined, because a value would make the check explicit. */
function settingsOfCheck(
  { protocol, destination_port, health_check }: ApiService,
  operator: Settings,
): OwnSettings {
  const { port, interval, timeout, retries, http } = health_check;
  const hasDefault = healthCheckDefaults.some((name) => (operator[name] ?? 0) > 0);
  const isOfPort = port === destination_port;
  const isImplicit = protocol !== "tcp" && health_check.protocol === "tcp" && isOfPort && !hasDefault;
  const times = isImplicit ? undefined : { interval: seconds(interval), timeout: seconds(timeout), retries };
  return {
    "health-check-protocol": choiceIn(["tcp", "http", "https"], health_check.protocol),
    "health-check-port": isOfPort ? undefined : port,
    "health-check-interval": times?.interval,
    "health-check-timeout": times?.timeout,
    "health-check-retries": times?.retries,
    "health-check-http-validate-certificate": http?.tls,
  };
}

/** All ports have the same settings. */
function settingsOfPort(service: ApiService, operator: Settings): OwnSettings {
  const { protocol, proxyprotocol, http } = service;
  const timeout = http?.timeout_idle;
  const lifetime = http?.cookie_lifetime;
  return {
    protocol: choiceIn(["tcp", "http", "https"], protocol) ?? "tcp",
    "uses-proxyprotocol": proxyprotocol,
    "http-sticky-sessions": http?.sticky_sessions,
    "http-redirect-http": http?.redirect_http,
    "http-cookie-lifetime": lifetime === undefined ? undefined : seconds(lifetime),
    "http-timeout-idle": timeout === undefined ? undefined : seconds(timeout),
    ...settingsOfCheck(service, operator),
  };
}

/**
 * Settings that decide only which addresses are published. Until an address is published, their values are
 * unknown.
 */
function settingsOfStatus(
  { public_net: { ipv6 }, private_net }: ApiLoadBalancer,
  published: readonly string[],
): OwnSettings {
  if (published.length === 0) return {};
  const shown = new Set(published.map((text) => parseIp(text, "sloppy")));
  const isShown = (text: string | null | undefined) => shown.has(parseIp(text ?? "", "sloppy"));
  return {
    "ipv6-disabled": !isShown(ipv6.ip),
    "disable-private-ingress":
      private_net.length === 0 ? undefined : !private_net.some(({ ip }) => isShown(ip)),
  };
}

export function settingsOf(
  { balancer, owners: [uid] }: Observed,
  operator: Settings,
  published: readonly string[],
): OwnSettings {
  const { algorithm, public_net, private_net, services, targets } = ownPart(balancer, uid);
  const [port] = services;
  const isOwn = isOfServices(balancer.labels);
  // The cloud does not return the subnet. It matters only when the load balancer is attached to the network.
  const needsSubnet = private_net.length === 0 && operator.network !== undefined;
  return {
    shared: portMarksOf(balancer).find((mark) => mark.uid === uid)?.scope,
    "algorithm-type": choiceIn(["round_robin", "least_connections"], algorithm.type),
    "disable-public-network": !public_net.enabled,
    "use-private-ip": targets.find((one) => one.type === "server" && isOwn(one))?.use_private_ip,
    "private-ipv4": parseIp(private_net[0]?.ip ?? ""),
    ...(needsSubnet ? {} : { "private-subnet-ip-range": undefined }),
    ...settingsOfStatus(balancer, published),
    ...(port === undefined ? {} : settingsOfPort(port, operator)),
  };
}
