// Routes to pod networks. The framework decides which routes should exist (only marked routes within --cluster-cidr); the
// provider lists, creates and removes them.

import type { Cidr, IpAddress, Milliseconds, NodeName } from "../core/brand.ts";
import type { Call } from "./call.ts";
import type { Machine } from "./instances.ts";
import type { Wait } from "./plan.ts";
import type { ProviderProblem } from "./reasons.ts";

/** The Node to which a route leads. */
export interface RouteTarget {
  readonly node: NodeName;
  readonly uid: string;
  /** Always known in a `DesiredRoute`, including the handles of the instance. */
  readonly machine?: Machine;
  /** All IP addresses of the Node, of any kind. */
  readonly addresses: readonly IpAddress[];
  /** The InternalIP addresses, in the Node's order: addresses in private networks. */
  readonly internalIPs: readonly IpAddress[];
}

/** A route that should exist. */
export interface DesiredRoute {
  readonly destination: Cidr;
  readonly target: RouteTarget;
}

/**
 * A route in the cloud. Set each `target…` member that the cloud reports: the route leads to a Node if all of them match. Without
 * any of them, it leads to no Node.
 */
export interface ObservedRoute {
  /** The cloud's id of the route: whatever `remove` needs. */
  readonly handle: string;
  readonly destination: Cidr;
  /** `Instance.key` of the target. */
  readonly targetKey?: string | undefined;
  /** Matches if it is one of the Node's addresses, in any spelling (`parseIp`). */
  readonly targetAddress?: IpAddress | undefined;
  /** The target is gone (a blackhole route). */
  readonly leadsNowhere?: boolean | undefined;
  /**
   * `marked`: has the cluster's mark. `unmarked`: the cloud's routes cannot have a mark, so `--cluster-cidr` decides. `foreign`:
   * never changed.
   */
  readonly ownership: "marked" | "unmarked" | "foreign";
  readonly problems?: readonly ProviderProblem[] | undefined;
}

/** A page of the route table. */
export interface RoutePage {
  readonly routes: readonly ObservedRoute[];
  /** Problems with the table as a whole. */
  readonly problems?: readonly ProviderProblem[] | undefined;
}

/** A route table that is a single document. */
export interface RouteDocument extends RoutePage {
  readonly revision: string;
  /** Other content of the document, which `change` must preserve. The framework returns it unchanged. */
  readonly carried?: unknown;
}

/** The result of a change: done, or in progress. Routes have no facts. A rejected route is an error. */
export type RouteOutcome =
  | { readonly done: true }
  | ({ readonly done: false; readonly operation?: string | undefined } & Wait);

/** The members that both styles share. */
export interface RoutesOfAnyStyle {
  /**
   * The maximum number of routes, if known when connecting. Fairlead exports how many are left and warns before the limit is
   * reached. If unset, the cloud rejects a route beyond its limit with a `quota` error, which the Node reports.
   */
  readonly limit?: number | undefined;
  /** The IP families that the cloud can route. */
  readonly families: readonly ("IPv4" | "IPv6")[];
  /**
   * How long a listing may show the state from before a completed change. Within this time, such a change counts as observed and
   * is not repeated. A route that is not shown counts as absent only afterwards. If unset, listings show every change.
   */
  readonly readsLag?: Milliseconds | undefined;
}

/** Routes that are created and removed by one request each. */
export interface RoutesOneByOne extends RoutesOfAnyStyle {
  readonly style: "one-by-one";
  /**
   * While a change is in progress, the cloud accepts no other change in this table: a change that fails as `busy` ends the sync.
   * If unset, several changes are sent at once.
   */
  readonly oneAtATime?: true | undefined;
  /** Lists all routes, page by page. It must throw when a page is missing. */
  list(call: Call): AsyncIterable<RoutePage>;
  create(route: DesiredRoute, call: Call): Promise<RouteOutcome>;
  remove(route: ObservedRoute, call: Call): Promise<RouteOutcome>;
}

/** A route table that is read and replaced as one document. The provider preserves foreign entries. */
export interface RoutesAsDocument extends RoutesOfAnyStyle {
  readonly style: "document";
  read(call: Call): Promise<RouteDocument>;
  /**
   * Applies the changes to the document that `read` returned. Throws `conflict` when its revision has changed since. After `invalid` or
   * `quota`, the framework sends halves of the changes until it has found the route that the cloud refuses.
   */
  change(
    changes: { readonly create: readonly DesiredRoute[]; readonly remove: readonly ObservedRoute[] },
    before: RouteDocument,
    call: Call,
  ): Promise<RouteOutcome>;
}

/** A route table, in one of two styles. */
export type Routes = RoutesOneByOne | RoutesAsDocument;

/**
 * One of several route tables, such as the table of a network, a region or a router. Each is listed, changed and limited
 * separately: while one fails, only its own routes wait. A Node needs its routes in every table that serves it.
 */
export type NamedRoutes = Routes & {
  /** Unique within the cloud and shown in messages, metrics and `/debug/state`. */
  readonly name: string;
  /**
   * Pure. Whether the table needs the routes to this target, whose machine is always known: decide by `machine.source` or
   * `machine.handles`. If unset, the table serves every target. A route to a target that the table no longer serves is
   * removed.
   */
  serves?(target: RouteTarget): boolean;
};

/** A single route table, or several. */
export type RouteTables = Routes | readonly NamedRoutes[];
