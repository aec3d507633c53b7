// The targets of a load balancer: cloud servers by id, dedicated servers by address. Pure.

import { type BalancerTarget, diffByKey, type Problem } from "#ccm";
import type { ApiTarget } from "../api/resources.ts";
import { reasons } from "../reasons.ts";
import { robotSource } from "../robot-servers.ts";
import type { Choices } from "./model.ts";

/** A target with the Node that it stands for. */
export interface TargetSpec {
  readonly node: string;
  readonly target: ApiTarget;
}

/** How many targets each type accepts. The API reports it for existing load balancers only. */
const limits: Readonly<Record<string, number>> = { lb11: 25, lb21: 75, lb31: 150 };

/** While the type changes, both limits hold. Unknown types are limited by the cloud. */
export function targetLimit(
  type: string | undefined,
  observed: { readonly max_targets: number } | undefined,
) {
  const ofType = type === undefined && observed !== undefined ? undefined : limits[type ?? "lb11"];
  const limit = Math.min(
    ofType ?? Number.POSITIVE_INFINITY,
    observed?.max_targets ?? Number.POSITIVE_INFINITY,
  );
  return Number.isFinite(limit) ? limit : undefined;
}

/** Why the load balancer cannot reach a Node. */
export function reach(
  { usesPrivateIP, readsRobot }: Pick<Choices, "usesPrivateIP" | "readsRobot">,
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
  return !usesPrivateIP || handles["private-ip"] !== undefined
    ? true
    : "they are not attached to the private network of the cluster";
}

function toTarget({ machine, internalIPs }: BalancerTarget, usesPrivateIP: boolean): ApiTarget | undefined {
  if (machine === undefined) return undefined;
  if (machine.source !== robotSource) {
    return { type: "server", server: { id: Number(machine.key) }, use_private_ip: usesPrivateIP };
  }
  const ip = (usesPrivateIP ? internalIPs[0] : undefined) ?? machine.handles?.["ip"];
  return ip === undefined ? undefined : { type: "ip", ip: { ip } };
}

export function targetSpecs(
  targets: readonly BalancerTarget[],
  usesPrivateIP: boolean,
): readonly TargetSpec[] {
  return targets.flatMap((one) => {
    const target = toTarget(one, usesPrivateIP);
    return target === undefined ? [] : { node: one.node, target };
  });
}

/** The way to reach a server is part of its key: a change removes the target and adds it again. */
function keyOf({ type, server, ip, label_selector, use_private_ip }: ApiTarget): string {
  if (type === "server") return `server ${server?.id} ${use_private_ip === true}`;
  return type === "ip" ? `ip ${ip?.ip}` : `selector ${label_selector?.selector}`;
}

/** Targets by label selector belong to no Node: a user added them, and they stay. */
export function diffTargets(desired: readonly TargetSpec[], observed: readonly ApiTarget[]) {
  const byNode = observed.filter(({ type }) => type !== "label_selector");
  return diffByKey<TargetSpec, ApiTarget>(desired, byNode, {
    keyOfDesired: ({ target }) => keyOf(target),
    keyOfObserved: keyOf,
    isSame: () => true,
  });
}

/** Dedicated servers that cannot be reached over the private network, although it was requested. */
export function targetProblems(
  targets: readonly BalancerTarget[],
  { usesPrivateIP, readsRobot }: Pick<Choices, "usesPrivateIP" | "readsRobot">,
): readonly Problem[] {
  const nodes = usesPrivateIP
    ? targets.filter(
        ({ machine, internalIPs }) => machine?.source === robotSource && internalIPs.length === 0,
      )
    : [];
  if (nodes.length === 0) return [];
  const names = nodes.map(({ node }) => node).join(", ");
  const instead = readsRobot
    ? "They are reached by their public address."
    : "They are no targets, because their public addresses are unknown without ROBOT_USER and ROBOT_PASSWORD.";
  const text = `The private network is requested, but these dedicated servers have no InternalIP: ${names}. ${instead} Start their kubelets with --node-ip.`;
  return [{ severity: "warning", reason: reasons.InternalIPNotConfigured, text }];
}
