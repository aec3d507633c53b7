// Metrics of the service controller, by upstream's names, help and buckets.

import type { ServiceObserver } from "../../controllers/service/deps.ts";
import type { Metrics } from "../../telemetry/metrics.ts";

/** 1, 2, 4 … 16384. */
const buckets = Array.from({ length: 15 }, (_, power) => 2 ** power);

export function createServiceMetrics(metrics: Metrics): ServiceObserver {
  const updates = metrics.counter(
    "service_controller_loadbalancer_sync_total",
    "[ALPHA] A metric counting the amount of times any load balancer has been configured, as an effect of service/node changes on the cluster",
  );
  const failures = metrics.counter(
    "service_controller_nodesync_error_total",
    "[ALPHA] A metric counting the amount of times any load balancer has been configured and errored, as an effect of node changes on the cluster",
  );
  const syncs = metrics.histogram(
    "service_controller_nodesync_latency_seconds",
    "[ALPHA] A metric measuring the latency for nodesync which updates loadbalancer hosts on cluster node updates.",
    buckets,
  );
  const hosts = metrics.histogram(
    "service_controller_update_loadbalancer_host_latency_seconds",
    "[ALPHA] A metric measuring the latency for updating each load balancer hosts.",
    buckets,
  );
  return {
    onNodeSync: (durationMs) => syncs.observe(durationMs / 1000),
    onHostUpdate: (durationMs, isFailed) => {
      updates.add();
      hosts.observe(durationMs / 1000);
      if (isFailed) failures.add();
    },
  };
}
