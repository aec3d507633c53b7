// The annotations under fairlead.dev/ that Services of every cloud accept. These names must never change.

import { minutes } from "../../../core/brand.ts";
import { buildField, duration, integer, oneOf } from "../../../core/fields.ts";
import { expectedSelector, parseNodeSelector } from "../../../core/node-selector.ts";
import type { Values } from "../../../core/settings.ts";
import { pauseValues } from "../../pause.ts";

export const ownAnnotations = {
  paused: oneOf(
    "Pauses this Service: Fairlead changes neither its load balancer nor the Service.",
    pauseValues,
    {
      fallback: "false",
    },
  ),
  "target-policy": oneOf(
    "Which Nodes are targets: all, those that match target-selector, those with a ready endpoint of the Service, or at most target-limit of them, spread over the zones.",
    ["all", "selector", "endpoints", "subset"],
  ),
  "target-selector": buildField(
    "Selects the target Nodes by their labels.",
    expectedSelector,
    parseNodeSelector,
    undefined,
  ),
  "target-limit": integer("The maximum number of target Nodes.", { min: 1 }),
  "target-drain": duration(
    "How long a leaving Node drains, without new connections, before it is removed from the targets. Ignored where the cloud does not support it.",
    { max: minutes(60) },
  ),
  "on-delete": oneOf(
    "What happens to the load balancer when the Service no longer needs it: delete it, or release it, so that it stays in the cloud without Fairlead's mark.",
    ["delete", "release"],
    { fallback: "delete" },
  ),
};

export interface OwnSettings {
  readonly values: Values<typeof ownAnnotations>;
  readonly frozen: ReadonlySet<keyof typeof ownAnnotations>;
}
