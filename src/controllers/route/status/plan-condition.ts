// The condition NetworkUnavailable, word for word as upstream writes it, and only when its status or its reason is not
// what it should be. Pure.

import type { Condition, Node } from "../../../kube/objects.ts";

export const networkCondition = "NetworkUnavailable";

export function planNetworkCondition(
  node: Node,
  hasRoutes: boolean,
  now: number,
): (Condition & { readonly lastHeartbeatTime: string }) | undefined {
  const wanted = hasRoutes
    ? { status: "False", reason: "RouteCreated", message: "RouteController created a route" }
    : { status: "True", reason: "NoRouteCreated", message: "RouteController failed to create a route" };
  const present = node.status.conditions?.find(({ type }) => type === networkCondition);
  if (present?.status === wanted.status && present.reason === wanted.reason) return undefined;
  const time = `${new Date(now).toISOString().slice(0, 19)}Z`;
  return { type: networkCondition, ...wanted, lastTransitionTime: time, lastHeartbeatTime: time };
}
