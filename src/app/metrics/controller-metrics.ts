// Metrics of the controllers: joining Nodes, load balancers and routes with upstream's names and buckets, and all changes.

import type { EndedLookup } from "../../controllers/pending-lookups.ts";
import type { RouteSync } from "../../controllers/route/deps.ts";
import type { ServiceObserver } from "../../controllers/service/deps.ts";
import { defined } from "../../core/defined.ts";
import type { JournalEntry } from "../../runtime/journal.ts";
import type { Metrics } from "../../telemetry/metrics.ts";
import type { VolumeDeps } from "../../volumes/controller/deps.ts";

const nodeBuckets = [1, 4, 16, 64, 256, 1024];
/** 1, 2, 4, … 16384. */
const balancerBuckets = Array.from({ length: 15 }, (_, power) => 2 ** power);

/**
 * Returns a function that records the age at which a Node was initialized. As in upstream, both metrics are observed at the same
 * moment.
 */
export function createNodeMetrics(metrics: Metrics): (ageMs: number) => void {
  const taintDelay = metrics.histogram(
    "node_controller_cloud_provider_taint_removal_delay_seconds",
    "[ALPHA] Number of seconds after node creation when NodeController removed the cloud-provider taint of a single node.",
    nodeBuckets,
  );
  const syncDelay = metrics.histogram(
    "node_controller_initial_node_sync_delay_seconds",
    "[ALPHA] Number of seconds after node creation when NodeController finished the initial synchronization of a single node.",
    nodeBuckets,
  );
  return (ageMs) => {
    taintDelay.observe(ageMs / 1000);
    syncDelay.observe(ageMs / 1000);
  };
}

/** 0.001, 0.002, 0.004, … 16.384. */
const lookupBuckets = Array.from({ length: 15 }, (_, power) => 2 ** power / 1000);

/**
 * Records the cloud's answers about the instance of a Node that is not Ready. The Go managers query existence and state in two
 * calls; one answer here contains both, so it counts as both.
 */
export function createLifecycleMetrics(metrics: Metrics): (lookup: EndedLookup) => void {
  const durations = metrics.histogram(
    "cloud_node_lifecycle_controller_monitor_nodes_duration_seconds",
    "[ALPHA] A metric measuring the duration in seconds of a single MonitorNodes loop execution.",
    lookupBuckets,
  );
  const calls = metrics.counter(
    "cloud_node_lifecycle_controller_cloud_provider_calls_total",
    "[ALPHA] The total number of cloud provider API calls, labeled by operation and result.",
    ["operation", "result"],
  );
  return ({ answer, duration }) => {
    durations.observe(duration / 1000);
    const result = answer === undefined ? "error" : answer.kind === "gone" ? "instance_not_found" : "success";
    calls.add({ operation: "instance_exists", result });
    if (answer?.kind === "exists" && answer.instance.state !== undefined)
      calls.add({ operation: "instance_shutdown", result });
  };
}

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
    balancerBuckets,
  );
  const hosts = metrics.histogram(
    "service_controller_update_loadbalancer_host_latency_seconds",
    "[ALPHA] A metric measuring the latency for updating each load balancer hosts.",
    balancerBuckets,
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

export function createCertificateMetrics(metrics: Metrics): (decision: "approved" | "denied") => void {
  const decisions = metrics.counter(
    "fairlead_serving_certificate_requests_total",
    "Requests of kubelets for serving certificates that were decided: approved or denied.",
    ["decision"],
  );
  return (decision) => decisions.add({ decision });
}

/** The sidecars' histogram, with CSI's method names. */
export function createVolumeMetrics(metrics: Metrics): (driver: string) => VolumeDeps["onCall"] {
  const operations = metrics.histogram(
    "csi_sidecar_operations_seconds",
    "[ALPHA] Container Storage Interface operation duration with gRPC error code status total",
    [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 25, 50, 120, 300, 600],
    ["driver_name", "method_name", "grpc_status_code"],
  );
  return (driver) => (method, code, durationMs) =>
    operations.observe(durationMs / 1000, {
      driver_name: driver,
      method_name: `/csi.v1.Controller/${method}`,
      grpc_status_code: code,
    });
}

export function createRouteMetrics(metrics: Metrics): (sync: RouteSync) => void {
  const syncs = metrics.counter(
    "route_controller_route_sync_total",
    "[ALPHA] A metric counting the number of route reconciles with the cloud provider, labeled by the trigger (periodic or node_change) and the outcome (error if the reconcile failed, changed if at least one route was created or deleted, otherwise noop).",
    ["outcome", "trigger"],
  );
  const changes = metrics.counter(
    "fairlead_route_changes_total",
    "Routes created and removed, and changes that failed. While routes cannot be listed, nothing is changed: see fairlead_problems.",
    ["result"],
  );
  /** The last complete sync of each table; an interrupted sync has no counts. */
  const complete = new Map<string | undefined, RouteSync>();
  const gauge = (name: string, help: string, read: (sync: RouteSync) => number | undefined): void =>
    metrics.gaugeFrom(name, `${help} The label is only set if there are several tables.`, ["table"], () =>
      [...complete.values()].flatMap((sync) => {
        const value = read(sync);
        return value === undefined ? [] : [[defined({ table: sync.table }), value] as const];
      }),
    );
  gauge(
    "fairlead_routes",
    "Routes in each route table of the cloud after its last sync.",
    ({ there }) => there,
  );
  gauge(
    "fairlead_routes_limit",
    "The maximum number of routes in each route table, if the provider knows it.",
    ({ limit }) => limit,
  );
  return (sync) => {
    syncs.add({ outcome: outcomeOf(sync), trigger: sync.isPeriodic ? "periodic" : "node_change" });
    for (const result of ["created", "removed", "failed"] as const) changes.add({ result }, sync[result]);
    if (sync.isComplete) complete.set(sync.table, sync);
  };
}

/** As in upstream, a failed change counts as a change. */
function outcomeOf({ isComplete, created, removed, failed }: RouteSync): "changed" | "noop" | "error" {
  if (!isComplete) return "error";
  return created + removed + failed > 0 ? "changed" : "noop";
}

export function createJournalMetrics(metrics: Metrics): (entry: JournalEntry) => void {
  const mutations = metrics.counter(
    "fairlead_mutations_total",
    "Changes in the journal, by target (cloud or cluster) and outcome.",
    ["target", "outcome"],
  );
  const steps = metrics.counter(
    "fairlead_load_balancer_steps_total",
    "Steps on load balancers, by action and outcome.",
    ["action", "outcome"],
  );
  return ({ target, outcome, action, object }) => {
    mutations.add({ target, outcome });
    if (object.startsWith("balancer/")) steps.add({ action, outcome });
  };
}
