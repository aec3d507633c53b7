// Checks Fairlead's annotations on Nodes, so that a typo is reported and never silently ignored. Pure.

import { buildField } from "../../core/fields.ts";
import type { Problem } from "../../core/problem.ts";
import { readSettings } from "../../core/read-settings.ts";
import type { Node } from "../../kube/objects.ts";
import { nodeDeletionOf } from "../node-deletion.ts";
import { pauseOf } from "../pause.ts";
import { deletionAnnotation, ownPrefix, pausedAnnotation } from "../well-known.ts";

/** Only the names: the values have their own tables. */
const anyText = buildField("", "any text", (value) => ({ value }), {});
const known = Object.fromEntries(
  [pausedAnnotation, deletionAnnotation].map((key) => [key.slice(ownPrefix.length), anyText]),
);

/** All are warnings: an invalid value is read as the safest one, and blocks nothing else. */
export function nodeAnnotationProblems(node: Node): readonly Problem[] {
  const { problems } = readSettings(known, node.metadata.annotations ?? {}, {
    prefix: ownPrefix,
    what: "annotation",
  });
  return [pauseOf(node).problem ?? [], nodeDeletionOf(node).problem ?? [], problems].flat();
}
