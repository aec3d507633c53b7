// Applies a plan to a table that is one document: all changes in one request. When the cloud refuses the request, it is split in
// halves until the invalid route is found.

import { milliseconds } from "../../../core/brand.ts";
import type { Call } from "../../../provider/call.ts";
import type { RouteListing } from "../observed/route-table.ts";
import { type ChangeResult, changesOf } from "../plan/changes.ts";
import { planOnly } from "../plan/plan.ts";
import { type Group, groupsOf, halvesOf } from "./document-groups.ts";
import { type DocumentContext, DocumentWriter, hasFailedAs, type Sent } from "./document-writer.ts";

/** Requests in one sync while searching for the invalid route. */
const maxRequests = 32;

export async function applyDocument(
  listing: RouteListing,
  context: DocumentContext,
  call: Call,
): Promise<readonly ChangeResult[]> {
  const plan = context.planFor(listing);
  const { held, groups } = groupsOf(changesOf(plan), context.backoffs);
  const results = [...held];
  const writer = new DocumentWriter(listing, context, call);

  const send = async (group: Group): Promise<Sent> => {
    try {
      return await writer.send(group);
    } catch (error) {
      // Records the changes that were applied so far; the next sync continues with the others.
      if (call.signal.aborted || results.length === 0) throw error;
      const outcome = { kind: "failed", error, took: milliseconds(0) } as const;
      return { changes: changesOf(planOnly(plan, group)), outcome };
    }
  };

  const remaining = [...groups];
  for (let group = remaining.shift(); group !== undefined; group = remaining.shift()) {
    const { changes, outcome } = await send(group);
    const halves = hasFailedAs(outcome, "invalid", "quota") ? halvesOf(group) : [];
    if (halves.length > 0 && writer.requests < maxRequests) remaining.unshift(...halves);
    else results.push(...changes.map((change) => ({ change, outcome })));
  }
  return results;
}
