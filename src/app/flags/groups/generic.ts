// Flags for the process as a whole and its connection to Kubernetes: upstream's groups "debugging", "generic" and "misc".

import { type Milliseconds, minutes, seconds } from "../../../core/brand.ts";
import { decimal, duration, flag, oneOf, quoted, text } from "../../../core/fields.ts";
import { list, pairs } from "../../../core/list-fields.ts";
import type { Field, Fields } from "../../../core/settings.ts";
import { deprecated, live, noEffect } from "../flag-notes.ts";
import { goInteger } from "../pflag.ts";

/** Upstream's default, which many clusters have. */
export const defaultClusterName = "kubernetes";

const shortest = seconds(1);

/** Upstream repeats the work without a pause when the period is 0s. */
function period(what: string): Field<Milliseconds> {
  const { parse, ...field } = duration(`${what} Less than 1s counts as 1s.`);
  const raised = (raw: string, { key } = { key: "" }) => {
    const text = `${key} must be at least 1s, got ${quoted(raw)}; 1s is used`;
    return {
      value: shortest,
      problems: [{ severity: "warning", reason: "ShortInterval", key, text }],
    } as const;
  };
  const isShort = (parsed: ReturnType<typeof parse>) => "value" in parsed && parsed.value < shortest;
  return { ...field, parse: (raw, context) => (isShort(parse(raw)) ? raised(raw, context) : parse(raw)) };
}

export const debuggingFields = {
  profiling: flag("Serve runtime profiles and the log level under /debug/ on the secure port.", {
    fallback: true,
  }),
  ...noEffect("the runtime has no locks to profile; use --profiling", {
    "contention-profiling": flag("Enable block profiling, if profiling is enabled.", { fallback: false }),
  }),
} as const satisfies Fields;

export const genericFields = {
  controllers: list(
    "Controllers to enable: * enables all, a name enables one, -name disables one. Controllers: cloud-node, cloud-node-lifecycle, service, node-route; upstream's names for them work too. Off unless named: kubelet-serving-csr approves kubelet serving certificates, volume manages volumes without sidecars, and tagging adds --tags to machines (AWS).",
    { fallback: ["*"] },
  ),
  "cluster-name": text("Name of the cluster. In most clouds, it marks the objects that Fairlead creates.", {
    fallback: defaultClusterName,
  }),
  "cluster-cidr": text(
    "CIDR ranges for pods, at most one per IP family. Routes outside these ranges are never changed.",
  ),
  "configure-cloud-routes": flag(
    "Create routes to the pod CIDRs of each Node, if the cloud supports routes.",
    {
      fallback: true,
    },
  ),
  "cloud-provider": text("Name of the cloud. Each executable supports one cloud and rejects other names."),
  ...live({
    "cloud-config": text("Path of the cloud's configuration file, in the format of its Go manager."),
    "route-reconciliation-period": period(
      "Interval between full route reconciliations; changes are reconciled immediately. If unset, about twelve hours.",
    ),
    "feature-gates": pairs(
      "Upstream's feature gates, as Name=true or Name=false. Gates without effect are reported as warnings.",
    ),
  }),
  "leader-elect": flag("Acquire a Lease before running the controllers.", { fallback: true }),
  "leader-elect-lease-duration": duration(
    "How long other replicas wait before they take over a Lease that is not renewed.",
    {},
    { fallback: seconds(15) },
  ),
  "leader-elect-renew-deadline": duration(
    "How long the leader retries to renew the Lease before it stops leading.",
    {},
    { fallback: seconds(10) },
  ),
  "leader-elect-retry-period": duration(
    "How long to wait between attempts to acquire or renew the Lease.",
    {},
    { fallback: seconds(2) },
  ),
  "leader-elect-resource-lock": oneOf("Type of the lock object.", ["leases"], {
    fallback: "leases",
  }),
  "leader-elect-resource-name": text("Name of the Lease object.", { fallback: "cloud-controller-manager" }),
  "leader-elect-resource-namespace": text("Namespace of the Lease object.", { fallback: "kube-system" }),
  "use-service-account-credentials": flag(
    "Write with a separate service account in kube-system for each controller: node-controller, service-controller, route-controller. Watches, events, the Lease, kubelet-serving-csr, volume and tagging use the identity of the process.",
    { fallback: false },
  ),
  "kube-api-qps": decimal(
    "Maximum requests per second to the API server; 0 for no limit. If unset, the API server's own throttling applies.",
  ),
  "kube-api-burst": goInteger("Burst of requests to the API server before --kube-api-qps applies.", {
    min: 0,
  }),
  ...noEffect("requests to the API server use JSON", {
    "kube-api-content-type": text("Content type of requests to the API server.", {
      fallback: "application/vnd.kubernetes.protobuf",
    }),
  }),
  ...noEffect(
    "there is no periodic resync; --node-status-update-frequency sets how often the cloud is listed",
    {
      "min-resync-period": duration(
        "Minimum resync period of informers.",
        {},
        { fallback: minutes(12 * 60) },
      ),
    },
  ),
  ...noEffect("the controllers share their watches and listings, so starting them together costs nothing", {
    "controller-start-interval": duration(
      "Interval between starting controllers.",
      {},
      { fallback: seconds(0) },
    ),
  }),
  ...noEffect("CSI drivers manage volumes", {
    "external-cloud-volume-plugin": text("Volume plugin for in-tree volumes of an external cloud."),
  }),
  ...noEffect(
    "kube-controller-manager allocates pod CIDRs; routes are created for the CIDRs that a Node has",
    {
      "allocate-node-cidrs": flag("Allocate pod CIDRs to Nodes.", { fallback: false }),
      "cidr-allocator-type": text("Type of the pod CIDR allocator.", { fallback: "RangeAllocator" }),
    },
  ),
  ...deprecated(
    "on AWS the cluster tag is always required; on other clouds instances need no cluster ID. Created objects are marked with --cluster-name or the id from the cloud settings",
    { "allow-untagged-cloud": flag("Run even if instances have no cluster ID.", { fallback: false }) },
  ),
  ...deprecated(
    "upstream ignores it too; --node-status-update-frequency sets how often instances are listed",
    {
      "node-sync-period": duration("Interval between syncs of all Nodes.", {}, { fallback: seconds(0) }),
    },
  ),
} as const satisfies Fields;

export const miscFields = {
  master: text("URL of the API server; overrides the one in the kubeconfig."),
  kubeconfig: text(
    "Path of a kubeconfig file. If unset, the manager uses the service account of its pod, and other commands find the file as kubectl does.",
  ),
  ...live({
    "node-status-update-frequency": period(
      "Interval between listings of all instances. If unset, five minutes, growing to thirty while nothing changes.",
    ),
  }),
} as const satisfies Fields;
