// Every event and problem that the route controller reports, as a function of the related objects. Pure; messages marked
// "upstream" are verbatim. `table` is the name of the table, if the cloud has several; `range` contains the name.

import { isAccountWide } from "../../cloud/error-policies.ts";
import type { Cidr, Milliseconds } from "../../core/brand.ts";
import { goDuration } from "../../core/duration.ts";
import { promiseOf, textOf } from "../../core/error-message.ts";
import type { Problem } from "../../core/problem.ts";
import { shortList } from "../../core/text.ts";
import type { DesiredRoute, ObservedRoute } from "../../provider/routes.ts";
import { problemOfError } from "../classify-error.ts";
import { type Held, whyHeld } from "../kernel/doubt.ts";
import { removalWindowText } from "../kernel/removal-kinds.ts";
import { inTable, type TableName } from "./tables.ts";

export function invalidPodCIDR(range: string): Problem {
  const text = `spec.podCIDRs contains ${JSON.stringify(range)}, which is not an address range such as 10.244.1.0/24. No route is created for it.`;
  const remedy = `Check the component that allocates pod CIDRs.`;
  return { severity: "error", reason: "InvalidPodCIDR", text, remedy };
}

export function podCIDROutsideCluster(range: Cidr, clusterCIDRs: readonly Cidr[]): Problem {
  const text = `Pod CIDR ${range} is outside --cluster-cidr=${clusterCIDRs.join(",")}. No route is created for it.`;
  const remedy = `If the range is correct, extend --cluster-cidr.`;
  return { severity: "error", reason: "PodCIDROutsideCluster", text, remedy };
}

export function podCIDRTaken({ destination }: DesiredRoute, winner: DesiredRoute): Problem {
  const text = `Pod CIDR ${destination} is also assigned to Node ${winner.target.node}, which gets the route. No route to this Node is created.`;
  const remedy = `Register one of the Nodes again with another pod CIDR.`;
  return { severity: "error", reason: "PodCIDRTaken", text, remedy };
}

/** The instance belongs to no table, for example because its network or region is not configured. */
export function noRouteTable({ destination, target: { machine } }: DesiredRoute): Problem {
  const text = `No route table of the cloud serves the instance of this Node (in ${machine?.source}). No route is created for pod CIDR ${destination}.`;
  const remedy = `Configure the route table of its network, or attach the instance to a network that has one.`;
  return { severity: "error", reason: "NoRouteTable", text, remedy };
}

export function routeTaken(
  { destination }: DesiredRoute,
  { handle, ownership }: ObservedRoute,
  table: TableName,
): Problem {
  const owner =
    ownership === "foreign"
      ? "is not managed by Fairlead"
      : "may belong to a Node that Fairlead leaves alone";
  const text = `No route is created for ${destination}: the cloud has a route for it (${handle})${inTable(table)} that leads elsewhere and ${owner}.`;
  const remedy = `Remove that route, or register the Node again with another pod CIDR.`;
  return { severity: "error", reason: "RouteTaken", text, remedy };
}

export function instanceNotVisible(node: string): Problem {
  const text = `The cloud shows no instance for Node ${node}, so its pod CIDRs get no route. Fairlead keeps checking.`;
  const remedy = `If this persists, compare the Node's name and provider ID with the cloud's.`;
  return { severity: "error", reason: "RouteWaitsForMachine", text, remedy };
}

/** Upstream's message. */
export function createFailed(
  { destination, target }: DesiredRoute,
  took: Milliseconds,
  error: unknown,
  table: TableName,
): Problem {
  const text = `Could not create route ${target.uid} ${destination} for node ${target.node}${inTable(table)} after ${goDuration(took)}: ${textOf(error)}`;
  const cause = problemOfError(error)?.reason;
  return {
    severity: "error",
    reason: "FailedToCreateRoute",
    text,
    promise: promiseOf(error),
    cause,
    isQuiet: isAccountWide(error),
  };
}

export function removeFailed(
  { destination, handle }: ObservedRoute,
  error: unknown,
  table: TableName,
): Problem {
  const text = `Could not remove route ${destination} (${handle})${inTable(table)}, which no Node needs; will retry: ${textOf(error)}`;
  return { severity: "warning", reason: "FailedToRemoveRoute", text, promise: promiseOf(error) };
}

/** The result of a change that the cloud has accepted but not completed is unknown. */
export function changeUnknown(action: "create" | "remove", range: string, error: unknown): Problem {
  const text = `Could not check whether the cloud has ${action}d route ${range}; will check again: ${textOf(error)}`;
  return { severity: "warning", reason: "RouteUnknown", text, promise: promiseOf(error) };
}

/** `isAccepted`: the cloud is processing this change. Otherwise it is processing another change, and accepts one at a time. */
export function routeUnfinished(range: string, isAccepted: boolean): Problem {
  const text = isAccepted
    ? `The cloud has accepted the route for pod CIDR ${range}, and may still work on it. Fairlead asks until it is done.`
    : `The route for pod CIDR ${range} is created after the change that the cloud works on now.`;
  return { severity: "wait", reason: "RouteInProgress", text };
}

export function routeUnproved(range: string, confirmAfter: Milliseconds): Problem {
  const text = `No listing shows the route for pod CIDR ${range}, which existed, or which an earlier request may have created, perhaps one of a former leader. It is created if a listing lacks it ${goDuration(confirmAfter)} later too.`;
  return { severity: "wait", reason: "RouteMissing", text };
}

export interface HeldRoute {
  readonly destination: Cidr;
  /**
   * The absent object. `node`: no Node needs the route. `table`: the table does not serve the Node. `route`: no listing shows
   * the route that a Node needs.
   */
  readonly absent: "node" | "table" | "route";
}

export function massRouteRecreationHeld(range: string, howToRelease: string): Problem {
  const text = `The cloud lists no route for pod CIDR ${range}, which had one, and the routes of too many other Nodes are missing too. Fairlead treats this as a cloud fault and does not recreate the route.`;
  const remedy = `To create all held routes anyway: ${howToRelease}`;
  // The log has a single line about the hold for all Nodes.
  return { severity: "warning", reason: "MassRouteRecreationHeld", text, remedy, isQuiet: true };
}

/** `count`: how often the route was created. */
export function routeCreatedButNotListed(range: string, count: number): Problem {
  const text = `Fairlead sent ${count} requests to create the route for pod CIDR ${range}, and no listing shows it, so it is not created again until a listing does.`;
  const remedy = `Check in the cloud whether the route exists, and that the credential, project, network and filter of the cloud configuration show it to Fairlead; delete what is not needed. To create it once more, release held routes on the Lease (fairlead.dev/release-hold=routes).`;
  return { severity: "error", reason: "RouteCreatedButNotListed", text, remedy };
}

const causeOf: Readonly<Record<HeldRoute["absent"], (count: number) => string>> = {
  node: (count) =>
    `the Nodes of ${count} routes vanished from the API server without a deletion that this process saw`,
  table: (count) => `the table no longer serves the Nodes of ${count} routes`,
  route: (count) => `the cloud no longer lists ${count} routes that Nodes need`,
};

export function massRouteChangeHeld(held: readonly HeldRoute[], doubt: Held, table: TableName): Problem {
  const { recent, absent, vanished, total, howToRelease } = doubt;
  const causes = (["node", "table", "route"] as const).flatMap((what) => {
    const count = held.filter((one) => one.absent === what).length;
    return count === 0 ? [] : causeOf[what](count);
  });
  const before =
    recent === 0
      ? ""
      : `, and ${recent} ${recent === 1 ? "was" : "were"} removed or created again in the last ${removalWindowText}`;
  return {
    severity: "hold",
    reason: "MassRouteChangeHeld",
    // Reported once while it lasts, whatever the numbers are.
    identity: "",
    text: `Of ${total} routes${inTable(table)}, ${absent + vanished} are affected by something absent: ${causes.join(", and ")}${before}${whyHeld(doubt, "a fault")}, so none of these routes is removed or created again (${shortList(held.map(({ destination }) => destination).toSorted(), 200)}). Routes of other Nodes are not affected.`,
    remedy: `To change them anyway: ${howToRelease}`,
  };
}

export function listFailed(error: unknown, table: TableName): Problem {
  const what =
    table === undefined
      ? "Could not list the cloud's routes. No route is created or removed until a listing succeeds"
      : `Could not list the routes of table ${table}. None of its routes is created or removed until a listing succeeds; other tables are not affected`;
  const cause = problemOfError(error)?.reason;
  return {
    severity: "error",
    reason: "RoutesUnknown",
    text: `${what}: ${textOf(error)}`,
    promise: promiseOf(error),
    cause,
  };
}

/** A sync that was interrupted by something other than a cloud response, which is reported for each route. */
export function syncFailed(error: unknown, table: TableName): Problem {
  const text = `The cloud's routes${inTable(table)} were listed, but reconciling them failed; will retry: ${textOf(error)}`;
  return { severity: "error", reason: "RoutesUnfinished", text, promise: promiseOf(error) };
}

export function familyUnsupported(family: string): Problem {
  const text = `The cloud does not support ${family} routes. ${family} pod CIDRs get no route, and the NetworkUnavailable condition does not cover them.`;
  return { severity: "warning", reason: "RouteFamilyUnsupported", text };
}

/** The share of the table's limit above which a warning is reported. */
const nearLimit = 0.8;

/**
 * `count`: the number of routes after the planned changes, including foreign routes. This is only a warning; the cloud
 * itself rejects routes beyond the limit.
 */
export function tableNearLimit(
  count: number,
  limit: number | undefined,
  table: TableName,
): readonly Problem[] {
  if (limit === undefined || limit <= 0 || count < limit * nearLimit) return [];
  // The text contains no count, because every new Node would cause another report. A metric has the count.
  const text = `The cloud's route table${table === undefined ? "" : ` ${table}`} is at least ${Math.round(nearLimit * 100)}% full (limit: ${limit}), so new Nodes may soon get no route.`;
  const remedy = `Remove unused routes or request a higher limit.`;
  return [{ severity: "warning", reason: "RouteTableNearLimit", text, remedy }];
}
