// What is said about a Node that is left alone, or has an annotation without the desired effect: each once, as an event. Pure.

import type { Node } from "../../kube/objects.ts";
import type { NodeEvent } from "../node-deps.ts";
import { isUninitialized } from "../node-facts.ts";
import { isPaused } from "../pause.ts";
import { foreignNode, foreignProviderID, pausedNode } from "./events.ts";
import { nodeAnnotationProblems } from "./node-annotations.ts";

export function nodeNotices(
  node: Node,
  { isForeign }: { readonly isForeign: boolean },
): readonly NodeEvent[] {
  const problems = nodeAnnotationProblems(node).map(
    ({ reason, text }): NodeEvent => ({ type: "Warning", reason, message: text }),
  );
  if (isForeign) return [...problems, isUninitialized(node) ? foreignProviderID(node) : foreignNode(node)];
  return isPaused(node) ? [...problems, pausedNode(node)] : problems;
}
