// The dependencies of the route controller. `src/app` composes them; tests use small fakes.

import type { RouteTable } from "../../cloud/ideal-route-tables.ts";
import { type Cidr, type Milliseconds, minutes, seconds } from "../../core/brand.ts";
import type { Problem } from "../../core/problem.ts";
import type { Pending } from "../../provider/plan.ts";
import type { JournalledSend } from "../kernel/journalled-send.ts";
import { defaultRemovalLimit, type RemovalLimitSetting } from "../kernel/removal-limit.ts";
import type { RemovalMemory } from "../kernel/removal-memory.ts";
import type { NodeDeps } from "../node-deps.ts";
import type { TableHistory } from "./history.ts";
import type { TableName } from "./tables.ts";

/** The result of one sync of a route table. If it was interrupted, all counts but `failed` are zero. */
export interface RouteSync {
  /** The name of the table, if there are several. */
  readonly table?: string;
  readonly isComplete: boolean;
  /** True if the sync was due without a Node change. */
  readonly isPeriodic: boolean;
  readonly duration: Milliseconds;
  readonly wanted: number;
  /** The number of desired routes in the table at the end of the sync. */
  readonly present: number;
  /** The number of Nodes without a visible instance. Their routes are neither desired nor removed. */
  readonly waitingNodes: number;
  /** The number of routes in the table at the end of the sync. */
  readonly there: number;
  readonly limit?: number;
  readonly created: number;
  readonly removed: number;
  /** The number of changes that failed since the previous sync, including changes that the cloud had accepted. */
  readonly failed: number;
}

/** `isSelected`: whether this manager handles the Node. Routes of other Nodes are never changed. */
export interface RouteControllerOptions extends Omit<NodeDeps, "concurrency"> {
  /** Sends changes to the cloud. */
  readonly send: JournalledSend;
  readonly tables: readonly RouteTable[];
  /** How long-running operations are polled; undefined if the cloud has no operation IDs. */
  readonly pending: Pending | undefined;
  /** Reports problems that do not concern a single Node. */
  readonly reportProblem: (problem: Problem) => void;
  /** Reports a problem that concerns all routes, such as a hold. */
  readonly reportHold: (problem: Problem) => void;
  readonly removals: RemovalMemory;
  readonly settings: RouteSettings;
  readonly clusterCIDRs: readonly Cidr[];
  readonly onSync: (sync: RouteSync) => void;
}

/** The dependencies of the code for a single table. */
export interface TableOptions extends RouteControllerOptions {
  readonly routes: RouteTable;
  readonly table: TableName;
  readonly history: TableHistory;
}

export interface RouteSettings {
  /** The interval between full syncs. The jitter is a share of the interval in both directions; zero makes it exact. */
  readonly fullCheck: { readonly every: Milliseconds; readonly jitter: number };
  /** The minimum time between the listing that first lacks a route and the one that proves its absence. */
  readonly confirmAfter: Milliseconds;
  /** How many routes may be removed or recreated within the window because an object was absent. */
  readonly removalLimit: RemovalLimitSetting;
  /** The number of routes that are created or removed in parallel, if each needs its own call. */
  readonly concurrentChanges: number;
}

/**
 * Upstream lists the whole route table every ten seconds. Fairlead reconciles routes when something changes, and
 * runs a full sync only rarely.
 */
export const routeDefaults: RouteSettings = {
  fullCheck: { every: minutes(12 * 60), jitter: 0.2 },
  confirmAfter: seconds(30),
  removalLimit: defaultRemovalLimit,
  concurrentChanges: 16,
};

/** An interval given by `--route-reconciliation-period` has no jitter. */
export const exactly = (every: Milliseconds): RouteSettings["fullCheck"] => ({ every, jitter: 0 });
