// Test cases for each alert: series with which it fires, and series with which it does not. `promtool test rules` evaluates them. Data only.

/** Values by series, in the notation of promtool: `1x60` is 1 for an hour, `0+5x60` grows by 5 a minute. */
export type Series = Readonly<Record<string, string>>;

export interface AlertCase {
  readonly alert: string;
  readonly fires: Series;
  /** The alert is pending just before this time, and fires just after it: the time until its condition holds, and its `for`. */
  readonly after: number;
  readonly labels: Readonly<Record<string, string>>;
  readonly summary: string;
  readonly quiet: Series;
}

const a = `job="ccm",instance="a"`;
const b = `job="ccm",instance="b"`;
/** Two replicas, of which the first one leads. */
export const healthy: Series = {
  [`fairlead_build_info{${a},version="1"}`]: "1x3000",
  [`fairlead_build_info{${b},version="1"}`]: "1x3000",
  [`leader_election_master_status{${a},name="ccm"}`]: "1x3000",
  [`leader_election_master_status{${b},name="ccm"}`]: "0x3000",
  // Another Kubernetes component, which does not lead here.
  'leader_election_master_status{job="scheduler",instance="s",name="kube-scheduler"}': "0x3000",
};
const requests = (result: string, instance = a): string =>
  `fairlead_cloud_requests_total{${instance},account="main",operation="GET /servers",result="${result}"}`;
const gauge = (name: string, labels = ""): string => `${name}{${a}${labels === "" ? "" : `,${labels}`}}`;

const volumeCalls = (code: string): string =>
  gauge(
    "csi_plugin_operations_seconds_count",
    `method_name="/csi.v1.Node/NodeStageVolume",grpc_status_code="${code}"`,
  );

export const alertCases: readonly AlertCase[] = [
  {
    alert: "FairleadDown",
    fires: { 'up{job="other"}': "1x60" },
    after: 5,
    labels: {},
    summary: "No replica of Fairlead is scraped.",
    quiet: healthy,
  },
  {
    alert: "FairleadNoLeader",
    fires: { ...healthy, [`leader_election_master_status{${a},name="ccm"}`]: "0x60" },
    after: 2,
    labels: { job: "ccm", name: "ccm" },
    summary: "No replica holds the Lease ccm.",
    // Leadership moves, with a gap of a minute.
    quiet: {
      ...healthy,
      [`leader_election_master_status{${a},name="ccm"}`]: "1 1 1 0x60",
      [`leader_election_master_status{${b},name="ccm"}`]: "0 0 0 0 1x60",
    },
  },
  {
    alert: "FairleadWatchStale",
    fires: { [gauge("fairlead_watch_age_seconds", `resource="nodes"`)]: "0+60x60" },
    after: 11,
    labels: { job: "ccm", instance: "a", resource: "nodes" },
    summary: "a receives no updates of nodes.",
    quiet: { [gauge("fairlead_watch_age_seconds", `resource="nodes"`)]: "5 65 20 70 299x60" },
  },
  {
    alert: "FairleadCloudUnreachable",
    fires: {
      [requests("unavailable")]: "0+3x60",
      [requests("breaker")]: "0+3x60",
      [requests("200")]: "0+5x60",
    },
    after: 6,
    labels: { job: "ccm", account: "main" },
    summary: "The cloud does not answer the account main.",
    quiet: { [requests("unavailable")]: "0+4x60", [requests("200")]: "0+5x60" },
  },
  {
    alert: "FairleadCredentialsRefused",
    fires: { [requests("unauthorized")]: "0+1x60", [requests("200")]: "0+100x60" },
    after: 6,
    labels: { job: "ccm", account: "main" },
    summary: "The cloud refuses the credentials of the account main.",
    quiet: { [requests("unauthorized")]: "7x60", [requests("403")]: "0+1x60" },
  },
  {
    alert: "FairleadQuotaExhausted",
    fires: { [requests("quota")]: "0+1x60" },
    after: 16,
    labels: { job: "ccm", account: "main" },
    summary: "A quota of the account main is exhausted.",
    quiet: { [requests("quota")]: "7x60", [requests("200")]: "0+1x60" },
  },
  {
    alert: "FairleadRateLimitNear",
    fires: {
      ...healthy,
      [gauge("fairlead_cloud_budget_remaining", `account="main"`)]: "90x60",
      [gauge("fairlead_cloud_budget_limit", `account="main"`)]: "1000x60",
    },
    after: 15,
    labels: { job: "ccm", instance: "a", account: "main" },
    summary: "The rate limit of the account main is nearly used up.",
    // The budget of a standby replica is old.
    quiet: {
      ...healthy,
      [`fairlead_cloud_budget_remaining{${b},account="main"}`]: "0x60",
      [`fairlead_cloud_budget_limit{${b},account="main"}`]: "1000x60",
      [gauge("fairlead_cloud_budget_remaining", `account="main"`)]: "101x60",
      [gauge("fairlead_cloud_budget_limit", `account="main"`)]: "1000x60",
    },
  },
  {
    alert: "FairleadRateLimitNear",
    fires: { ...healthy, [requests("rate-limited")]: "0+2x60" },
    after: 16,
    labels: { job: "ccm", account: "main" },
    summary: "The rate limit of the account main is nearly used up.",
    quiet: { ...healthy, [requests("rate-limited")]: "9x60" },
  },
  {
    alert: "FairleadInventoryStale",
    fires: { ...healthy, [gauge("fairlead_inventory_age_seconds", `source="eu"`)]: "0+60x100" },
    after: 66,
    labels: { job: "ccm", source: "eu" },
    summary: "The instances of eu have not been listed for an hour.",
    quiet: {
      ...healthy,
      [gauge("fairlead_inventory_age_seconds", `source="eu"`)]: "3599x60",
      [`fairlead_inventory_age_seconds{${b},source="eu"}`]: "0+60x100",
    },
  },
  {
    alert: "FairleadNodesUninitialized",
    fires: { [gauge("fairlead_nodes_uninitialized")]: "2x60" },
    after: 15,
    labels: { job: "ccm" },
    summary: "Nodes that are not initialized: 2.",
    quiet: { [gauge("fairlead_nodes_uninitialized")]: "2x10 0x1 3x10 0x40" },
  },
  {
    alert: "FairleadServicesFailing",
    fires: { [gauge("fairlead_services_with_problems")]: "1x60" },
    after: 15,
    labels: { job: "ccm" },
    summary: "Services with an active warning: 1.",
    quiet: { [gauge("fairlead_services_with_problems")]: "0x60" },
  },
  {
    alert: "FairleadRoutesFailing",
    fires: { [gauge("fairlead_route_changes_total", `result="failed"`)]: "0+1x60" },
    after: 16,
    labels: { job: "ccm" },
    summary: "Pod routes cannot be listed or changed.",
    quiet: {
      [gauge("fairlead_route_changes_total", `result="failed"`)]: "4x60",
      [gauge("fairlead_route_changes_total", `result="created"`)]: "0+1x60",
    },
  },
  {
    alert: "FairleadRoutesFailing",
    fires: { [gauge("fairlead_problems", `object="RouteTable",reason="RoutesUnknown"`)]: "1x60" },
    after: 15,
    labels: { job: "ccm" },
    summary: "Pod routes cannot be listed or changed.",
    quiet: { [gauge("fairlead_problems", `object="RouteTable",reason="RoutesUnknown"`)]: "0x60" },
  },
  {
    alert: "FairleadRouteTableNearlyFull",
    fires: {
      [gauge("fairlead_routes", `table="eu"`)]: "46x60",
      [gauge("fairlead_routes_limit", `table="eu"`)]: "50x60",
    },
    after: 15,
    labels: { job: "ccm", table: "eu" },
    summary: "The route table eu is 92% full.",
    quiet: {
      [gauge("fairlead_routes", `table="eu"`)]: "45x60",
      [gauge("fairlead_routes_limit", `table="eu"`)]: "50x60",
      // A table whose limit is unknown.
      [gauge("fairlead_routes", `table="us"`)]: "900x60",
    },
  },
  {
    alert: "FairleadMassLimitHolds",
    fires: { [gauge("fairlead_removals_held", `kind="nodes"`)]: "7x60" },
    after: 5,
    labels: { job: "ccm", kind: "nodes" },
    summary: "A mass limit holds nodes: 7.",
    quiet: { [gauge("fairlead_removals_held", `kind="nodes"`)]: "0x60" },
  },
  {
    alert: "FairleadNodeDeletionHeld",
    fires: { [gauge("fairlead_node_deletions_held", `reason="DeletionForbidden"`)]: "1x100" },
    after: 60,
    labels: { job: "ccm", reason: "DeletionForbidden" },
    summary: "Nodes without an instance that are kept because of DeletionForbidden: 1.",
    quiet: { [gauge("fairlead_node_deletions_held", `reason="MassDeletionHeld"`)]: "5x100" },
  },
  {
    alert: "FairleadLoadBalancersOrphaned",
    fires: { [gauge("fairlead_load_balancers_orphaned")]: "3x1500" },
    after: 1440,
    labels: { job: "ccm" },
    summary: "Load balancers that serve no Service: 3.",
    quiet: { [gauge("fairlead_load_balancers_orphaned")]: "3x1000 0x1 3x400" },
  },
  {
    alert: "FairleadWorkerStuck",
    fires: {
      ...healthy,
      [gauge("workqueue_longest_running_processor_seconds", `name="service"`)]: "0+60x60",
    },
    after: 11,
    labels: { job: "ccm", instance: "a", name: "service" },
    summary: "A worker of the queue service does not finish.",
    // A queue of another component.
    quiet: {
      ...healthy,
      'workqueue_longest_running_processor_seconds{job="kcm",instance="k",name="deployment"}': "0+60x60",
    },
  },
  {
    alert: "FairleadConfigurationRefused",
    fires: { [gauge("fairlead_configuration_invalid")]: "1x60" },
    after: 5,
    labels: { job: "ccm", instance: "a" },
    summary: "a refuses its configuration.",
    quiet: { [gauge("fairlead_configuration_invalid")]: "0x60" },
  },
  {
    alert: "FairleadRestartPending",
    fires: { [gauge("fairlead_configuration_restart_pending")]: "2x100" },
    after: 60,
    labels: { job: "ccm", instance: "a" },
    summary: "Changed settings that wait for a restart of a: 2.",
    quiet: { [gauge("fairlead_configuration_restart_pending")]: "2x30 0x70" },
  },
  {
    alert: "FairleadCertificateExpires",
    // Time begins at 0 in these tests, so six days are left.
    fires: {
      [gauge("fairlead_serving_certificate_expiration_timestamp_seconds", `port="webhook"`)]: "518400x100",
    },
    after: 60,
    labels: { job: "ccm", instance: "a", port: "webhook" },
    summary: "The certificate of the webhook port expires in 5d 23h 0m 0s.",
    quiet: {
      [gauge("fairlead_serving_certificate_expiration_timestamp_seconds", `port="webhook"`)]: "691200x100",
    },
  },
  {
    alert: "FairleadVolumesFailing",
    fires: {
      [gauge("fairlead_problems", `object="PersistentVolumeClaim",reason="ProvisioningFailed"`)]: "1x60",
    },
    after: 15,
    labels: { job: "ccm", object: "PersistentVolumeClaim", reason: "ProvisioningFailed" },
    summary: "PersistentVolumeClaim with ProvisioningFailed: 1.",
    quiet: { [gauge("fairlead_problems", `object="Service",reason="InvalidAnnotation"`)]: "1x60" },
  },
  {
    alert: "FairleadVolumesNotReady",
    fires: { [gauge("fairlead_volumes_ready", 'version="1"')]: "0x60" },
    after: 10,
    labels: { job: "ccm", instance: "a" },
    summary: "a serves no volumes.",
    quiet: { [gauge("fairlead_volumes_ready", 'version="1"')]: "0x8 1x60" },
  },
  {
    alert: "FairleadVolumeCallsFail",
    fires: {
      [gauge("fairlead_volumes_ready", 'version="1"')]: "1x60",
      [volumeCalls("Internal")]: "0+2x60",
      [volumeCalls("OK")]: "0+1x60",
    },
    after: 16,
    labels: { job: "ccm", instance: "a", method_name: "/csi.v1.Node/NodeStageVolume" },
    summary: "Most calls of /csi.v1.Node/NodeStageVolume fail on a.",
    quiet: {
      [gauge("fairlead_volumes_ready", 'version="1"')]: "1x60",
      [volumeCalls("Internal")]: "0+1x60",
      [volumeCalls("OK")]: "0+2x60",
    },
  },
];
