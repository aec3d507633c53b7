// The annotations under fairlead.dev/ that are understood on Services, whatever the cloud. Names given here may never
// change.

import { buildField, integer, oneOf } from "../../core/fields.ts";
import type { Values } from "../../core/settings.ts";
import { parseNodeSelector } from "./node-selector.ts";

export const ownPrefix = "fairlead.dev/";

export const ownAnnotations = {
  paused: oneOf("Plans nothing for this Service and writes nothing to it.", ["true", "false"], {
    fallback: "false",
  }),
  "target-policy": oneOf(
    "Which nodes are targets: all, those that match target-selector, or no more than target-limit of them, spread over the zones.",
    ["all", "selector", "subset"],
  ),
  "target-selector": buildField(
    "The nodes that are targets, by their labels.",
    'a label selector such as "pool=web,tier!=test" or "pool in (web, api)"',
    parseNodeSelector,
    undefined,
  ),
  "target-limit": integer("The most nodes that are targets.", { min: 1 }),
};

export interface OwnSettings {
  readonly values: Values<typeof ownAnnotations>;
  readonly frozen: ReadonlySet<keyof typeof ownAnnotations>;
}
