// The targets of a load balancer: cloud servers by id, dedicated servers by address. Pure.

import {
  applicable,
  type BalancerTarget,
  diffByKey,
  ipFamily,
  type ProviderProblem,
  type TargetCheck,
  warningProblem,
} from "#ccm";
import type { Desired } from "./balancer.ts";
import type { ApiLoadBalancer, ApiTarget } from "./resources.ts";
import { robotSource } from "./robot.ts";
import { reasons } from "./settings.ts";

/** A target with the Node that it stands for. */
export interface TargetSpec {
  readonly node: string;
  readonly target: ApiTarget;
}

const isDedicated = ({ machine }: BalancerTarget): boolean => machine?.source === robotSource;

/** Why the load balancer cannot reach a Node. `readsRobot`: the public addresses of dedicated servers can be read. */
export function reach(
  { settings }: Pick<Desired, "settings">,
  target: BalancerTarget,
  readsRobot: boolean,
): true | string {
  const usesNetwork = settings["use-private-ip"] === true;
  const handles = target.machine?.handles;
  if (isDedicated(target)) {
    if (usesNetwork) return true;
    if (!readsRobot)
      return "the public addresses of dedicated servers are unknown without ROBOT_USER and ROBOT_PASSWORD, and use-private-ip is off";
    return handles === undefined || handles["ip"] !== undefined || "they have no public IPv4 address";
  }
  if (handles === undefined) return true;
  if (!usesNetwork) return handles["public-ip"] !== undefined || "they have no public IPv4 address";
  return handles["private-ip"] !== undefined || "they are not attached to the private network of the cluster";
}

function toTarget(target: BalancerTarget, usesNetwork: boolean, readsRobot: boolean): ApiTarget | undefined {
  const { machine } = target;
  if (machine === undefined) return undefined;
  if (!isDedicated(target))
    return { type: "server", server: { id: Number(machine.key) }, use_private_ip: usesNetwork };
  const privateIP = usesNetwork ? target.internalIPs[0] : undefined;
  const ip = privateIP ?? (readsRobot ? publicIPv4(target) : undefined);
  return ip === undefined ? undefined : { type: "ip", ip: { ip } };
}

/** The address of the Node, used while Robot has not answered or no longer lists the server. */
function publicIPv4({ machine, addresses, internalIPs }: BalancerTarget): string | undefined {
  if (machine?.handles !== undefined) return machine.handles["ip"];
  return addresses.find((ip) => ipFamily(ip) === "IPv4" && !internalIPs.includes(ip));
}

export function keyOf({ type, server, ip, label_selector }: ApiTarget): string {
  if (type === "server") return `server ${server?.id}`;
  return type === "ip" ? `ip ${ip?.ip}` : `selector ${label_selector?.selector}`;
}

/** The targets that the load balancer needs. */
export interface WantedTargets {
  /** One target per server, even if several Nodes have its provider id. */
  readonly specs: readonly TargetSpec[];
  /** Nodes of dedicated servers whose public address is currently unknown. */
  readonly unknown: readonly string[];
}

export function wantedTargets({ targets, settings }: Desired, readsRobot: boolean): WantedTargets {
  const specs = new Map<string, TargetSpec>();
  const unknown: string[] = [];
  for (const one of targets) {
    const target = toTarget(one, settings["use-private-ip"] === true, readsRobot);
    const key = target && keyOf(target);
    if (target !== undefined && key !== undefined) {
      if (!specs.has(key)) specs.set(key, { node: one.node, target });
    } else if (readsRobot && isDedicated(one) && one.machine?.handles === undefined) unknown.push(one.node);
  }
  return { specs: [...specs.values()], unknown };
}

/**
 * Targets by label selector belong to no Node: a user added them, so they stay. While the address of a dedicated server is
 * unknown, any target by address may be this server, so all of them stay.
 */
export function diffTargets({ specs, unknown }: WantedTargets, observed: readonly ApiTarget[]) {
  const wanted = new Set(specs.map(({ target }) => keyOf(target)));
  const byNode = observed.filter(
    (target) =>
      target.type === "server" ||
      (target.type === "ip" && (unknown.length === 0 || wanted.has(keyOf(target)))),
  );
  return diffByKey<TargetSpec, ApiTarget>(specs, byNode, {
    keyOfDesired: ({ target }) => keyOf(target),
    keyOfObserved: keyOf,
    isSame: ({ target }, existing) =>
      target.type !== "server" || target.use_private_ip === (existing.use_private_ip === true),
  });
}

/** By the id of its server, or each address that a dedicated server may have as a target. */
const keysOf = (target: BalancerTarget): readonly string[] =>
  isDedicated(target)
    ? [target.machine?.handles?.["ip"], ...target.addresses].map((ip) => `ip ${ip}`)
    : [`server ${target.machine?.key}`];

/** The health check results, for targets by Node and by label selector. */
export function targetChecks(
  wanted: readonly BalancerTarget[],
  { targets, services }: Pick<ApiLoadBalancer, "targets" | "services">,
): readonly TargetCheck[] {
  const nodes = new Map(wanted.flatMap((one) => keysOf(one).map((key) => [key, one.node] as const)));
  const ports = new Set(services.map(({ listen_port }) => listen_port));
  return targets
    .flatMap((target) =>
      target.type === "label_selector"
        ? (target.targets ?? []).map((one): ApiTarget => ({ ...one, type: "server" }))
        : target,
    )
    .flatMap((target) => {
      const key = keyOf(target);
      return (target.health_status ?? []).flatMap(({ listen_port: port, status }) =>
        port !== undefined && ports.has(port) && (status === "healthy" || status === "unhealthy")
          ? { target: nodes.get(key) ?? key, isHealthy: status === "healthy", text: `port ${port}` }
          : [],
      );
    });
}

/** Reports dedicated servers that cannot be reached over the private network, although the Service requests it. */
export function targetProblems(
  { targets, settings }: Desired,
  { unknown }: WantedTargets,
  readsRobot: boolean,
): readonly ProviderProblem[] {
  const nodes = targets.flatMap((target) =>
    settings["use-private-ip"] === true && isDedicated(target) && target.internalIPs.length === 0
      ? target.node
      : [],
  );
  const addressUnknown = `The public address of these dedicated servers is unknown until Robot answers: ${unknown.join(", ")}. Until then they are not added as targets, and no target by address is removed. Nodes say why Robot does not answer; with use-private-ip, their InternalIP is used.`;
  const instead = readsRobot
    ? "They are reached by their public address."
    : "They are not targets, because their public addresses are unknown without ROBOT_USER and ROBOT_PASSWORD.";
  const notPrivate = `The private network is requested, but these dedicated servers have no InternalIP: ${nodes.join(", ")}. ${instead} Start their kubelets with --node-ip.`;
  return applicable(
    unknown.length > 0 && warningProblem(reasons.RobotAddressUnknown, addressUnknown),
    nodes.length > 0 && warningProblem(reasons.InternalIPNotConfigured, notPrivate),
  );
}
