// What the route controller needs from the outside, named: composed once in `app`, replaced by small fakes in tests.

import type { Inventory } from "../../cloud/inventory.ts";
import type { Cidr, Milliseconds } from "../../core/brand.ts";
import type { Problem } from "../../core/problem.ts";
import type { Node } from "../../kube/objects.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Random } from "../../platform/random.ts";
import type { Pending } from "../../provider/plan.ts";
import type { Routes } from "../../provider/routes.ts";
import type { NodeEvent, NodeStore, NodeWrites, Note } from "../node-deps.ts";
import type { JournalledSend } from "../writes/journalled-send.ts";
import type { RouteSettings } from "./settings.ts";

/** What one pass over all routes came to; also told when it broke off. */
export interface RouteSync {
  readonly isComplete: boolean;
  readonly duration: Milliseconds;
  /** The rest is zero where it broke off. */
  readonly wanted: number;
  /** In the table, when it ended. */
  readonly there: number;
  readonly limit?: number;
  readonly created: number;
  readonly removed: number;
  readonly failed: number;
}

export interface RouteDeps {
  readonly nodes: NodeStore;
  /** Whether the nodes are all there: before that, no node is missing. */
  readonly isSynced: () => boolean;
  readonly writes: NodeWrites;
  /** Sends changes to the cloud. */
  readonly send: JournalledSend;
  readonly inventory: Inventory;
  /** Whether a Node is this manager's; the routes of all others are left alone. */
  readonly isSelected: (node: Node) => boolean;
  readonly routes: Routes;
  /** How work that takes long is asked about; absent where this cloud gives no tickets. */
  readonly pending: Pending | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly report: (node: Node, event: NodeEvent) => void;
  readonly note: Note;
  /** Problems that are about no single Node. */
  readonly reportProblem: (problem: Problem) => void;
}

export interface RouteControllerOptions extends RouteDeps {
  readonly settings: RouteSettings;
  readonly clusterCIDRs: readonly Cidr[];
  readonly onSync: (sync: RouteSync) => void;
}
