// How much of a load balancer is read before its plan is believed: an old observation may only show that nothing is to be done. Pure.

import type { Problem } from "../../../core/problem.ts";
import type { Step } from "../../../provider/plan.ts";

/** What is read in depth, or was read lately: these parts, all of the load balancer, or all of it after a recent listing. */
export type Reading = readonly string[] | "all" | "after listing";

interface ReadPlan {
  readonly steps: readonly Pick<Step, "outdates" | "restsOnListing">[];
  readonly problems?: readonly Pick<Problem, "severity">[] | undefined;
}

/** What must be read before this plan is believed; undefined if what was read is enough. */
export function nextReading({ steps, problems = [] }: ReadPlan, read: Reading): Reading | undefined {
  if (read === "after listing") return undefined;
  if (steps.some(({ restsOnListing }) => restsOnListing === true)) return "after listing";
  if (read === "all") return undefined;
  // What prevents all changes may have been corrected in the cloud.
  if (problems.some(({ severity }) => severity === "error")) return "all";
  const parts = [...new Set(steps.flatMap(({ outdates = ["all"] }) => outdates))];
  // A step that outdates nothing rests on something all the same.
  if (steps.length > 0 && parts.length === 0) return "all";
  if (parts.every((part) => read.includes(part))) return undefined;
  return read.length > 0 || parts.includes("all") ? "all" : parts;
}
