// The annotations of ours on Nodes, so that a typo is told and never silently means "go on". Pure.

import { oneOf } from "../../core/fields.ts";
import type { Problem } from "../../core/problem.ts";
import { readSettings } from "../../core/read-settings.ts";
import type { Node } from "../../kube/objects.ts";
import { ownPrefix } from "../well-known.ts";

const fields = {
  paused: oneOf("Plans nothing for this Node and writes nothing to it.", ["true", "false"]),
  "node-deletion": oneOf("Whether the Node may be deleted.", ["never", "confirmed"]),
};

/** Warnings all of them: what is wrong is taken for the careful meaning, and nothing else waits for it. */
export function nodeAnnotationProblems({ metadata }: Node): readonly Problem[] {
  return readSettings(fields, metadata.annotations ?? {}, {
    prefix: ownPrefix,
    what: "annotation",
  }).problems.map((problem) => ({ ...problem, severity: "warning" }));
}
