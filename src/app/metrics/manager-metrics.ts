// All metrics of the manager. Those of the process and its ports are in process-wide-metrics.ts.

import type { GovernedAccount } from "../../cloud/account.ts";
import type { Inventory } from "../../cloud/inventory.ts";
import type { ServiceObserver } from "../../controllers/service/deps.ts";
import type { Clock } from "../../platform/clock.ts";
import type { WorkQueue } from "../../runtime/work-queue.ts";
import { type Counter, Metrics } from "../../telemetry/metrics.ts";
import { type AlertSources, createAlertMetrics } from "./alert-metrics.ts";
import { type ChangeMetrics, createChangeMetrics } from "./change-metrics.ts";
import { type CloudMetrics, createCloudMetrics } from "./cloud-metrics.ts";
import { ConfigurationMetrics } from "./configuration-metrics.ts";
import { createJournalMetrics, type JournalMetrics } from "./journal-metrics.ts";
import { KubeMetrics } from "./kube-metrics.ts";
import { createLeadershipMetrics, type LeadershipMetrics } from "./leadership-metrics.ts";
import { createNodeMetrics, type NodeMetrics } from "./node-metrics.ts";
import { QueueMetrics } from "./queue-metrics.ts";
import { createRouteMetrics, type RouteMetrics } from "./route-metrics.ts";
import { createServiceMetrics } from "./service-metrics.ts";
import { createWatchMetrics } from "./watch-metrics.ts";

export interface ManagerMetrics
  extends NodeMetrics,
    Pick<CloudMetrics, "cloudCall">,
    JournalMetrics,
    RouteMetrics,
    LeadershipMetrics,
    ChangeMetrics,
    Pick<ConfigurationMetrics, "pendingRestart" | "refusal"> {
  readonly kube: KubeMetrics;
  readonly queues: QueueMetrics;
  readonly services: ServiceObserver;
  /** Sets the manager that the gauges for alerts are computed from. */
  alerts(sources: AlertSources): void;
  /** By result. */
  readonly traceSpans: Counter;
  /** Sets where the ages of the watches are read from. */
  readonly watches: ReturnType<typeof createWatchMetrics>;
  /** Adds the gauges that are computed on each scrape. */
  watch(
    cloud: { readonly accounts: readonly GovernedAccount<unknown>[] },
    inventory: Pick<Inventory, "sources">,
    watched: Readonly<Record<string, WorkQueue>>,
  ): void;
  readonly declarations: Metrics["declarations"];
  text(): string;
}

export function createManagerMetrics(clock: Clock): ManagerMetrics {
  const metrics = new Metrics();
  const { watchCloud, cloudCall } = createCloudMetrics(metrics, clock);
  const queues = new QueueMetrics(metrics, clock);
  const { pendingRestart, refusal } = new ConfigurationMetrics(metrics);
  return {
    ...createNodeMetrics(metrics),
    kube: new KubeMetrics(metrics),
    cloudCall,
    ...createJournalMetrics(metrics),
    ...createRouteMetrics(metrics),
    ...createLeadershipMetrics(metrics),
    ...createChangeMetrics(metrics),
    pendingRestart,
    refusal,
    watches: createWatchMetrics(metrics),
    queues,
    services: createServiceMetrics(metrics),
    alerts: createAlertMetrics(metrics),
    watch: (cloud, inventory, watched) => {
      watchCloud(cloud, inventory);
      for (const [name, queue] of Object.entries(watched)) queues.watch(name, queue);
    },
    traceSpans: metrics.counter(
      "fairlead_trace_spans_total",
      "Spans for --tracing-endpoint, by result: exported or dropped.",
      ["result"],
    ),
    declarations: metrics.declarations,
    text: () => metrics.text(),
  };
}
