// The inputs of a controller: state that all sessions of the manager share, such as clients, caches and the journal, and the
// settings and the cloud of one session.

import type { Inventory } from "../../cloud/inventory/instances.ts";
import type { FormerLeaders } from "../../controllers/former-leaders.ts";
import type { RemovalMemory } from "../../controllers/kernel/removal-memory.ts";
import type { LatestObjects } from "../../controllers/latest-objects.ts";
import type { Problem } from "../../core/problem.ts";
import type { KubeApi } from "../../kube/client/api.ts";
import type { Node } from "../../kube/objects.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Random } from "../../platform/random.ts";
import type { Journal } from "../../runtime/journal.ts";
import type { Log } from "../../telemetry/log.ts";
import type { ControllerName } from "../flags/controller-names.ts";
import type { FollowedCache } from "../leadership/current-caches.ts";
import type { ReporterOf } from "../logging/object-reporter.ts";
import type { ManagerMetrics } from "../metrics/manager-metrics.ts";
import type { CloudSession } from "./cloud-session.ts";

/** The state that all sessions share. */
export interface ProcessContext {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly journal: Journal;
  readonly metrics: ManagerMetrics;
  readonly reporterOf: ReporterOf;
  readonly isObserving: boolean;
  readonly nodes: LatestObjects<Node>;
  /** The memory of the mass limits. */
  readonly removals: RemovalMemory;
  /** Reports a problem that concerns a whole controller as an event on its Lease. */
  readonly reportOnLease: (controller: ControllerName, problem: Problem) => void;
}

/** The context of tasks that serve all controllers of a session. */
export interface SessionContext
  extends ProcessContext,
    Pick<CloudSession, "settings" | "connected" | "instances" | "inventory"> {}

export interface ControllerContext extends SessionContext {
  /** With --use-service-account-credentials, this client has the controller's identity. */
  readonly api: KubeApi;
}

/** The inputs of a controller's history, which outlives sessions. */
export interface HistoryContext extends ProcessContext {
  /** The client for watches, with the process's identity as in upstream. */
  readonly api: KubeApi;
  readonly collectGarbage: (() => void) | undefined;
  /** The controller stops while this cache may be outdated. Returns a function that ends this. */
  readonly followCache: (cache: FollowedCache, controller: ControllerName) => () => void;
  readonly formerLeaders: FormerLeaders;
  /** Aborted when the manager has ended. */
  readonly life: AbortSignal;
  /** The controllers that the flags enable. */
  readonly controllers: ReadonlySet<string>;
  /** Whether --node-selector matches the Node. */
  readonly isSelected: (node: Node) => boolean;
  readonly session: CloudSession;
  /** The inventory of the current session. */
  readonly inventory: Inventory;
}

/** Composes a controller for each session. Undefined if the controller has nothing to do. */
export type Composer<C> = (context: ControllerContext) => C;
