// Flags for the process as a whole and its connection to Kubernetes: upstream's groups "debugging", "generic" and "misc".

import { minutes, seconds } from "../../../core/brand.ts";
import { decimal, duration, flag, integer, oneOf, text } from "../../../core/fields.ts";
import { list, pairs } from "../../../core/list-fields.ts";
import type { Fields } from "../../../core/settings.ts";
import { deprecated, type FlagGroup, needsRestart, noEffect } from "../flag-notes.ts";

/** Upstream's. Many clusters have it. */
export const defaultClusterName = "kubernetes";

const debuggingFields = {
  profiling: needsRestart(
    flag("Serve profiles of the runtime and the log level under /debug/ on the secure port.", {
      fallback: true,
    }),
  ),
  "contention-profiling": noEffect(
    flag("Enable block profiling, if profiling is enabled.", { fallback: false }),
    "the runtime has no locks to profile; use --profiling",
  ),
} as const satisfies Fields;

const genericFields = {
  "min-resync-period": noEffect(
    duration("Minimum resync period of informers.", {}, { fallback: minutes(12 * 60) }),
    "there is no periodic resync; --node-status-update-frequency sets how often the cloud is listed",
  ),
  "kube-api-content-type": noEffect(
    text("Content type of requests to the API server.", { fallback: "application/vnd.kubernetes.protobuf" }),
    "requests to the API server use JSON",
  ),
  "kube-api-qps": needsRestart(
    decimal(
      "Maximum requests per second to the API server; 0 for no limit. If unset, the API server's own throttling applies.",
    ),
  ),
  "kube-api-burst": needsRestart(
    integer("Burst of requests to the API server before --kube-api-qps applies.", { min: 0 }),
  ),
  "controller-start-interval": noEffect(
    duration("Interval between starting controllers.", {}, { fallback: seconds(0) }),
    "the controllers share their watches and listings, so starting them together costs nothing",
  ),
  controllers: needsRestart(
    list(
      "Controllers to enable: * enables all, a name enables one, -name disables one. Controllers: cloud-node, cloud-node-lifecycle, service, node-route; upstream's names for them work too. kubelet-serving-csr is off unless it is named: it approves serving certificates of kubelets.",
      { fallback: ["*"] },
    ),
  ),
  "leader-elect": needsRestart(flag("Acquire a Lease before running the controllers.", { fallback: true })),
  "leader-elect-lease-duration": needsRestart(
    duration(
      "How long other replicas wait before they take over a Lease that is not renewed.",
      {},
      { fallback: seconds(15) },
    ),
  ),
  "leader-elect-renew-deadline": needsRestart(
    duration(
      "How long the leader retries to renew the Lease before it stops leading.",
      {},
      { fallback: seconds(10) },
    ),
  ),
  "leader-elect-retry-period": needsRestart(
    duration(
      "How long to wait between attempts to acquire or renew the Lease.",
      {},
      { fallback: seconds(2) },
    ),
  ),
  "leader-elect-resource-lock": needsRestart(
    oneOf("Type of the object that is used for locking.", ["leases"], {
      fallback: "leases",
    }),
  ),
  "leader-elect-resource-name": needsRestart(
    text("Name of the Lease object.", { fallback: "cloud-controller-manager" }),
  ),
  "leader-elect-resource-namespace": needsRestart(
    text("Namespace of the Lease object.", { fallback: "kube-system" }),
  ),
  "cloud-provider": needsRestart(
    text("Name of the cloud. Each executable supports one cloud and refuses other names."),
  ),
  "cloud-config": text("Path of the cloud's configuration file, in the format of its Go manager."),
  "external-cloud-volume-plugin": noEffect(
    text("Volume plugin for in-tree volumes of an external cloud."),
    "CSI drivers manage volumes",
  ),
  "use-service-account-credentials": needsRestart(
    flag(
      "Write with a separate service account of kube-system for each controller: node-controller, service-controller, route-controller. Watches, events and the Lease keep the identity of the process, and so does kubelet-serving-csr.",
      { fallback: false },
    ),
  ),
  "allow-untagged-cloud": deprecated(
    flag("Run even if instances have no cluster ID.", { fallback: false }),
    "instances need no cluster ID; resources in the cloud are marked with --cluster-name",
  ),
  "route-reconciliation-period": duration(
    "Interval between full route reconciliations; changes are reconciled immediately. If unset, about twelve hours.",
    { min: seconds(1) },
  ),
  "node-monitor-period": noEffect(
    duration("Interval between syncs of all Nodes.", {}, { fallback: seconds(5) }),
    "Nodes are reconciled when they change",
  ),
  "cluster-name": needsRestart(
    text("Name of the cluster. Resources that Fairlead creates in the cloud are marked with it.", {
      fallback: defaultClusterName,
    }),
  ),
  "cluster-cidr": needsRestart(
    text("CIDR ranges for pods, at most one per IP family. Routes outside these ranges are never changed."),
  ),
  "allocate-node-cidrs": noEffect(
    flag("Allocate pod CIDRs to Nodes.", { fallback: false }),
    "kube-controller-manager allocates pod CIDRs; routes are created for the CIDRs that a Node has",
  ),
  "cidr-allocator-type": noEffect(
    text("Type of the pod CIDR allocator.", { fallback: "RangeAllocator" }),
    "kube-controller-manager allocates pod CIDRs",
  ),
  "configure-cloud-routes": needsRestart(
    flag("Create routes to the pod CIDRs of each Node, if the cloud supports routes.", {
      fallback: true,
    }),
  ),
  "node-sync-period": deprecated(
    duration("Interval between syncs of all Nodes.", {}, { fallback: seconds(0) }),
    "upstream ignores it too; --node-status-update-frequency sets how often instances are listed",
  ),
  "feature-gates": pairs(
    "Upstream's feature gates, as Name=true or Name=false. Gates without effect are reported as warnings.",
  ),
} as const satisfies Fields;

const miscFields = {
  master: needsRestart(text("URL of the API server; overrides the one in the kubeconfig.")),
  kubeconfig: needsRestart(
    text(
      "Path of a kubeconfig file. If unset, the manager uses the service account of its pod, and other commands find the file as kubectl does.",
    ),
  ),
  "node-status-update-frequency": duration(
    "Interval between listings of all instances. If unset, five minutes, growing to thirty while nothing changes.",
    { min: seconds(1) },
  ),
} as const satisfies Fields;

export const debuggingFlags = {
  title: "debugging",
  fields: debuggingFields,
} satisfies FlagGroup;
export const genericFlags = { title: "generic", fields: genericFields } satisfies FlagGroup;
export const miscFlags = { title: "misc", fields: miscFields } satisfies FlagGroup;

// Flags of individual controllers, grouped as upstream groups them, and of leader migration.

const leaderMigrationFields = {
  "enable-leader-migration": needsRestart(
    flag("Run the migrated controllers under a Lease that is shared with kube-controller-manager.", {
      fallback: false,
    }),
  ),
  "leader-migration-config": needsRestart(
    text("Path of a LeaderMigrationConfiguration file. If unset, upstream's default configuration is used."),
  ),
} as const satisfies Fields;

const cloudNodeFields = {
  "concurrent-node-syncs": integer(
    "Number of workers that reconcile Nodes concurrently.",
    { min: 1, max: 200 },
    { fallback: 64 },
  ),
  "concurrent-node-status-updates": noEffect(
    integer("Number of workers that update Node statuses concurrently."),
    "--concurrent-node-syncs applies to all work on Nodes",
  ),
} as const satisfies Fields;

const serviceFields = {
  "concurrent-service-syncs": integer(
    "Number of load balancers that are reconciled concurrently.",
    { min: 1, max: 200 },
    { fallback: 32 },
  ),
} as const satisfies Fields;

export const leaderMigrationFlags = {
  title: "leader-migration",
  fields: leaderMigrationFields,
} satisfies FlagGroup;
export const cloudNodeFlags = {
  title: "cloud-node-controller",
  fields: cloudNodeFields,
} satisfies FlagGroup;
export const serviceFlags = {
  title: "service-lb-controller",
  fields: serviceFields,
} satisfies FlagGroup;
