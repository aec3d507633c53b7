// The CloudReady condition, which a Node has only while something is wrong between it and the cloud. Pure.

import type { Problem } from "../../core/problem.ts";
import type { Condition, Node } from "../../kube/objects.ts";
import { cloudCondition } from "../well-known.ts";

/** The watch cache truncates longer messages, so they could not be compared with the Node's. */
const maxMessageLength = 256;

/** Contains neither a retry time nor a counter, because every change would cause a write. */
export function toCloudCondition({ reason, text }: Problem, now: number): Condition {
  return {
    type: cloudCondition,
    status: "False",
    reason,
    message: text.length > maxMessageLength ? `${text.slice(0, maxMessageLength - 1)}…` : text,
    lastTransitionTime: `${new Date(now).toISOString().slice(0, 19)}Z`,
  };
}

export function cloudConditionOf(node: Node): Condition | undefined {
  return node.status.conditions?.find(({ type }) => type === cloudCondition);
}
