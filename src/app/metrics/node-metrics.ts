// Metrics of joining Nodes, by upstream's names and buckets. As in upstream, both are observed at the same moment.

import type { Metrics } from "../../telemetry/metrics.ts";

const buckets = [1, 4, 16, 64, 256, 1024];

export interface NodeMetrics {
  /** A Node was initialized at this age. */
  initialized(ageMs: number): void;
}

export function createNodeMetrics(metrics: Metrics): NodeMetrics {
  const taintDelay = metrics.histogram(
    "node_controller_cloud_provider_taint_removal_delay_seconds",
    "[ALPHA] Number of seconds after node creation when NodeController removed the cloud-provider taint of a single node.",
    buckets,
  );
  const syncDelay = metrics.histogram(
    "node_controller_initial_node_sync_delay_seconds",
    "[ALPHA] Number of seconds after node creation when NodeController finished the initial synchronization of a single node.",
    buckets,
  );
  return {
    initialized: (ageMs) => {
      taintDelay.observe(ageMs / 1000);
      syncDelay.observe(ageMs / 1000);
    },
  };
}
