// Flags that upstream does not have: safety limits, Node addresses and labels, load balancers, and cloud settings.

import { isReservedLabel } from "../../../controllers/well-known.ts";
import { milliseconds, minutes, seconds } from "../../../core/brand.ts";
import { buildField, duration, flag, oneOf, quoted, text } from "../../../core/fields.ts";
import { cidrList, entries, list, pairs } from "../../../core/list-fields.ts";
import type { Fields } from "../../../core/settings.ts";
import { live } from "../flag-notes.ts";
import { goInteger } from "../pflag.ts";

/** The form that the API server requires. */
const classForm =
  /^(?:[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?\/)?[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;

const parseClass = (name: string): string | undefined => (classForm.test(name) ? name : undefined);

export const ownFields = {
  mode: oneOf(
    "enforce applies changes; observe only logs the changes it would make, and writes nothing.",
    ["enforce", "observe"],
    {
      fallback: "enforce",
    },
  ),
  "node-selector": pairs(
    "Manage only Nodes with these labels: initialization, shutdown taint, deletion, routes and load balancer targets. Nodes with another cloud's provider ID are never managed.",
  ),
  ...live({
    compatibility: oneOf(
      "fairlead: use Fairlead's defaults. upstream: use the Go managers' defaults where Fairlead's differ (see docs/differences.md); flags set explicitly take precedence.",
      ["fairlead", "upstream"],
      { fallback: "fairlead" },
    ),
    "node-address-families": list("IP families of Node addresses, in order of preference: IPv4, IPv6."),
    "node-address-include": cidrList("Set only addresses in these CIDR ranges on Nodes."),
    "node-address-exclude": cidrList("Do not set addresses in these CIDR ranges on Nodes."),
    "node-address-networks": list("Set only addresses in these cloud networks on Nodes."),
    "node-address-order": list(
      "Address types to list first on Nodes: InternalIP, ExternalIP, Hostname, InternalDNS, ExternalDNS.",
    ),
    "label-policy": pairs(
      "What to do when a Node label differs from the cloud, as key=policy. sync: overwrite it; report: emit an event; once: set it only when the Node joins.",
    ),
    "node-labels-from": entries(
      "Machine labels, tags or metadata to copy to Nodes as labels: keys, or prefixes that end with *. The Node labels follow the cloud, including removals, unless --label-policy says otherwise. Kubernetes labels are never copied.",
      "a comma-separated list of label keys such as team,example.com/*, none of kubernetes.io or k8s.io",
      (entry) => (/^[^*]+\*?$/.test(entry) && !isReservedLabel(entry) ? entry : undefined),
    ),
    "node-taints-from": buildField(
      "Prefix of machine labels, tags or metadata to copy to Nodes as taints: with example.com/, the label example.com/gpu with the value true.NoSchedule becomes the taint example.com/gpu=true:NoSchedule. The supported effects are NoSchedule and PreferNoSchedule. All Node taints with this prefix and these effects follow the cloud.",
      "the beginning of a label key such as example.com/, not of kubernetes.io or k8s.io",
      (raw) =>
        /^[A-Za-z0-9][A-Za-z0-9_./-]*$/.test(raw) && !isReservedLabel(raw)
          ? { value: raw }
          : { wrong: quoted(raw) },
      {},
    ),
    "reconcile-labels": flag(
      "Keep Node labels in sync with the cloud after the Node is initialized. The Go managers set them only once.",
      {
        fallback: true,
      },
    ),
    "prefer-beta-labels": flag(
      "If a Node has both the beta and the GA label, the beta label overwrites the GA label, as upstream does.",
      {
        fallback: false,
      },
    ),
    "node-match-timeout": duration(
      "How long a Node whose instance was found in one account or region waits for the other accounts and regions to answer, because they may contain an instance with the same name. After this time, the Node gets the provider ID of the instance that was found. 0s does not wait. If unset, the wait is unlimited.",
    ),
    "remove-shutdown-taint": oneOf(
      "When to remove the shutdown taint: when the instance runs, or when the Node is Ready (as upstream does).",
      ["when-running", "when-ready"],
      { fallback: "when-running" },
    ),
    "out-of-service-taint": oneOf(
      "What to do with NotReady Nodes whose machine is proved to be stopped or gone: enforce sets the taint node.kubernetes.io/out-of-service=nodeshutdown:NoExecute, which evicts their pods and releases their volumes, and removes it when the machine runs; observe only reports them.",
      ["off", "observe", "enforce"],
      { fallback: "off" },
    ),
    "node-deletion": oneOf(
      "What to do with Nodes whose instance no longer exists: off keeps them, observe only reports them, enforce deletes them.",
      ["off", "observe", "enforce"],
      {
        fallback: "enforce",
      },
    ),
    "absence-confirmation": duration(
      "Minimum time between the first and the last answer that lacks an instance, load balancer or route, before Fairlead deletes the Node, recreates the object or removes the finalizer. A vanished Service has the same time to come back. 0s: one answer is enough, even to delete a Node without provider ID that has been NotReady for less than ten minutes, as upstream does.",
      {},
      { fallback: seconds(30) },
    ),
    "removal-limit": text(
      "Maximum number of Nodes, load balancers, routes and volumes, each counted separately, to remove or recreate within ten minutes because something is absent: 20% (at least two), 20%,min=0,max=50, a number such as 5, or off. Nodes annotated for deletion do not count towards the limit.",
      { fallback: "20%" },
    ),
    "vanished-service-policy": oneOf(
      "What to do with the load balancer of a Service that is gone although Fairlead did not remove its finalizer: a user removed the finalizer manually, or the API server lost the Service. delete: delete the load balancer; --removal-limit applies unless the deletion of the Service was seen. keep: report the load balancer as an orphan.",
      ["delete", "keep"],
      { fallback: "delete" },
    ),
    "load-balancer-drift": oneOf(
      "What to do when a load balancer is changed in the cloud. repair: report and repair it. report: only report the change, until the Service changes; targets still follow the Nodes. After a start, the origin of a difference is unknown: repair applies the Service, report only reports the difference.",
      ["report", "repair"],
      { fallback: "repair" },
    ),
    "load-balancer-targets": oneOf(
      "Default targets of load balancers. all: every Node; endpoints: Nodes with a ready endpoint; local-endpoints: the same, only for Services with externalTrafficPolicy: Local. endpoints and local-endpoints require access to EndpointSlices.",
      ["all", "endpoints", "local-endpoints"],
      { fallback: "all" },
    ),
    "load-balancer-target-drain": duration(
      "How long a Node stays a draining target, without new connections, before it is removed. Only for clouds that support draining.",
      { max: minutes(60) },
      { fallback: milliseconds(0) },
    ),
    "unhealthy-targets-condition": goInteger(
      "Percentage of targets that must fail the cloud's health checks before the Service gets the condition TargetsUnhealthy; 100: only while all targets are unhealthy; 0: never. With externalTrafficPolicy: Local, Nodes without a pod of the Service are unhealthy by design. An event always reports that all targets are unhealthy.",
      { min: 0, max: 100 },
      { fallback: 0 },
    ),
    "cloud-call-timeout": duration(
      "Deadline for a single request to the cloud.",
      { min: milliseconds(100) },
      { fallback: seconds(30) },
    ),
    "drain-timeout": duration(
      "Time for in-flight work to finish after SIGTERM, and before a reload applies changes; 0s cancels it immediately.",
      {},
      { fallback: seconds(10) },
    ),
    "strict-feature-gates": flag(
      "Reject unknown names in --feature-gates, as the Go managers do, instead of warning about them.",
      { fallback: false },
    ),
    "config-set": pairs(
      "Cloud settings, as name=value. They take precedence over files and environment variables.",
    ),
    "allow-unknown-variables": flag(
      "Start even if the name of an environment variable resembles the variable of a setting, and only log it.",
      { fallback: false },
    ),
  }),
  "foreign-nodes": oneOf(
    "What to do with Nodes that k3s or RKE2 has initialized, whose provider IDs begin with k3s:// or rke2://. ignore: leave them alone. targets: find their instances by name and address, make them targets of load balancers, and set labels that they lack; they are never initialized, tainted or deleted, and get no routes.",
    ["ignore", "targets"],
    { fallback: "ignore" },
  ),
  "load-balancer-class": entries(
    "Serve the Services with these values of spec.loadBalancerClass, too. Remove a class only after its Services are gone: no other manager removes their finalizer.",
    "a comma-separated list of load balancer classes such as example.com/shop",
    parseClass,
  ),
  "load-balancer-class-only": flag(
    "Leave Services without a class to another manager. Needs --load-balancer-class.",
    { fallback: false },
  ),
  "exit-on-lost-lease": flag(
    "Exit with code 1 when the Lease is lost, as the Go managers do, instead of waiting to lead again.",
    {
      fallback: false,
    },
  ),
  "tracing-endpoint": text(
    "OpenTelemetry collector that receives traces of reconciles and requests as OTLP over HTTP, for example http://127.0.0.1:4318; unset sends none, unless a variable of OpenTelemetry is set, such as OTEL_EXPORTER_OTLP_ENDPOINT.",
  ),
  "tracing-sampling-rate-per-million": goInteger(
    "Number of traces to record per million.",
    { min: 0, max: 1_000_000 },
    { fallback: 1_000_000 },
  ),
  config: text("Path of a YAML file with flags and cloud settings; it is reloaded when it changes."),
} as const satisfies Fields;
