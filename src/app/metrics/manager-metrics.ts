// All metrics of one manager. Metrics that outlive it are in process-wide-metrics.ts.

import type { GovernedAccount } from "../../cloud/account.ts";
import type { Inventory } from "../../cloud/inventory.ts";
import type { Clock } from "../../platform/clock.ts";
import type { WorkQueue } from "../../runtime/work-queue.ts";
import { Metrics } from "../../telemetry/metrics.ts";
import { createAlertMetrics } from "./alert-metrics.ts";
import { createCloudMetrics } from "./cloud-metrics.ts";
import { createJournalMetrics } from "./journal-metrics.ts";
import { createKubeMetrics } from "./kube-metrics.ts";
import { createLeadershipMetrics } from "./leadership-metrics.ts";
import { createNodeMetrics } from "./node-metrics.ts";
import { createQueueMetrics } from "./queue-metrics.ts";
import { createRouteMetrics } from "./route-metrics.ts";
import { createServiceMetrics } from "./service-metrics.ts";

export function createManagerMetrics(clock: Clock) {
  const metrics = new Metrics();
  const { watchCloud, ...cloud } = createCloudMetrics(metrics, clock);
  const queues = createQueueMetrics(metrics, clock);
  return {
    ...createNodeMetrics(metrics),
    ...createKubeMetrics(metrics),
    ...cloud,
    ...createJournalMetrics(metrics),
    ...createRouteMetrics(metrics),
    ...createLeadershipMetrics(metrics),
    queues,
    services: createServiceMetrics(metrics),
    alerts: createAlertMetrics(metrics),
    /** Adds the gauges that are computed on each scrape. */
    watch: (
      accounts: readonly GovernedAccount<unknown>[],
      inventory: Pick<Inventory, "sources">,
      watched: Readonly<Record<string, WorkQueue>>,
    ): void => {
      watchCloud(accounts, inventory);
      for (const [name, queue] of Object.entries(watched)) queues.watch(name, queue);
    },
    declarations: metrics.declarations,
    text: () => metrics.text(),
  };
}

export type ManagerMetrics = ReturnType<typeof createManagerMetrics>;
