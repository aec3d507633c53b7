// The panels of the Grafana dashboard: rows of figures and of graphs. Data only. `SEL` is replaced
// by the selected cluster and job.

export interface Target {
  readonly expr: string;
  /** The name of each line; `{{label}}` is replaced by Grafana. */
  readonly legend: string;
}

export interface Graph {
  readonly title: string;
  readonly description: string;
  /** A unit of Grafana. */
  readonly unit: string;
  readonly targets: readonly Target[];
}

export interface Figure {
  readonly title: string;
  readonly description: string;
  readonly expr: string;
  /** `high`: green from 1. `orange` and `red`: this color from 1. */
  readonly color: "high" | "orange" | "red";
}

export interface Row {
  readonly title: string;
  readonly figures?: readonly Figure[];
  /** Each list is one line of the dashboard. */
  readonly graphs: readonly (readonly Graph[])[];
}

const rate = (name: string, by: string): string => `sum by (${by}) (rate(${name}{SEL}[$__rate_interval]))`;
const quantile = (share: number, name: string, by = ""): string =>
  `histogram_quantile(${share}, ${rate(`${name}_bucket`, by === "" ? "le" : `le, ${by}`)})`;
const max = (name: string, by: string): string => `max by (${by}) (${name}{SEL})`;
/** Selects the metric of Fairlead if other components have a metric of the same name. */
const own = (expr: string): string => `${expr} and on (cluster, job, instance) fairlead_build_info`;

const graph = (
  title: string,
  description: string,
  unit: string,
  ...targets: readonly [string, string][]
): Graph => ({
  title,
  description,
  unit,
  targets: targets.map(([expr, legend]) => ({ expr, legend })),
});

const delay = "node_controller_cloud_provider_taint_removal_delay_seconds";

const overview: Row = {
  title: "Overview",
  figures: [
    {
      title: "Leader",
      description: "1 while a replica leads. Runbook: FairleadNoLeader.",
      expr: `max(${own("leader_election_master_status{SEL}")})`,
      color: "high",
    },
    {
      title: "Replicas",
      description: "Replicas that are scraped. Runbook: FairleadDown.",
      expr: "count(fairlead_build_info{SEL})",
      color: "high",
    },
    {
      title: "Nodes not initialized",
      description: "Nodes that keep their taint. Runbook: FairleadNodesUninitialized.",
      expr: "max(fairlead_nodes_uninitialized{SEL})",
      color: "orange",
    },
    {
      title: "Services with a warning",
      description: "Runbook: FairleadServicesFailing.",
      expr: "max(fairlead_services_with_problems{SEL})",
      color: "orange",
    },
    {
      title: "Held by a mass limit",
      description: "Nodes, load balancers, routes and volumes. Runbook: FairleadMassLimitHolds.",
      expr: `sum(${max("fairlead_removals_held", "kind")})`,
      color: "red",
    },
    {
      title: "Orphaned load balancers",
      description: "Runbook: FairleadLoadBalancersOrphaned.",
      expr: "max(fairlead_load_balancers_orphaned{SEL})",
      color: "orange",
    },
  ],
  graphs: [
    [
      graph(
        "Problems by reason",
        "Nodes and Services with an active problem. Each reason has a runbook.",
        "short",
        [max("fairlead_problems", "object, reason"), "{{object}} {{reason}}"],
      ),
      graph("Changes", "Changes in the cloud and in the cluster, by outcome.", "ops", [
        rate("fairlead_mutations_total", "target, outcome"),
        "{{target}} {{outcome}}",
      ]),
    ],
  ],
};

const objects: Row = {
  title: "Nodes, load balancers, routes and volumes",
  graphs: [
    [
      graph(
        "Time until a Node is initialized",
        "From the creation of the Node to the removal of its taint.",
        "s",
        [quantile(0.5, delay), "median"],
        [quantile(0.95, delay), "95 %"],
      ),
      graph("Steps on load balancers", "By action and outcome.", "ops", [
        rate("fairlead_load_balancer_steps_total", "action, outcome"),
        "{{action}} {{outcome}}",
      ]),
      graph(
        "Routes",
        "Routes in each table, and the limit of the cloud.",
        "short",
        [max("fairlead_routes", "table"), "{{table}} routes"],
        [max("fairlead_routes_limit", "table"), "{{table}} limit"],
      ),
      graph(
        "Health of targets",
        "Targets of load balancers, as the cloud's health checks see them.",
        "short",
        [max("fairlead_load_balancer_targets", "health"), "{{health}}"],
      ),
    ],
    [
      graph(
        "Held and recent removals",
        "What the mass limits hold and count.",
        "short",
        [max("fairlead_removals_held", "kind"), "{{kind}} held"],
        [max("fairlead_removals_recent", "kind"), "{{kind}} recent"],
      ),
      graph(
        "Load balancers without a Service, or with several",
        "Orphans, those that another cluster may own, because their marks name no cluster, and those that several Services share.",
        "short",
        ["max(fairlead_load_balancers_orphaned{SEL})", "orphaned"],
        ["max(fairlead_load_balancers_possibly_orphaned{SEL})", "possibly orphaned"],
        ["max(fairlead_load_balancers_shared{SEL})", "shared"],
      ),
      graph("Kept Nodes without an instance", "By the reason why they are not deleted.", "short", [
        max("fairlead_node_deletions_held", "reason"),
        "{{reason}}",
      ]),
      graph("Nodes out of service", "With the taint, or without it although their machine is off.", "short", [
        max("fairlead_nodes_out_of_service", "state"),
        "{{state}}",
      ]),
      graph("k3s and RKE2 Nodes", "With --foreign-nodes=targets, by what was found.", "short", [
        max("fairlead_foreign_nodes", "state"),
        "{{state}}",
      ]),
      graph("Changes of routes", "Created, removed and failed.", "ops", [
        rate("fairlead_route_changes_total", "result"),
        "{{result}}",
      ]),
    ],
  ],
};

const cloud: Row = {
  title: "Cloud",
  graphs: [
    [
      graph("Requests by result", "A status is a valid answer; a word is a failure.", "reqps", [
        rate("fairlead_cloud_requests_total", "result"),
        "{{result}}",
      ]),
      graph("Requests by operation", "The ten most frequent operations.", "reqps", [
        `topk(10, ${rate("fairlead_cloud_requests_total", "operation")})`,
        "{{operation}}",
      ]),
      graph("Latency of the cloud", "95 % of the requests are faster.", "s", [
        quantile(0.95, "fairlead_cloud_request_duration_seconds", "account"),
        "{{account}}",
      ]),
    ],
    [
      graph(
        "Request budget",
        "Remaining requests and the limit, as the cloud reports them. Runbook: FairleadRateLimitNear.",
        "short",
        ["min by (account) (fairlead_cloud_budget_remaining{SEL})", "{{account}} remaining"],
        [max("fairlead_cloud_budget_limit", "account"), "{{account}} limit"],
      ),
      graph("Waiting requests", "Requests that wait for the budget.", "short", [
        max("fairlead_cloud_requests_waiting", "account"),
        "{{account}}",
      ]),
      graph("Deprecations", "What the cloud and the API server have announced within a day.", "short", [
        max("fairlead_deprecations", "api, what"),
        "{{api}} {{what}}",
      ]),
      graph("Open change streams", "1 while the cloud reports changes before the next listing.", "short", [
        "max(fairlead_change_stream_open{SEL})",
        "open",
      ]),
      graph("Age of listings", "On the leader. Deletions of Nodes need a new listing.", "s", [
        "max by (source) (fairlead_inventory_age_seconds{SEL} and on (cluster, job, instance) leader_election_master_status == 1)",
        "{{source}}",
      ]),
    ],
  ],
};

const server: Row = {
  title: "API server and queues",
  graphs: [
    [
      graph("Requests to the API server", "By status.", "reqps", [
        rate("rest_client_requests_total", "code"),
        "{{code}}",
      ]),
      graph("Silence of watches", "Time since the API server sent anything; about a minute at most.", "s", [
        max("fairlead_watch_age_seconds", "instance, resource"),
        "{{instance}} {{resource}}",
      ]),
      graph(
        "Queue depth and awaited caches",
        "Objects that wait for a worker; resources whose list the controllers wait for.",
        "short",
        [max("workqueue_depth", "name"), "{{name}}"],
        [max("fairlead_caches_awaited", "instance"), "{{instance}} caches"],
      ),
    ],
    [
      graph("Time in the queue", "99 % of the objects wait less.", "s", [
        quantile(0.99, "workqueue_queue_duration_seconds", "name"),
        "{{name}}",
      ]),
      graph(
        "Longest running worker",
        "A worker never waits for the cloud. Runbook: FairleadWorkerStuck.",
        "s",
        [max("workqueue_longest_running_processor_seconds", "name"), "{{name}}"],
      ),
      graph("Retries", "Objects that are tried again.", "ops", [
        rate("workqueue_retries_total", "name"),
        "{{name}}",
      ]),
    ],
  ],
};

const processRow: Row = {
  title: "Process",
  graphs: [
    [
      graph("CPU", "Cores in use.", "short", [
        own("rate(process_cpu_seconds_total{SEL}[$__rate_interval])"),
        "{{instance}}",
      ]),
      graph(
        "Memory",
        "Of the process, and of its JavaScript heap.",
        "bytes",
        [own("process_resident_memory_bytes{SEL}"), "{{instance}} resident"],
        ["fairlead_heap_bytes{SEL}", "{{instance}} heap"],
      ),
      graph("Lag of the event loop", "99 % of the measurements are below.", "s", [
        quantile(0.99, "fairlead_event_loop_lag_seconds", "instance"),
        "{{instance}}",
      ]),
    ],
  ],
};

/** The metrics of node-volumes and csi-controller, which are separate processes. */
const volumes: Row = {
  title: "Volumes",
  graphs: [
    [
      graph(
        "Nodes that serve volumes",
        "Registered with the kubelet; csi-controller counts once it listens. Runbook: FairleadVolumesNotReady.",
        "short",
        ["sum by (cluster) (fairlead_volumes_ready{SEL})", "ready"],
        ["count by (cluster) (fairlead_volumes_ready{SEL})", "all"],
      ),
      graph("CSI calls that failed", "By method and status. Runbook: FairleadVolumeCallsFail.", "ops", [
        'sum by (method_name, grpc_status_code) (rate(csi_plugin_operations_seconds_count{SEL,grpc_status_code!="OK"}[$__rate_interval]))',
        "{{method_name}} {{grpc_status_code}}",
      ]),
      graph("Duration of CSI calls", "99 % of the calls are shorter.", "s", [
        quantile(0.99, "csi_plugin_operations_seconds", "method_name"),
        "{{method_name}}",
      ]),
    ],
  ],
};

export const rows: readonly Row[] = [overview, objects, cloud, server, volumes, processRow];
