// How full the cloud's table of routes is. Pure; it only warns, the cloud itself refuses.

import type { Problem } from "../../../core/problem.ts";

export interface TableFill {
  /** All routes in it, whosever they are, with those about to be made and without those about to go. */
  readonly routes: number;
  readonly limit?: number;
}

export function describeFill({ routes, limit }: TableFill, warnAt: number): readonly Problem[] {
  if (limit === undefined || limit <= 0 || routes < limit * warnAt) return [];
  return [
    {
      severity: "warning",
      reason: "RouteTableNearLimit",
      // No count in it, or it would be news with every node; the metric has the count.
      text: `The cloud's table of routes is at least ${Math.round(warnAt * 100)}% full (it takes ${limit}): nodes that join may soon get no route. Remove routes nobody needs, or ask for a higher limit.`,
    },
  ];
}
