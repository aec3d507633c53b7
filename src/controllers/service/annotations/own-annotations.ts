// The annotations under fairlead.dev/ that are understood on Services, whatever the cloud. Names given here may never
// change.

import { minutes } from "../../../core/brand.ts";
import { buildField, duration, integer, oneOf } from "../../../core/fields.ts";
import type { Values } from "../../../core/settings.ts";
import { parseNodeSelector } from "./node-selector.ts";

export const ownAnnotations = {
  paused: oneOf("Plans nothing for this Service and writes nothing to it.", ["true", "false"], {
    fallback: "false",
  }),
  "target-policy": oneOf(
    "Which nodes are targets: all, those that match target-selector, those with a ready endpoint of the Service, or no more than target-limit of them, spread over the zones.",
    ["all", "selector", "endpoints", "subset"],
  ),
  "target-selector": buildField(
    "The nodes that are targets, by their labels.",
    'a label selector such as "pool=web,tier!=test" or "pool in (web, api)"',
    parseNodeSelector,
    undefined,
  ),
  "target-limit": integer("The most nodes that are targets.", { min: 1 }),
  "target-drain": duration(
    "How long a node that leaves takes no new connections before it is no target any more, where the cloud can do that.",
    { max: minutes(60) },
  ),
  "on-delete": oneOf(
    "What becomes of the balancer when the Service is deleted or asks for none any more: it is deleted, or stays in the cloud without our mark.",
    ["delete", "release"],
    { fallback: "delete" },
  ),
};

export interface OwnSettings {
  readonly values: Values<typeof ownAnnotations>;
  readonly frozen: ReadonlySet<keyof typeof ownAnnotations>;
}
