// Sends the changes that a look came to, in the style of this cloud's contract; after that the table is no longer as it was
// listed.

import type { Call } from "../../../provider/call.ts";
import type { RouteControllerOptions } from "../deps.ts";
import type { RouteTable } from "../observed/route-table.ts";
import type { Survey } from "../observed/survey.ts";
import { applyDocument } from "./apply-document.ts";
import { applyOneByOne } from "./apply-one-by-one.ts";
import type { RouteBackoffs } from "./backoffs.ts";
import type { ChangeResult } from "./route-change.ts";

export async function apply(
  { listing, plan, planFor }: Survey,
  table: RouteTable,
  backoffs: RouteBackoffs,
  { routes, send, clock, settings }: RouteControllerOptions,
  call: Call,
): Promise<readonly ChangeResult[]> {
  if (plan.create.length + plan.remove.length === 0) return [];
  const common = { send, clock, backoffs, changesAtOnce: settings.changesAtOnce };
  try {
    if (routes.style === "document") {
      const readAgain = () => {
        table.outdate();
        return table.beganAfter(clock.monotonic(), call.urgency);
      };
      return await applyDocument(listing, { ...common, routes, readAgain, planFor }, call);
    }
    const isFull = routes.limit !== undefined && listing.routes.length + plan.create.length > routes.limit;
    return await applyOneByOne(plan, { ...common, routes, isFull }, call);
  } finally {
    // Also when it fails: what was sent may have landed.
    table.outdate();
  }
}
