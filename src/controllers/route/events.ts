// Every event and problem that the route controller reports, as a function of the objects that it is about. Pure;
// messages marked "upstream" are upstream's, verbatim. `table` is the name of the table, if the cloud has several; `range` names it too.

import { isAccountWide } from "../../cloud/error-policies.ts";
import type { Cidr, Milliseconds } from "../../core/brand.ts";
import { defined } from "../../core/defined.ts";
import { goDuration } from "../../core/duration.ts";
import { messageOf } from "../../core/error-message.ts";
import type { Problem } from "../../core/problem.ts";
import { shortList } from "../../core/text.ts";
import type { DesiredRoute, ObservedRoute } from "../../provider/routes.ts";
import type { LimitedCounts } from "../absence/mass-limit.ts";
import { removalWindowText } from "../absence/removal-history.ts";
import type { Finding, ObjectEvent } from "../reporter.ts";
import { inTable, type TableName } from "./tables.ts";

// Problems of a Node's pod ranges and of the instance that they are routed to.

export function invalidPodCIDR(text: string): Problem {
  return {
    severity: "error",
    reason: "InvalidPodCIDR",
    text: `spec.podCIDRs contains ${JSON.stringify(text)}, which is not an address range such as 10.244.1.0/24. No route is created for it. Check the component that allocates pod CIDRs.`,
  };
}

export function podCIDROutsideCluster(range: Cidr, clusterCIDRs: readonly Cidr[]): Problem {
  return {
    severity: "error",
    reason: "PodCIDROutsideCluster",
    text: `Pod CIDR ${range} is outside --cluster-cidr=${clusterCIDRs.join(",")}. No route is created for it. If the range is correct, extend --cluster-cidr.`,
  };
}

export function podCIDRTaken({ destination }: DesiredRoute, winner: DesiredRoute): Problem {
  return {
    severity: "error",
    reason: "PodCIDRTaken",
    text: `Pod CIDR ${destination} is also assigned to Node ${winner.target.node}, which gets the route. No route to this Node is created. Register one of the Nodes again with another pod CIDR.`,
  };
}

/** The instance belongs to no table: a network or region that is not configured, for example. */
export function noRouteTable({ destination, target: { machine } }: DesiredRoute): Problem {
  return {
    severity: "error",
    reason: "NoRouteTable",
    text: `No route table of the cloud serves the instance of this Node (in ${machine?.source}). No route is created for pod CIDR ${destination}. Configure the route table of its network, or attach the instance to a network that has one.`,
  };
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
  return {
    severity: "error",
    reason: "RouteTaken",
    text: `No route is created for ${destination}: the cloud has a route for it (${handle})${inTable(table)} that leads elsewhere and ${owner}. Remove that route, or register the Node again with another pod CIDR.`,
  };
}

export function instanceNotVisible(node: string): ObjectEvent {
  return {
    type: "Warning",
    reason: "RouteWaitsForMachine",
    message: `The cloud shows no instance for Node ${node}, so its pod CIDRs get no route. Fairlead keeps checking. If this persists, compare the Node's name and provider ID with the cloud's.`,
  };
}

// Changes of single routes.

/** Upstream's message. */
export function createFailed(
  { destination, target }: DesiredRoute,
  took: Milliseconds,
  error: unknown,
  table: TableName,
): ObjectEvent {
  return {
    type: "Warning",
    reason: "FailedToCreateRoute",
    message: `Could not create route ${target.uid} ${destination} for node ${target.node}${inTable(table)} after ${goDuration(took)}: ${messageOf(error)}`,
    ...defined({ quiet: isAccountWide(error) ? (true as const) : undefined }),
  };
}

export function removeFailed(
  { destination, handle }: ObservedRoute,
  error: unknown,
  table: TableName,
): Problem {
  return {
    severity: "warning",
    reason: "FailedToRemoveRoute",
    text: `Could not remove route ${destination} (${handle})${inTable(table)}, which no Node needs; will retry: ${messageOf(error)}`,
  };
}

/** For a change that the cloud has accepted but not completed. */
export function changeUnknown(action: "create" | "remove", range: string, error: unknown): Problem {
  return {
    severity: "warning",
    reason: "RouteUnknown",
    text: `Could not check whether the cloud has ${action}d route ${range}; will check again: ${messageOf(error)}`,
  };
}

/** `isAccepted`: the cloud works on it. Otherwise it works on another change, and accepts one at a time. */
export function routeUnfinished(range: string, isAccepted: boolean): Finding {
  const text = isAccepted
    ? `The cloud has accepted the route for pod CIDR ${range}, and may still work on it. Fairlead asks until it is done.`
    : `The route for pod CIDR ${range} is created after the change that the cloud works on now.`;
  return { kind: "wait", reason: "RouteInProgress", text };
}

export function routeUnproved(range: string, confirmAfter: Milliseconds): Finding {
  const text = `No listing shows the route for pod CIDR ${range}, which existed, or which an earlier request may have created, perhaps one of a former leader. It is created if a listing lacks it ${goDuration(confirmAfter)} later too.`;
  return { kind: "wait", reason: "RouteMissing", text };
}

// Changes that the mass limit holds.

export interface HeldRoute {
  readonly destination: Cidr;
  /**
   * `node`: no Node needs the route any more. `table`: the table no longer serves the Node. `route`: no listing shows the route that
   * a Node needs.
   */
  readonly absent: "node" | "table" | "route";
}

export const massRouteRecreationReason = "MassRouteRecreationHeld";

export function massRouteRecreationHeld(range: string, howToRelease: string): Problem {
  return {
    severity: "warning",
    reason: massRouteRecreationReason,
    text: `The cloud lists no route for pod CIDR ${range}, which had one, and neither for too many others. That is treated as a cloud fault, so the route is not created again. To create all held routes anyway: ${howToRelease}`,
  };
}

/** `count`: how often it was created. */
export function routeCreatedButNotListed(range: string, count: number): Problem {
  return {
    severity: "error",
    reason: "RouteCreatedButNotListed",
    text: `Fairlead sent ${count} requests to create the route for pod CIDR ${range}, and no listing shows it, so it is not created again until a listing does. Check in the cloud whether the route exists, and that the credential, project, network and filter of the cloud configuration show it to Fairlead; delete what is not needed. To create it once more, release held routes on the Lease (fairlead.dev/release-hold=routes).`,
  };
}

export function massRouteChangeHeld(
  held: readonly HeldRoute[],
  { recent, affected, total }: LimitedCounts,
  allowed: number,
  howToRelease: string,
  table: TableName,
): ObjectEvent {
  const countOf = (which: HeldRoute["absent"]): number =>
    held.filter(({ absent }) => absent === which).length;
  const [lost, unneeded, unserved] = [countOf("route"), countOf("node"), countOf("table")];
  const causes = [
    ...(unneeded > 0
      ? [
          `the Nodes of ${unneeded} routes vanished from the API server without a deletion that this process saw`,
        ]
      : []),
    ...(unserved > 0 ? [`the table no longer serves the Nodes of ${unserved} routes`] : []),
    ...(lost > 0 ? [`the cloud no longer lists ${lost} routes that Nodes need`] : []),
  ];
  const before =
    recent === 0
      ? ""
      : `, and ${recent} ${recent === 1 ? "was" : "were"} removed or created again in the last ${removalWindowText}`;
  return {
    type: "Warning",
    reason: "MassRouteChangeHeld",
    // Reported once while it lasts, whatever the numbers.
    identity: "",
    message: `Of ${total} routes${inTable(table)}, ${affected} are affected by something absent: ${causes.join(", and ")}${before}. More than ${allowed} at once is treated as a fault, so none of these routes is removed or created again (${shortList(held.map(({ destination }) => destination).toSorted(), 200)}). Routes of other Nodes are not affected. To change them anyway: ${howToRelease}`,
  };
}

// Problems of the whole route table.

export function listFailed(error: unknown, table: TableName): Problem {
  const what =
    table === undefined
      ? "Could not list the cloud's routes. No route is created or removed until a listing succeeds"
      : `Could not list the routes of table ${table}. None of its routes is created or removed until a listing succeeds; other tables are not affected`;
  return { severity: "error", reason: "RoutesUnknown", text: `${what}: ${messageOf(error)}` };
}

/** For a sync that was interrupted for another reason than a response of the cloud, which is reported for each route. */
export function syncFailed(error: unknown, table: TableName): Problem {
  return {
    severity: "error",
    reason: "RoutesUnfinished",
    text: `The cloud's routes${inTable(table)} were listed, but reconciling them failed; will retry: ${messageOf(error)}`,
  };
}

export function familyUnsupported(family: string): Problem {
  return {
    severity: "warning",
    reason: "RouteFamilyUnsupported",
    text: `The cloud does not support ${family} routes. ${family} pod CIDRs get no route, and the NetworkUnavailable condition does not cover them.`,
  };
}

export interface TableFill {
  /** All routes in the table after the planned changes, including foreign ones. */
  readonly routes: number;
  readonly limit: number | undefined;
  readonly table?: TableName;
}

/** The share of the table's limit above which a warning is reported. */
const nearLimit = 0.8;

/** Only warns; the cloud itself refuses routes beyond the limit. */
export function tableNearLimit({ routes, limit, table }: TableFill): readonly Problem[] {
  if (limit === undefined || limit <= 0 || routes < limit * nearLimit) return [];
  return [
    {
      severity: "warning",
      reason: "RouteTableNearLimit",
      // The text has no count, because every new Node would cause another report. A metric has the count.
      text: `The cloud's route table${table === undefined ? "" : ` ${table}`} is at least ${Math.round(nearLimit * 100)}% full (limit: ${limit}), so new Nodes may soon get no route. Remove unused routes or request a higher limit.`,
    },
  ];
}
