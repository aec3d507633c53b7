// The flags in the shape of upstream's component configuration with Go's field names, for /configz.

import { goDuration } from "../../core/duration.ts";
import type { Flags } from "../flags/flag-table.ts";
import type { LeaderMigration } from "../leadership/leader-migration.ts";

const group = "cloudcontrollermanager.config.k8s.io";

export function configz(flags: Flags, provider: string, migration: LeaderMigration | undefined) {
  return {
    [group]: {
      kind: "CloudControllerManagerConfiguration",
      apiVersion: `${group}/v1alpha1`,
      Generic: {
        Port: 0,
        Address: "0.0.0.0",
        MinResyncPeriod: goDuration(flags["min-resync-period"]),
        ClientConnection: {
          kubeconfig: flags.kubeconfig ?? "",
          acceptContentTypes: "",
          contentType: flags["kube-api-content-type"] ?? "",
          qps: flags["kube-api-qps"] ?? 0,
          burst: flags["kube-api-burst"] ?? 0,
        },
        ControllerStartInterval: goDuration(flags["controller-start-interval"]),
        LeaderElection: {
          leaderElect: flags["leader-elect"],
          leaseDuration: goDuration(flags["leader-elect-lease-duration"]),
          renewDeadline: goDuration(flags["leader-elect-renew-deadline"]),
          retryPeriod: goDuration(flags["leader-elect-retry-period"]),
          resourceLock: flags["leader-elect-resource-lock"],
          resourceName: flags["leader-elect-resource-name"],
          resourceNamespace: flags["leader-elect-resource-namespace"],
        },
        Controllers: flags.controllers,
        Debugging: { enableProfiling: flags.profiling, enableContentionProfiling: false },
        LeaderMigrationEnabled: flags["enable-leader-migration"],
        // Without leader migration, upstream shows Go's zero values.
        LeaderMigration: {
          leaderName: migration?.leaderName ?? "",
          resourceLock: migration === undefined ? "" : "leases",
          controllerLeaders: migration?.controllerLeaders ?? null,
        },
      },
      KubeCloudShared: {
        CloudProvider: {
          Name: flags["cloud-provider"] ?? provider,
          CloudConfigFile: flags["cloud-config"] ?? "",
        },
        ExternalCloudVolumePlugin: "",
        UseServiceAccountCredentials: flags["use-service-account-credentials"],
        AllowUntaggedCloud: false,
        RouteReconciliationPeriod: goDuration(flags["route-reconciliation-period"] ?? 0),
        ClusterName: flags["cluster-name"],
        ClusterCIDR: (flags["cluster-cidr"] ?? "").toString(),
        AllocateNodeCIDRs: flags["allocate-node-cidrs"],
        CIDRAllocatorType: flags["cidr-allocator-type"],
        ConfigureCloudRoutes: flags["configure-cloud-routes"],
        NodeSyncPeriod: goDuration(flags["node-sync-period"]),
      },
      NodeController: {
        ConcurrentNodeSyncs: flags["concurrent-node-syncs"],
        ConcurrentNodeStatusUpdates: flags["concurrent-node-status-updates"] ?? 0,
      },
      NodeLifecycleController: {
        NodeMonitorPeriod: goDuration(flags["node-monitor-period"] ?? 0),
        ConcurrentNodeLifecycleSyncs: flags["concurrent-node-lifecycle-syncs"] ?? 0,
      },
      ServiceController: { ConcurrentServiceSyncs: flags["concurrent-service-syncs"] },
      NodeStatusUpdateFrequency: goDuration(flags["node-status-update-frequency"] ?? 0),
      Webhook: { Webhooks: flags.webhooks ?? [] },
    },
  };
}
