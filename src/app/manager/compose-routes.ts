// The route controller, put together, or the reason why there is none: routes are skipped with a word, never the process.

import { RouteController } from "../../controllers/route/controller.ts";
import type { RouteSync } from "../../controllers/route/deps.ts";
import { readClusterCIDRs } from "../../controllers/route/desired/cluster-cidrs.ts";
import { journalledCloudSend } from "../../controllers/writes/journalled-send.ts";
import { nodePorts } from "./compose-nodes.ts";
import type { ControllerContext } from "./controller-context.ts";

export function composeRoutes(context: ControllerContext, isSynced: () => boolean) {
  const { clock, journal, log, connected, settings, metrics } = context;
  const { flags } = settings;
  const { routes } = connected.cloud;
  if (!flags["configure-cloud-routes"] || routes === undefined) return undefined;
  const ranges = readClusterCIDRs(flags["cluster-cidr"]);
  if (ranges.kind === "skip") {
    log.warn(ranges.problem.text);
    return undefined;
  }
  let last: RouteSync | undefined;
  const controller = new RouteController({
    // Upstream's name on events, underscore and all.
    ...nodePorts(context, "route_controller"),
    isSynced,
    send: journalledCloudSend({ journal, clock, mode: flags.mode }),
    routes,
    pending: connected.cloud.pending,
    reportProblem: ({ reason, text }) => log.warn(text, { reason }),
    settings: settings.routes,
    clusterCIDRs: ranges.cidrs,
    onSync: (sync) => {
      last = sync;
      metrics.routeSync(sync);
    },
  });
  return {
    queue: controller.queue,
    run: (signal: AbortSignal) => controller.run(signal),
    last: () => last,
  };
}
