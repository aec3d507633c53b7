// The targets of a load balancer: cloud servers by id, dedicated servers by address. Pure.

import { applicable, type BalancerTarget, diffByKey, ipFamily, type Problem, warningProblem } from "#ccm";
import type { Choices } from "./balancer.ts";
import type { ApiTarget } from "./resources.ts";
import { robotSource } from "./robot.ts";
import { reasons } from "./settings.ts";

/** A target with the Node that it stands for. */
export interface TargetSpec {
  readonly node: string;
  readonly target: ApiTarget;
}

type TargetChoices = Pick<Choices, "usesPrivateIP" | "readsRobot">;

/** Why the load balancer cannot reach a Node. */
export function reach(
  { usesPrivateIP, readsRobot }: TargetChoices,
  { machine }: BalancerTarget,
): true | string {
  if (machine?.source === robotSource && !readsRobot && !usesPrivateIP) {
    return "the public addresses of dedicated servers are unknown without ROBOT_USER and ROBOT_PASSWORD, and use-private-ip is off";
  }
  const handles = machine?.handles;
  if (machine === undefined || handles === undefined) return true;
  if (machine.source === robotSource) {
    return handles["ip"] !== undefined || usesPrivateIP ? true : "they have no public IPv4 address";
  }
  if (!usesPrivateIP) return handles["public-ip"] !== undefined ? true : "they have no public IPv4 address";
  return handles["private-ip"] !== undefined
    ? true
    : "they are not attached to the private network of the cluster";
}

function toTarget(
  target: BalancerTarget,
  { usesPrivateIP, readsRobot }: TargetChoices,
): ApiTarget | undefined {
  const { machine } = target;
  if (machine === undefined) return undefined;
  if (machine.source !== robotSource) {
    return { type: "server", server: { id: Number(machine.key) }, use_private_ip: usesPrivateIP };
  }
  const privateIP = usesPrivateIP ? target.internalIPs[0] : undefined;
  const ip = privateIP ?? (readsRobot ? publicIPv4(target) : undefined);
  return ip === undefined ? undefined : { type: "ip", ip: { ip } };
}

/** While Robot has not answered, or no longer lists the server, the address that its Node has. */
function publicIPv4({ machine, addresses, internalIPs }: BalancerTarget): string | undefined {
  if (machine?.handles !== undefined) return machine.handles["ip"];
  return addresses.find((ip) => ipFamily(ip) === "IPv4" && !internalIPs.includes(ip));
}

/** Dedicated servers with a public address that is not known now. */
function withoutKnownAddress(
  targets: readonly BalancerTarget[],
  { usesPrivateIP, readsRobot }: TargetChoices,
): readonly BalancerTarget[] {
  return targets.filter(
    (target) =>
      readsRobot &&
      target.machine?.source === robotSource &&
      target.machine.handles === undefined &&
      toTarget(target, { usesPrivateIP, readsRobot }) === undefined,
  );
}

function keyOf({ type, server, ip, label_selector }: ApiTarget): string {
  if (type === "server") return `server ${server?.id}`;
  return type === "ip" ? `ip ${ip?.ip}` : `selector ${label_selector?.selector}`;
}

/** One per server, even if several Nodes have its provider id. */
export function targetSpecs(
  targets: readonly BalancerTarget[],
  choices: TargetChoices,
): readonly TargetSpec[] {
  const specs = new Map<string, TargetSpec>();
  for (const one of targets) {
    const target = toTarget(one, choices);
    if (target === undefined || specs.has(keyOf(target))) continue;
    specs.set(keyOf(target), { node: one.node, target });
  }
  return [...specs.values()];
}

/**
 * Targets by label selector belong to no Node: a user added them, and they stay. While the address of a dedicated server is unknown,
 * every target by address may be the one of this server, and stays too.
 */
export function diffTargets(
  targets: readonly BalancerTarget[],
  choices: TargetChoices,
  observed: readonly ApiTarget[],
) {
  const isUnknown = withoutKnownAddress(targets, choices).length > 0;
  const desired = targetSpecs(targets, choices);
  const wanted = new Set(desired.map(({ target }) => keyOf(target)));
  const byNode = observed.filter(
    (target) =>
      target.type === "server" || (target.type === "ip" && (!isUnknown || wanted.has(keyOf(target)))),
  );
  return diffByKey<TargetSpec, ApiTarget>(desired, byNode, {
    keyOfDesired: ({ target }) => keyOf(target),
    keyOfObserved: keyOf,
    isSame: ({ target }, existing) =>
      target.type !== "server" || target.use_private_ip === (existing.use_private_ip === true),
  });
}

/** Dedicated servers that cannot be reached over the private network, although it was requested. */
export function targetProblems(
  targets: readonly BalancerTarget[],
  choices: TargetChoices,
): readonly Problem[] {
  const { usesPrivateIP, readsRobot } = choices;
  const unknown = withoutKnownAddress(targets, choices).map(({ node }) => node);
  const nodes = usesPrivateIP
    ? targets.filter(
        ({ machine, internalIPs }) => machine?.source === robotSource && internalIPs.length === 0,
      )
    : [];
  const addressUnknown = `The public address of these dedicated servers is unknown until Robot answers: ${unknown.join(", ")}. Until then they are not added as targets, and no target by address is removed. Nodes say why Robot does not answer; with use-private-ip, their InternalIP is used.`;
  const names = nodes.map(({ node }) => node).join(", ");
  const instead = readsRobot
    ? "They are reached by their public address."
    : "They are no targets, because their public addresses are unknown without ROBOT_USER and ROBOT_PASSWORD.";
  const notPrivate = `The private network is requested, but these dedicated servers have no InternalIP: ${names}. ${instead} Start their kubelets with --node-ip.`;
  return applicable(
    unknown.length > 0 && warningProblem(reasons.RobotAddressUnknown, addressUnknown),
    nodes.length > 0 && warningProblem(reasons.InternalIPNotConfigured, notPrivate),
  );
}
