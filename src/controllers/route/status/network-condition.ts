// Decides the NetworkUnavailable condition of every Node after a sync, with upstream's reasons and messages,
// verbatim. A condition stays as it is while too little is known about the Node's routes. Pure.

import { errorPolicies } from "../../../cloud/error-policies.ts";
import type { Condition, Node } from "../../../kube/objects.ts";
import { CloudError } from "../../../provider/errors.ts";
import type { DesiredRoute } from "../../../provider/routes.ts";
import { networkCondition } from "../../well-known.ts";
import type { ChangeOutcome, ChangeResult } from "../plan/changes.ts";
import type { RoutePlan } from "../plan/plan.ts";

/** Undefined when the Node already has this status and reason. */
export function planNetworkCondition(
  node: Node,
  hasRoutes: boolean,
  now: number,
): (Condition & { readonly lastHeartbeatTime: string }) | undefined {
  const desired = hasRoutes
    ? { status: "False", reason: "RouteCreated", message: "RouteController created a route" }
    : { status: "True", reason: "NoRouteCreated", message: "RouteController failed to create a route" };
  const present = node.status.conditions?.find(({ type }) => type === networkCondition);
  if (present?.status === desired.status && present.reason === desired.reason) return undefined;
  const time = `${new Date(now).toISOString().slice(0, 19)}Z`;
  return { type: networkCondition, ...desired, lastTransitionTime: time, lastHeartbeatTime: time };
}

/** The first failures are not reported if the next attempt usually succeeds. */
export function isTransient(error: unknown, failures: number): boolean {
  return CloudError.is(error) && errorPolicies[error.kind].audience === "none" && failures < 3;
}

/**
 * Whether each Node has its routes, by uid, because another Node may take the name. Nodes that are not decided yet
 * are omitted.
 */
export function decideNetworkConditions(
  plan: RoutePlan,
  results: readonly ChangeResult[],
  failuresOf: (route: DesiredRoute) => number,
  /** Whether the Node has a pod range that gets no route. */
  isIncomplete: (node: DesiredRoute["target"]["node"]) => boolean = () => false,
): ReadonlyMap<string, boolean> {
  const outcomes = new Map<DesiredRoute["destination"], ChangeOutcome>();
  for (const { change, outcome } of results) {
    if (change.do === "create") outcomes.set(change.route.destination, outcome);
  }
  const routes: readonly (readonly [DesiredRoute, boolean | undefined])[] = [
    ...plan.present.map((route) => [route, true] as const),
    ...plan.undecided.map((route) => [route, undefined] as const),
    ...plan.refused.map(({ route }) => [route, false] as const),
    ...plan.create.map(
      (route) => [route, isPresent(outcomes.get(route.destination), failuresOf(route))] as const,
    ),
  ];
  const decisions = new Map<string, boolean>();
  for (const [uid, routesOfNode] of Map.groupBy(routes, ([{ target }]) => target.uid)) {
    const hasAll = routesOfNode.every(
      ([{ target }, present]) => present === true && !isIncomplete(target.node),
    );
    if (routesOfNode.some(([, present]) => present === false)) decisions.set(uid, false);
    else if (hasAll) decisions.set(uid, true);
  }
  return decisions;
}

/** Whether a planned route is in the table now; undefined if that is not known yet. */
function isPresent(outcome: ChangeOutcome | undefined, failures: number): boolean | undefined {
  switch (outcome?.kind) {
    case "done":
    case "observed":
      return true;
    case "failed":
      return isTransient(outcome.error, failures) ? undefined : false;
    case "held":
      return false;
    case undefined:
    case "pending":
    case "fenced":
    case "waiting":
      return undefined;
  }
}
