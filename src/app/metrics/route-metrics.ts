// The metrics of routes: upstream's count of looks at the table, and what came of them.

import type { RouteSync } from "../../controllers/route/deps.ts";
import type { Metrics } from "../../telemetry/metrics.ts";

export function createRouteMetrics(metrics: Metrics) {
  const syncs = metrics.counter(
    "route_controller_route_sync_total",
    "[ALPHA] A metric counting the amount of times routes have been synced with the cloud provider.",
  );
  const changes = metrics.counter(
    "fairlead_route_changes_total",
    "Routes made and removed, and changes that failed.",
    ["result"],
  );
  const there = metrics.gauge("fairlead_routes", "Routes in the cloud's table after the last pass.");
  return {
    routeSync: (sync: RouteSync): void => {
      syncs.add();
      for (const what of ["created", "removed", "failed"] as const) changes.add({ result: what }, sync[what]);
      if (sync.isComplete) there.set(sync.there);
    },
  };
}
