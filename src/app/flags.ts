// The flags, once: reading, help and reference all come from this table. Names, meaning and defaults are upstream's where
// upstream has the flag; what only we have is in the group "fairlead".

import { milliseconds, minutes, seconds } from "../core/brand.ts";
import { duration, flag, integer, oneOf, text } from "../core/fields.ts";
import { cidrList, list, pairs } from "../core/list-fields.ts";
import type { Fields } from "../core/settings.ts";

export const flagFields = {
  kubeconfig: text("Path of a kubeconfig file; without it the service account of the pod is used."),
  master: text("Address of the API server; overrides the one in the kubeconfig."),
  "cloud-provider": text(
    "Name of the cloud; accepted for compatibility and checked against the one built in.",
  ),
  "cloud-config": text("Path of the cloud's configuration file. Not read by this version, which says so."),
  "cluster-name": text("Name of the cluster; part of the mark on what we make in the cloud.", {
    fallback: "kubernetes",
  }),
  "kube-api-qps": integer(
    "Hard limit of requests per second to the API server; without it, the server's answers decide.",
    { min: 1 },
  ),
  "kube-api-burst": integer("Requests that may go at once before --kube-api-qps applies.", { min: 1 }),
  "concurrent-node-syncs": integer(
    "Nodes worked on at the same time.",
    { min: 1, max: 200 },
    { fallback: 64 },
  ),
  "configure-cloud-routes": flag("Make routes to the pods of every node, where the cloud has routes.", {
    fallback: true,
  }),
  "allocate-node-cidrs": flag("Accepted for compatibility.", { fallback: false }),
  "cluster-cidr": text(
    "Pod ranges of the cluster, at most one per IP family; routes outside them are never touched.",
  ),
  "route-reconciliation-period": duration(
    "Time between two looks at all routes. Without it, about twelve hours; what changes is looked at at once.",
    { min: seconds(1) },
  ),
  "concurrent-service-syncs": integer(
    "Balancers worked on at the same time.",
    { min: 1, max: 200 },
    { fallback: 32 },
  ),
  "concurrent-node-status-updates": integer("Accepted for compatibility; --concurrent-node-syncs counts.", {
    min: 0,
  }),
  "node-status-update-frequency": duration(
    "Time between two looks at all machines. Without it, five minutes that stretch to thirty while nothing changes.",
    { min: seconds(1) },
  ),
  "node-monitor-period": duration("Accepted for compatibility; Nodes are looked at when they change."),
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
  "leader-elect-resource-name": text("Name of the Lease.", { fallback: "cloud-controller-manager" }),
  "leader-elect-resource-namespace": text("Namespace of the Lease.", { fallback: "kube-system" }),
  controllers: list(
    "Controllers to run: *, a name, or -name. Known: cloud-node, cloud-node-lifecycle, service, node-route.",
    {
      fallback: ["*"],
    },
  ),

  mode: oneOf("observe plans everything and writes nothing.", ["enforce", "observe"], {
    fallback: "enforce",
  }),
  compatibility: oneOf(
    "upstream sets the flags by which we differ to the Go managers' way; one that is given counts more. docs/differences.md names them.",
    ["fairlead", "upstream"],
    { fallback: "fairlead" },
  ),
  "node-selector": pairs(
    "Only Nodes with these labels are initialised; Nodes with a foreign provider id never are.",
  ),
  "node-address-families": list("IP families a Node shows, in order of preference: IPv4, IPv6."),
  "node-address-include": cidrList("Only addresses in these ranges are shown on Nodes."),
  "node-address-exclude": cidrList("Addresses in these ranges are not shown on Nodes."),
  "node-address-networks": list("Only addresses in these networks of the cloud are shown on Nodes."),
  "node-address-order": list(
    "Kinds of address that come first: InternalIP, ExternalIP, Hostname, InternalDNS, ExternalDNS.",
  ),
  "label-policy": pairs("What to do when the cloud says otherwise, as key=sync|report|once."),
  "reconcile-labels": flag(
    "Keep labels as the cloud says after a Node has joined; upstream looks at them once.",
    {
      fallback: true,
    },
  ),
  "beta-labels-win": flag("A label in its old spelling overwrites the present one, as upstream does.", {
    fallback: false,
  }),
  "shutdown-taint-goes": oneOf(
    "When the taint of a Node that was switched off goes; upstream's is when-ready.",
    ["when-running", "when-ready"],
    { fallback: "when-running" },
  ),
  "node-deletion": oneOf(
    "What happens to Nodes whose machine is proved to be gone.",
    ["off", "observe", "enforce"],
    {
      fallback: "enforce",
    },
  ),
  "node-deletion-proofs": integer(
    "Proofs of absence that a deletion takes.",
    { min: 1, max: 2 },
    { fallback: 2 },
  ),
  "node-deletion-confirmation": duration(
    "Time between the first and the last proof.",
    {},
    { fallback: seconds(30) },
  ),
  "node-deletion-limit": text(
    "Nodes that may go unannounced within ten minutes: a share such as 20%, or off. Two may go in any case.",
    { fallback: "20%" },
  ),
  "node-deletion-min-age": duration(
    "A Node without provider id is not deleted before this age.",
    {},
    { fallback: minutes(10) },
  ),
  "load-balancer-drift": oneOf(
    "What happens to a balancer that somebody changed in the cloud.",
    ["report", "repair"],
    { fallback: "repair" },
  ),
  "cloud-call-timeout": duration(
    "Deadline of one request to the cloud.",
    { min: milliseconds(100) },
    { fallback: seconds(30) },
  ),
  "config-set": pairs("Settings of the cloud by name, over those from the environment."),
  "log-format": oneOf("How log lines look.", ["text", "json"], { fallback: "text" }),
  v: integer(
    "How much is logged: 0 decisions and problems, 2 more of what happens, 4 every request.",
    { min: 0, max: 10 },
    { fallback: 0 },
  ),
  help: flag("Show this.", { fallback: false }),
  version: flag("Show the version.", { fallback: false }),
} as const satisfies Fields;

export type FlagName = keyof typeof flagFields;

/** What `--compatibility=upstream` stands for. */
export const upstreamProfile: Readonly<Partial<Record<FlagName, string>>> = {
  "node-deletion-proofs": "1",
  "node-deletion-limit": "off",
  "node-deletion-min-age": "0s",
  "reconcile-labels": "false",
  "beta-labels-win": "true",
  "shutdown-taint-goes": "when-ready",
  "node-status-update-frequency": "5m",
  "route-reconciliation-period": "10s",
};

const switches: readonly FlagName[] = [
  "leader-elect",
  "reconcile-labels",
  "beta-labels-win",
  "configure-cloud-routes",
  "allocate-node-cidrs",
  "help",
  "version",
];
const lists: readonly FlagName[] = [
  "controllers",
  "node-selector",
  "node-address-families",
  "node-address-include",
  "node-address-exclude",
  "node-address-networks",
  "node-address-order",
  "label-policy",
  "config-set",
];

export const flagShapes = Object.fromEntries(
  (Object.keys(flagFields) as FlagName[]).map((name) => [
    name,
    {
      kind: switches.includes(name) ? "switch" : lists.includes(name) ? "list" : "value",
      ...(name === "help" && { shorthand: "h" }),
      ...(name === "v" && { shorthand: "v" }),
    } as const,
  ]),
);
