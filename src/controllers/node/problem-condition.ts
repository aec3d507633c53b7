// The condition that a Node shows while something is wrong between it and the cloud. Pure; absent means fine.

import type { Problem } from "../../core/problem.ts";
import type { Condition, Node } from "../../kube/objects.ts";
import { cloudCondition } from "../well-known.ts";

/** What is longer does not come back from the watch, so it could not be compared with what is shown. */
const longestMessage = 256;
function cut(text: string): string {
  return text.length > longestMessage ? `${text.slice(0, longestMessage - 1)}…` : text;
}

/** Holds no retry time and no counter: those would be a write each. */
export function problemCondition({ reason, text }: Problem, now: number): Condition {
  return {
    type: cloudCondition,
    status: "False",
    reason,
    message: cut(text),
    lastTransitionTime: `${new Date(now).toISOString().slice(0, 19)}Z`,
  };
}

export function conditionOf(node: Node): Condition | undefined {
  return node.status.conditions?.find(({ type }) => type === cloudCondition);
}
