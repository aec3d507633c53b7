// What was written to a Node that has joined before, in a few words for the log. Pure.

import { shortList } from "../../core/text.ts";
import type { NodePlan } from "./plan.ts";

export function describePlan({ addresses, labels }: Pick<NodePlan, "addresses" | "labels">): string {
  return shortList([
    ...(addresses === undefined
      ? []
      : [`addresses ${addresses.map(({ type, address }) => `${type}=${address}`).join(" ")}`]),
    ...Object.entries(labels).map(([key, value]) => `label ${key}=${value}`),
  ]);
}
