// Notices about a Node that is ignored, or whose annotation lacks the desired effect, for example
// because of a typo. Each is reported once, as an event.

import { buildField } from "../../core/fields.ts";
import type { Problem } from "../../core/problem.ts";
import { readSettings } from "../../core/read-settings.ts";
import type { Node } from "../../kube/objects.ts";
import type { UnreadableSource } from "../../provider/instances.ts";
import type { ForeignMatch } from "../foreign-nodes.ts";
import { isUninitialized, nodeDeletionOf } from "../node-facts.ts";
import { isPaused, pauseOf } from "../pause.ts";
import {
  cloudLabelsAnnotation,
  deletionAnnotation,
  outOfServiceAnnotation,
  ownPrefix,
  pausedAnnotation,
} from "../well-known.ts";
import { foreignMatch, foreignNode, foreignProviderID, instanceUnreadable, pausedNode } from "./texts.ts";

export interface NodeOwner {
  readonly isForeign: boolean;
  /** The source of the Node's instance, if the credentials cannot access it. */
  readonly unreadableIn?: Pick<UnreadableSource, "name" | "because"> | undefined;
  /** Set for k3s and RKE2 Nodes that --foreign-nodes makes targets. */
  readonly match?: ForeignMatch | undefined;
}

export function nodeNotices(node: Node, { isForeign, unreadableIn, match }: NodeOwner): readonly Problem[] {
  const problems = nodeAnnotationProblems(node).map((problem): Problem => ({ ...problem, severity: "hint" }));
  if (unreadableIn !== undefined) return [...problems, instanceUnreadable(node, unreadableIn)];
  if (match !== undefined && match.kind !== "awaited") {
    const taint = isUninitialized(node) ? [foreignProviderID(node)] : [];
    return [...problems, ...taint, foreignMatch(node, match)];
  }
  if (isForeign) return [...problems, isUninitialized(node) ? foreignProviderID(node) : foreignNode(node)];
  return isPaused(node) ? [...problems, pausedNode(node)] : problems;
}

/** Checks only the names; the values have separate tables. */
const anyText = buildField("", "any text", (value) => ({ value }), {});
const known = Object.fromEntries(
  [pausedAnnotation, deletionAnnotation, outOfServiceAnnotation, cloudLabelsAnnotation].map((key) => [
    key.slice(ownPrefix.length),
    anyText,
  ]),
);

/**
 * A typo is always reported. All problems are warnings: an invalid value is interpreted as the
 * safest value, and blocks nothing else.
 */
export function nodeAnnotationProblems(node: Node): readonly Problem[] {
  const { annotations = {} } = node.metadata;
  // Most Nodes have no such annotations, and this runs in each reconcile.
  if (!Object.keys(annotations).some((key) => key.startsWith(ownPrefix))) return [];
  const { problems } = readSettings(known, annotations, { prefix: ownPrefix, what: "annotation" });
  return [pauseOf(node).problem ?? [], nodeDeletionOf(node).problem ?? [], problems].flat();
}
