// Every metric of the manager, declared in one place: upstream's names and buckets first, then ours.

import type { GovernedAccount } from "../../cloud/account.ts";
import type { CloudCallReport } from "../../cloud/governed-transport.ts";
import type { Inventory } from "../../cloud/inventory.ts";
import type { RouteSync } from "../../controllers/route/route-ports.ts";
import type { RequestObservation } from "../../kube/request.ts";
import type { JournalEntry } from "../../runtime/journal.ts";
import type { WorkQueue } from "../../runtime/work-queue.ts";
import type { Clock } from "../../seams/clock.ts";
import { Metrics } from "../../telemetry/metrics.ts";
import { createAlertMetrics } from "./alert-metrics.ts";
import { createQueueMetrics } from "./queue-metrics.ts";
import { createServiceMetrics } from "./service-metrics.ts";

const joinBuckets = [1, 4, 16, 64, 256, 1024];
const methods = {
  get: "GET",
  list: "GET",
  watch: "GET",
  create: "POST",
  update: "PUT",
  patch: "PATCH",
  delete: "DELETE",
} as const satisfies Record<RequestObservation["verb"], string>;
const callBuckets = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60];

export const createManagerMetrics = (clock: Clock) => {
  const metrics = new Metrics();
  const taintDelay = metrics.histogram(
    "node_controller_cloud_provider_taint_removal_delay_seconds",
    "[ALPHA] Number of seconds after node creation when NodeController removed the cloud-provider taint of a single node.",
    joinBuckets,
  );
  const syncDelay = metrics.histogram(
    "node_controller_initial_node_sync_delay_seconds",
    "[ALPHA] Number of seconds after node creation when NodeController finished the initial synchronization of a single node.",
    joinBuckets,
  );
  const kubeRequests = metrics.counter(
    "rest_client_requests_total",
    "[ALPHA] Number of HTTP requests, partitioned by status code, method, and host.",
    ["code", "method", "host", "resource"],
  );
  const kubeDuration = metrics.histogram(
    "rest_client_request_duration_seconds",
    "[ALPHA] Request latency in seconds. Broken down by verb, and host.",
    callBuckets,
    ["verb", "host"],
  );
  const cloudCalls = metrics.counter(
    "fairlead_cloud_requests_total",
    "Requests to the cloud by account, operation and result.",
    ["account", "operation", "result"],
  );
  const cloudDuration = metrics.histogram(
    "fairlead_cloud_request_duration_seconds",
    "Latency of requests to the cloud.",
    callBuckets,
    ["account", "operation"],
  );
  const mutations = metrics.counter(
    "fairlead_mutations_total",
    "Changes of the journal, by target (cloud or cluster) and outcome.",
    ["target", "outcome"],
  );
  const balancerSteps = metrics.counter(
    "fairlead_load_balancer_steps_total",
    "Steps on load balancers, by what was done and how it ended.",
    ["action", "outcome"],
  );
  const lostEvents = metrics.counter(
    "fairlead_events_lost_total",
    "Kubernetes events that were not written, by reason.",
    ["reason"],
  );

  const routeSyncs = metrics.counter(
    "route_controller_route_sync_total",
    "[ALPHA] A metric counting the amount of times routes have been synced with the cloud provider.",
  );
  const routeChanges = metrics.counter(
    "fairlead_route_changes_total",
    "Routes made and removed, and changes that failed.",
    ["result"],
  );
  const routesThere = metrics.gauge("fairlead_routes", "Routes in the cloud's table at the last look.");

  const leads = metrics.gauge(
    "leader_election_master_status",
    "[ALPHA] Gauge of if the reporting system is master of the relevant lease, 0 indicates backup, 1 indicates master. 'name' is the string used to identify the lease. Please make sure to group by name.",
    ["name"],
  );
  const slowElections = metrics.counter(
    "leader_election_slowpath_total",
    "[ALPHA] Total number of slow path exercised in renewing leader leases. 'name' is the string used to identify the lease. Please make sure to group by name.",
    ["name"],
  );

  const running = metrics.gauge(
    "running_managed_controllers",
    "[BETA] Indicates where instances of a controller are currently running",
    ["name", "manager"],
  );
  const queueMetrics = createQueueMetrics(metrics, clock);
  let host = "";

  return {
    services: createServiceMetrics(metrics),
    alerts: createAlertMetrics(metrics),
    /** Host and port of the API server, for labels. */
    serverIs: (origin: string) => {
      host = new URL(origin).host;
    },
    runs: (name: string, isRunning: boolean) =>
      running.set(isRunning ? 1 : 0, { name, manager: "cloud-controller-manager" }),
    queues: queueMetrics,
    leads: (name: string, isOurs: boolean) => leads.set(isOurs ? 1 : 0, { name }),
    slowElection: (name: string) => slowElections.add({ name }),
    routeSync: (sync: RouteSync) => {
      routeSyncs.add();
      for (const what of ["created", "removed", "failed"] as const)
        routeChanges.add({ result: what }, sync[what]);
      if (sync.observed !== undefined) routesThere.set(sync.observed);
    },
    initialized: (ageMs: number) => {
      taintDelay.observe(ageMs / 1000);
      syncDelay.observe(ageMs / 1000);
    },
    kubeRequest: ({ verb, resource, code, duration }: RequestObservation) => {
      const method = methods[verb];
      kubeRequests.add({ code, method, host, resource });
      // A watch lasts as long as it lasts.
      if (verb !== "watch") kubeDuration.observe(duration / 1000, { verb: method, host });
    },
    cloudCall: ({ account, operation, status, failure, durationMs }: CloudCallReport) => {
      cloudCalls.add({ account, operation, result: failure ?? String(status) });
      cloudDuration.observe(durationMs / 1000, { account, operation });
    },
    mutation: ({ target, outcome, action, object }: JournalEntry) => {
      mutations.add({ target, outcome });
      if (object.startsWith("balancer/")) balancerSteps.add({ action, outcome });
    },
    lostEvent: (reason: string) => lostEvents.add({ reason }),
    /** The level of every budget, the age of every listing and the depth of every queue, read when somebody looks. */
    watch: (
      accounts: readonly GovernedAccount<unknown>[],
      inventory: Inventory,
      queues: Readonly<Record<string, WorkQueue>>,
    ) => {
      const levels =
        (pick: (level: GovernedAccount<unknown>["budget"]["level"]) => number | undefined) => () =>
          accounts.flatMap(({ name, budget }) => {
            const value = pick(budget.level);
            return value === undefined ? [] : [[{ account: name }, value] as const];
          });
      metrics.gaugeFrom(
        "fairlead_cloud_budget_remaining",
        "Requests that the cloud says are left.",
        ["account"],
        levels(({ remaining }) => remaining),
      );
      metrics.gaugeFrom(
        "fairlead_cloud_budget_limit",
        "Requests that the cloud allows.",
        ["account"],
        levels(({ limit }) => limit),
      );
      metrics.gaugeFrom(
        "fairlead_cloud_requests_waiting",
        "Requests that wait for their place in the budget.",
        ["account"],
        levels(({ waiting }) => waiting),
      );
      metrics.gaugeFrom(
        "fairlead_inventory_age_seconds",
        "Age of the last complete listing of a source.",
        ["source"],
        () =>
          inventory.sources.flatMap(({ source, latest }) =>
            latest === undefined
              ? []
              : [[{ source: source.name }, (clock.monotonic() - latest.beganAt) / 1000] as const],
          ),
      );
      metrics.gaugeFrom(
        "fairlead_inventory_instances",
        "Machines in the last complete listing of a source.",
        ["source"],
        () =>
          inventory.sources.flatMap(({ source, latest }) =>
            latest === undefined ? [] : [[{ source: source.name }, latest.items.length] as const],
          ),
      );
      for (const [name, queue] of Object.entries(queues)) queueMetrics.watch(name, queue);
    },
    declarations: metrics.declarations,
    text: () => metrics.text(),
  };
};

export type ManagerMetrics = ReturnType<typeof createManagerMetrics>;
