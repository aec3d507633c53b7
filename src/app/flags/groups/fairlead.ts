// Flags that only we have: the safety brakes, what Nodes show, and where the cloud's settings come from.

import { milliseconds, minutes, seconds } from "../../../core/brand.ts";
import { duration, flag, integer, oneOf, text } from "../../../core/fields.ts";
import { cidrList, list, pairs } from "../../../core/list-fields.ts";
import type { Fields } from "../../../core/settings.ts";
import { type FlagGroup, needsRestart } from "../flag-notes.ts";

const ownFields = {
  mode: oneOf("observe plans everything and writes nothing.", ["enforce", "observe"], {
    fallback: "enforce",
  }),
  compatibility: oneOf(
    "upstream sets the flags by which we differ to the Go managers' way; one that is given counts more. docs/differences.md names them.",
    ["fairlead", "upstream"],
    { fallback: "fairlead" },
  ),
  "node-selector": pairs(
    "Only Nodes with these labels are initialised, tainted when switched off, deleted, given routes, and targets of load balancers; Nodes with a foreign provider id never are.",
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
    "What happens to a balancer that somebody changed in the cloud while this process was its manager; what was changed before, as at a start, is always put right.",
    ["report", "repair"],
    { fallback: "repair" },
  ),
  "load-balancer-targets": oneOf(
    "Nodes that are targets of Services that do not say it: all, those with a ready endpoint, or those for Services whose external traffic policy is Local. The last two read EndpointSlices.",
    ["all", "endpoints", "local-endpoints"],
    { fallback: "all" },
  ),
  "load-balancer-target-drain": duration(
    "How long a node that leaves takes no new connections before it is no target any more, where the cloud can do that.",
    { max: minutes(60) },
    { fallback: milliseconds(0) },
  ),
  "cloud-call-timeout": duration(
    "Deadline of one request to the cloud.",
    { min: milliseconds(100) },
    { fallback: seconds(30) },
  ),
  "exit-on-lost-lease": needsRestart(
    flag("End with 1 when the Lease is lost, as the Go managers do, instead of waiting for it.", {
      fallback: false,
    }),
  ),
  "drain-timeout": duration(
    "Time that work in hand gets to finish after SIGTERM; 0s cuts it off.",
    {},
    { fallback: seconds(10) },
  ),
  "config-set": pairs("Settings of the cloud by name; over those from files and from the environment."),
  config: needsRestart(
    text("Path of a YAML file with flags and the cloud's settings; read again when it changes."),
  ),
} as const satisfies Fields;

export const ownFlags = { title: "Fairlead", fields: ownFields } satisfies FlagGroup;
