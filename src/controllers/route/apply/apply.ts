// Applies a route plan as this cloud requires: one call per route, or one document. Invalidates the listed table.

import type { Call } from "../../../provider/call.ts";
import type { TableOptions } from "../deps.ts";
import type { RouteTable } from "../observed/route-table.ts";
import type { ChangeResult } from "../plan/changes.ts";
import type { Survey } from "../plan/survey.ts";
import type { RouteBackoffs } from "./backoffs.ts";
import { applyDocument } from "./document.ts";
import { applyOneByOne } from "./one-by-one.ts";

interface ApplyOptions extends Pick<TableOptions, "routes" | "table" | "send" | "clock" | "settings"> {
  /** A change of an earlier sync is in progress. */
  readonly isBusy: boolean;
}

export async function applyPlan(
  { listing, plan, planFor }: Survey,
  table: RouteTable,
  backoffs: RouteBackoffs,
  { routes, table: name, send, clock, settings, isBusy }: ApplyOptions,
  call: Call,
): Promise<readonly ChangeResult[]> {
  if (plan.create.length + plan.remove.length === 0) return [];
  const context = { send, clock, backoffs, name };
  try {
    if (routes.style === "document") {
      const readAgain = () => {
        table.invalidate();
        return table.beganAfter(clock.monotonic(), call.urgency, call.signal);
      };
      return await applyDocument(listing, { ...context, routes, readAgain, planFor }, call);
    }
    const { concurrentChanges } = settings;
    const isFull = routes.limit !== undefined && listing.routes.length + plan.create.length > routes.limit;
    return await applyOneByOne(plan, { ...context, routes, isFull, isBusy, concurrentChanges }, call);
  } finally {
    // Also after an error, because the request may have been applied.
    table.invalidate();
  }
}
