// Routes to pod networks. The framework plans (only ours, only inside the cluster's ranges); the cloud lists and changes.

import type { Cidr, IpAddress, NodeName } from "../core/brand.ts";
import type { Problem } from "../core/problem.ts";
import type { Call } from "./call.ts";
import type { Machine } from "./instances.ts";
import type { StepOutcome } from "./plan.ts";

export interface RouteTarget {
  readonly node: NodeName;
  readonly uid: string;
  readonly machine?: Machine;
  readonly addresses: readonly IpAddress[];
}

export interface DesiredRoute {
  readonly destination: Cidr;
  readonly target: RouteTarget;
}

export interface ObservedRoute {
  /** The cloud's handle of it; whatever `remove` needs. */
  readonly handle: string;
  readonly destination: Cidr;
  /** Whichever of these the cloud knows; a route that leads nowhere has none. */
  readonly targetKey?: string;
  readonly targetAddress?: IpAddress;
  readonly targetName?: string;
  readonly leadsNowhere?: boolean;
  /** `marked`: carries our mark. `unmarked`: the cloud has no place for marks, so the cluster's ranges decide. */
  readonly ownership: "marked" | "unmarked" | "foreign";
  readonly problems?: readonly Problem[];
}

export interface RoutePage {
  readonly routes: readonly ObservedRoute[];
  /** About the table as a whole. */
  readonly problems?: readonly Problem[];
}

export interface RouteDocument extends RoutePage {
  readonly revision: string;
  /** What else is in it and must survive a change; the framework hands it back untouched. */
  readonly carried?: unknown;
}

interface RoutesOfAnyStyle {
  /** Highest number of routes the table takes, where known; headroom is exported and warned about. */
  readonly limit?: number;
  readonly families: readonly ("IPv4" | "IPv6")[];
}

/** One call per route. */
export interface RoutesOneByOne extends RoutesOfAnyStyle {
  readonly style: "one-by-one";
  list(call: Call): AsyncIterable<RoutePage>;
  create(route: DesiredRoute, call: Call): Promise<StepOutcome>;
  remove(route: ObservedRoute, call: Call): Promise<StepOutcome>;
}

/** The whole table is one document that is read and replaced; foreign entries in it are carried over by the provider. */
export interface RoutesAsDocument extends RoutesOfAnyStyle {
  readonly style: "document";
  read(call: Call): Promise<RouteDocument>;
  /** Throws `conflict` when the document is no longer at that revision. */
  change(
    changes: { readonly create: readonly DesiredRoute[]; readonly remove: readonly ObservedRoute[] },
    before: RouteDocument,
    call: Call,
  ): Promise<StepOutcome>;
}

export type Routes = RoutesOneByOne | RoutesAsDocument;
