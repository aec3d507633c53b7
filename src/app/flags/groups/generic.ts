// Flags about the process as a whole and its way to Kubernetes: upstream's groups "debugging", "generic" and "misc".

import { minutes, seconds } from "../../../core/brand.ts";
import { decimal, duration, flag, integer, oneOf, text } from "../../../core/fields.ts";
import { list, pairs } from "../../../core/list-fields.ts";
import type { Fields } from "../../../core/settings.ts";
import { deprecated, type FlagGroup, needsRestart, noEffect } from "../flag-notes.ts";

const debuggingFields = {
  profiling: needsRestart(
    flag("Serve profiles of this runtime and the log level under /debug/ on the secure port.", {
      fallback: true,
    }),
  ),
  "contention-profiling": noEffect(
    flag("Profile what blocks.", { fallback: false }),
    "this runtime has no locks to profile; --profiling serves what there is",
  ),
} as const satisfies Fields;

const genericFields = {
  "min-resync-period": noEffect(
    duration(
      "Least time between two looks at all objects of the API server.",
      {},
      { fallback: minutes(12 * 60) },
    ),
    "nothing is looked at again without a reason; --node-status-update-frequency sets how often the cloud is listed",
  ),
  "kube-api-content-type": noEffect(
    text("Format of requests to the API server.", { fallback: "application/vnd.kubernetes.protobuf" }),
    "the API server is asked in JSON",
  ),
  "kube-api-qps": decimal(
    "Hard limit of requests per second to the API server, 0 for none; without it, the server's answers decide.",
  ),
  "kube-api-burst": integer("Requests that may go at once before --kube-api-qps applies.", { min: 0 }),
  "controller-start-interval": noEffect(
    duration("Pause between the starts of two controllers.", {}, { fallback: seconds(0) }),
    "the controllers share one watch and one listing, so starting them together costs nothing",
  ),
  controllers: list(
    "Controllers to run: *, a name, or -name. Known: cloud-node, cloud-node-lifecycle, service, node-route, and upstream's longer names.",
    { fallback: ["*"] },
  ),
  "leader-elect": flag("Work only while holding the Lease.", { fallback: true }),
  "leader-elect-lease-duration": duration(
    "Time after which a Lease that is not renewed is free.",
    {},
    { fallback: seconds(15) },
  ),
  "leader-elect-renew-deadline": duration(
    "Time within which the leader must renew.",
    {},
    { fallback: seconds(10) },
  ),
  "leader-elect-retry-period": duration("Pause between two attempts.", {}, { fallback: seconds(2) }),
  "leader-elect-resource-lock": oneOf("Kind of object that leadership is held by.", ["leases"], {
    fallback: "leases",
  }),
  "leader-elect-resource-name": needsRestart(
    text("Name of the Lease.", { fallback: "cloud-controller-manager" }),
  ),
  "leader-elect-resource-namespace": needsRestart(
    text("Namespace of the Lease.", { fallback: "kube-system" }),
  ),
  "cloud-provider": text(
    "Name of the cloud. Each executable is for one; a name that is not this one's is refused.",
  ),
  "cloud-config": text(
    "Path of the cloud's own configuration file, in the format of that cloud's Go manager.",
  ),
  "external-cloud-volume-plugin": noEffect(
    text("Plugin for volumes in the tree of Kubernetes."),
    "volumes are the CSI driver's",
  ),
  "use-service-account-credentials": noEffect(
    flag("One identity for each controller.", { fallback: false }),
    "all controllers use the identity of this process; give it the rights of the Go manager's service accounts",
  ),
  "allow-untagged-cloud": deprecated(
    flag("Go on when machines carry no cluster id.", { fallback: false }),
    "no cluster id is looked for on machines; --cluster-name is our mark",
  ),
  "route-reconciliation-period": duration(
    "Time between two looks at all routes. Without it, about twelve hours; what changes is looked at at once.",
    { min: seconds(1) },
  ),
  "node-monitor-period": noEffect(
    duration("Time between two looks at all Nodes.", {}, { fallback: seconds(5) }),
    "Nodes are looked at when they change",
  ),
  "cluster-name": text("Name of the cluster; part of the mark on what we make in the cloud.", {
    fallback: "kubernetes",
  }),
  "cluster-cidr": text(
    "Pod ranges of the cluster, at most one per IP family; routes outside them are never touched.",
  ),
  "allocate-node-cidrs": noEffect(
    flag("Give Nodes their pod ranges.", { fallback: false }),
    "kube-controller-manager gives Nodes their pod ranges; routes are made to whatever range a Node has",
  ),
  "cidr-allocator-type": noEffect(
    text("How pod ranges are given to Nodes.", { fallback: "RangeAllocator" }),
    "kube-controller-manager gives Nodes their pod ranges",
  ),
  "configure-cloud-routes": flag("Make routes to the pods of every node, where the cloud has routes.", {
    fallback: true,
  }),
  "node-sync-period": deprecated(
    duration("Time between two looks at all Nodes.", {}, { fallback: seconds(0) }),
    "upstream ignores it too; --node-status-update-frequency sets how often machines are listed",
  ),
  "feature-gates": pairs(
    "Upstream's feature gates, as Name=true or Name=false; each says what it comes to here.",
  ),
} as const satisfies Fields;

const miscFields = {
  master: needsRestart(text("Address of the API server; overrides the one in the kubeconfig.")),
  kubeconfig: needsRestart(
    text("Path of a kubeconfig file; without it the service account of the pod is used."),
  ),
  "node-status-update-frequency": duration(
    "Time between two looks at all machines. Without it, five minutes that stretch to thirty while nothing changes.",
    { min: seconds(1) },
  ),
} as const satisfies Fields;

export const debuggingFlags = {
  title: "debugging",
  fields: debuggingFields,
} satisfies FlagGroup;
export const genericFlags = { title: "generic", fields: genericFields } satisfies FlagGroup;
export const miscFlags = { title: "misc", fields: miscFields } satisfies FlagGroup;
