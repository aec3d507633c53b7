// How much of a load balancer is read before its steps are applied: an old observation may only show that nothing is to be done. Pure.

import type { Step } from "../../../provider/plan.ts";

/** What is read in depth, or was read lately: these parts, all of the load balancer, or all of it after a recent listing. */
export type Reading = readonly string[] | "all" | "after listing";

/** What must be read before these steps may be applied; undefined if what was read is enough. */
export function nextReading(
  steps: readonly Pick<Step, "outdates" | "restsOnListing">[],
  read: Reading,
): Reading | undefined {
  if (steps.length === 0 || read === "after listing") return undefined;
  if (steps.some(({ restsOnListing }) => restsOnListing === true)) return "after listing";
  if (read === "all") return undefined;
  const parts = [...new Set(steps.flatMap(({ outdates = ["all"] }) => outdates))];
  if (parts.every((part) => read.includes(part))) return undefined;
  return read.length > 0 || parts.includes("all") ? "all" : parts;
}
