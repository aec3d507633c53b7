// Checks Fairlead's annotations on Nodes, so that a typo is reported and never silently ignored. Pure.

import { oneOf } from "../../core/fields.ts";
import type { Problem } from "../../core/problem.ts";
import { readSettings } from "../../core/read-settings.ts";
import type { Node } from "../../kube/objects.ts";
import { ownPrefix } from "../well-known.ts";

const fields = {
  paused: oneOf("Fairlead plans nothing for this Node and writes nothing to it.", ["true", "false"]),
  "node-deletion": oneOf("Whether the Node may be deleted.", ["never", "confirmed"]),
};

/** All are warnings: an invalid value is read as the safest one, and blocks nothing else. */
export function nodeAnnotationProblems({ metadata }: Node): readonly Problem[] {
  return readSettings(fields, metadata.annotations ?? {}, {
    prefix: ownPrefix,
    what: "annotation",
  }).problems.map((problem) => ({ ...problem, severity: "warning" }));
}
