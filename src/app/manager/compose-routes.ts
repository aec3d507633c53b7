// Composes the route controller. Without usable flags it logs why routes are skipped; the other controllers still run.

import { routeTablesOf } from "../../cloud/route-tables.ts";
import { RouteController } from "../../controllers/route/controller.ts";
import { readClusterCIDRs } from "../../controllers/route/desired/cluster-cidrs.ts";
import { journalledCloudSend } from "../../controllers/writes/journalled-send.ts";
import { nodeDeps } from "./compose-nodes.ts";
import type { ControllerContext } from "./controller-context.ts";

/** Undefined if the cloud has no routes, or the flags disable them. */
export function composeRoutes(
  context: ControllerContext,
  isSynced: () => boolean,
): RouteController | undefined {
  const { clock, journal, log, connected, settings, metrics, removals, reportOnLease } = context;
  const { flags } = settings;
  const { routes } = connected.cloud;
  if (!flags["configure-cloud-routes"] || routes === undefined) return undefined;
  const ranges = readClusterCIDRs(flags["cluster-cidr"]);
  if (ranges.kind === "skip") {
    log.warn(ranges.problem.text);
    return undefined;
  }
  return new RouteController({
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
    onSync: metrics.routeSync,
  });
}
