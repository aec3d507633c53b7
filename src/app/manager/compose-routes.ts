// Composes the route controller. Without usable flags it logs why routes are skipped; the other controllers still run.

import { routeTablesOf } from "../../cloud/route-tables.ts";
import { RouteController } from "../../controllers/route/controller.ts";
import type { RouteSync } from "../../controllers/route/deps.ts";
import { readClusterCIDRs } from "../../controllers/route/desired/cluster-cidrs.ts";
import { journalledCloudSend } from "../../controllers/writes/journalled-send.ts";
import type { Problem } from "../../core/problem.ts";
import type { WorkQueue } from "../../runtime/work-queue.ts";
import { nodeDeps } from "./compose-nodes.ts";
import type { ControllerContext } from "./controller-context.ts";

export interface ComposedRoutes {
  readonly queue: WorkQueue;
  run(signal: AbortSignal): Promise<void>;
  /** The settings have changed. */
  reconsider(): void;
  /** Absence must be proved again. */
  forgetEvidence(): void;
  /** The problems of routes that concern single Nodes, by name. */
  nodeProblems(): ReadonlyMap<string, readonly Problem[]>;
  /** The result of the last sync; of each table, if there are several. */
  lastSync(): RouteSync | readonly RouteSync[] | undefined;
}

/** Undefined if the cloud has no routes, or the flags disable them. */
export function composeRoutes(
  context: ControllerContext,
  isSynced: () => boolean,
): ComposedRoutes | undefined {
  const { clock, journal, log, connected, settings, metrics, removals, reportOnLease } = context;
  const { flags } = settings;
  const { routes } = connected.cloud;
  if (!flags["configure-cloud-routes"] || routes === undefined) return undefined;
  const ranges = readClusterCIDRs(flags["cluster-cidr"]);
  if (ranges.kind === "skip") {
    log.warn(ranges.problem.text);
    return undefined;
  }
  const last = new Map<string | undefined, RouteSync>();
  const controller = new RouteController({
    // Upstream's event source, with the underscore.
    ...nodeDeps(context, "route_controller"),
    isSynced,
    send: journalledCloudSend({ journal, clock, mode: flags.mode }),
    tables: routeTablesOf(routes, clock),
    pending: connected.cloud.pending,
    reportProblem: ({ reason, text }) => log.warn(text, { reason }),
    removals,
    reportHold: (event) => {
      log.warn(event.message, { reason: event.reason });
      reportOnLease("node-route", event);
    },
    settings: settings.routes,
    clusterCIDRs: ranges.cidrs,
    onSync: (sync) => {
      last.set(sync.table, sync);
      metrics.routeSync(sync);
    },
  });
  return {
    queue: controller.queue,
    run: (signal) => controller.run(signal),
    reconsider: () => controller.reconsider(),
    forgetEvidence: () => controller.forgetEvidence(),
    nodeProblems: () => controller.nodeProblems,
    lastSync: () => last.get(undefined) ?? (last.size === 0 ? undefined : [...last.values()]),
  };
}
