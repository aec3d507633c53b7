// What is said about a Node that is left alone, or has an annotation without the desired effect: each once, as an event. Pure.

import type { Node } from "../../kube/objects.ts";
import type { NodeEvent } from "../node-deps.ts";
import { isUninitialized } from "../node-facts.ts";
import { isPaused } from "../pause.ts";
import { foreignNode, foreignProviderID, instanceUnreadable, pausedNode } from "./events.ts";
import { nodeAnnotationProblems } from "./node-annotations.ts";

export interface NodeOwner {
  readonly isForeign: boolean;
  /** The source of its instance, if that cannot be read. */
  readonly unreadableIn?: string | undefined;
}

export function nodeNotices(node: Node, { isForeign, unreadableIn }: NodeOwner): readonly NodeEvent[] {
  const problems = nodeAnnotationProblems(node).map(
    ({ reason, text }): NodeEvent => ({ type: "Warning", reason, message: text }),
  );
  if (unreadableIn !== undefined) return [...problems, instanceUnreadable(node, unreadableIn)];
  if (isForeign) return [...problems, isUninitialized(node) ? foreignProviderID(node) : foreignNode(node)];
  return isPaused(node) ? [...problems, pausedNode(node)] : problems;
}
