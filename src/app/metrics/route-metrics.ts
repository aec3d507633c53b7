// Metrics of routes: upstream's count of syncs, and the routes created, removed and failed.

import type { RouteSync } from "../../controllers/route/deps.ts";
import type { Metrics } from "../../telemetry/metrics.ts";

export interface RouteMetrics {
  routeSync(sync: RouteSync): void;
}

export function createRouteMetrics(metrics: Metrics): RouteMetrics {
  const syncs = metrics.counter(
    "route_controller_route_sync_total",
    "[ALPHA] A metric counting the amount of times routes have been synced with the cloud provider.",
  );
  const changes = metrics.counter(
    "fairlead_route_changes_total",
    "Routes created and removed, and changes that failed.",
    ["result"],
  );
  const count = metrics.gauge("fairlead_routes", "Routes in the cloud's route table after the last sync.");
  return {
    routeSync: (sync) => {
      syncs.add();
      for (const result of ["created", "removed", "failed"] as const) changes.add({ result }, sync[result]);
      if (sync.isComplete) count.set(sync.there);
    },
  };
}
