// The dependencies of the route controller. `src/app` composes them; tests use small fakes.

import type { RouteTable } from "../../cloud/ideal-route-tables.ts";
import type { Inventory } from "../../cloud/inventory.ts";
import type { Cidr, Milliseconds } from "../../core/brand.ts";
import type { Node } from "../../kube/objects.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Random } from "../../platform/random.ts";
import type { Pending } from "../../provider/plan.ts";
import type { RemovalHistory } from "../absence/removal-history.ts";
import type { NodeStore, NodeWrites, Note } from "../node-deps.ts";
import type { ObjectEvent } from "../reporter.ts";
import type { JournalledSend } from "../writes/journalled-send.ts";
import type { RouteSettings } from "./settings.ts";

/** The result of one sync of a route table. If it was interrupted, all counts but `failed` are zero. */
export interface RouteSync {
  /** Its name, if there are several. */
  readonly table?: string;
  readonly isComplete: boolean;
  readonly duration: Milliseconds;
  readonly wanted: number;
  /** Routes in the table at the end of the sync. */
  readonly there: number;
  readonly limit?: number;
  readonly created: number;
  readonly removed: number;
  /** Changes that failed since the sync before, also those that the cloud had accepted. */
  readonly failed: number;
}

export interface RouteControllerOptions {
  readonly nodes: NodeStore;
  readonly writes: NodeWrites;
  /** Sends changes to the cloud. */
  readonly send: JournalledSend;
  readonly inventory: Inventory;
  /** Whether this manager manages the Node; routes of other Nodes are never changed. */
  readonly isSelected: (node: Node) => boolean;
  readonly tables: readonly RouteTable[];
  /** How long-running operations are polled; undefined if the cloud has no operation IDs. */
  readonly pending: Pending | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly report: (node: Node, event: ObjectEvent) => void;
  readonly note: Note;
  /** Reports problems that do not concern a single Node. */
  readonly reportProblem: (event: ObjectEvent) => void;
  /** Reports what concerns all routes, such as a hold. */
  readonly reportHold: (event: ObjectEvent) => void;
  readonly removals: RemovalHistory;
  readonly settings: RouteSettings;
  readonly clusterCIDRs: readonly Cidr[];
  readonly onSync: (sync: RouteSync) => void;
}

/** The dependencies of what concerns one table. */
export interface TableOptions extends RouteControllerOptions {
  readonly routes: RouteTable;
  /** Its name; undefined if the cloud has one table. */
  readonly table: string | undefined;
}
