// Metrics of routes: upstream's count of syncs, and the routes created, removed and failed.

import type { RouteSync } from "../../controllers/route/deps.ts";
import { defined } from "../../core/defined.ts";
import type { LabelValues, Metrics } from "../../telemetry/metrics.ts";

export interface RouteMetrics {
  routeSync(sync: RouteSync): void;
}

/** The last complete sync of each table. */
class CompletedSyncs {
  readonly #syncs = new Map<string | undefined, RouteSync>();

  note(sync: RouteSync): void {
    if (sync.isComplete) this.#syncs.set(sync.table, sync);
  }

  values(select: (sync: RouteSync) => number | undefined): readonly (readonly [LabelValues, number])[] {
    return [...this.#syncs.values()].flatMap((sync) => {
      const value = select(sync);
      return value === undefined ? [] : [[defined({ table: sync.table }), value] as const];
    });
  }
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
  const tables = new CompletedSyncs();
  const perTable = "The label is only set if there are several tables.";
  metrics.gaugeFrom(
    "fairlead_routes",
    `Routes in each route table of the cloud after its last sync. ${perTable}`,
    ["table"],
    () => tables.values(({ there }) => there),
  );
  metrics.gaugeFrom(
    "fairlead_routes_limit",
    `The maximum number of routes in each route table, if the provider knows it. ${perTable}`,
    ["table"],
    () => tables.values(({ limit }) => limit),
  );
  return {
    routeSync: (sync) => {
      syncs.add();
      for (const result of ["created", "removed", "failed"] as const) changes.add({ result }, sync[result]);
      tables.note(sync);
    },
  };
}
