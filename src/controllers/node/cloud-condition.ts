// The CloudReady condition, which a Node has only while something is wrong between it and the cloud. Pure.

import type { Problem } from "../../core/problem.ts";
import { type Condition, type Node, toTime } from "../../kube/objects.ts";
import { cloudCondition } from "../well-known.ts";

/** The watch cache truncates longer messages, so they could not be compared with the Node's. */
const maxMessageLength = 256;

/**
 * Contains neither a retry time nor a counter, because every change would cause a write. The heartbeat is the time of this
 * write: without one, kubectl shows the year 1.
 */
export function toCloudCondition(
  { reason, text }: Problem,
  now: number,
): Condition & { readonly lastHeartbeatTime: string } {
  const time = toTime(now);
  return {
    type: cloudCondition,
    status: "False",
    reason,
    message: text.length > maxMessageLength ? `${text.slice(0, maxMessageLength - 1)}…` : text,
    lastTransitionTime: time,
    lastHeartbeatTime: time,
  };
}

export function cloudConditionOf(node: Node): Condition | undefined {
  return node.status.conditions?.find(({ type }) => type === cloudCondition);
}
