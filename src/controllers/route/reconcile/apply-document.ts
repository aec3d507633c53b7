// Carries out a plan where the table is one document: one change for all of it. When the cloud refuses the whole, it is
// halved until what is wrong stands alone.

import { milliseconds } from "../../../core/brand.ts";
import type { Call } from "../../../provider/call.ts";
import type { RouteListing } from "../observed/route-table.ts";
import { type Group, groupsOf, halvesOf } from "./document-groups.ts";
import {
  changesOf,
  type DocumentOptions,
  DocumentWriter,
  hasFailedAs,
  type Sent,
} from "./document-writer.ts";
import { planOnly } from "./plan.ts";
import type { ChangeResult } from "./route-change.ts";

/** Changes sent in one pass while looking for the one that is wrong. */
const mostAttempts = 32;

export async function applyDocument(
  listing: RouteListing,
  options: DocumentOptions,
  call: Call,
): Promise<readonly ChangeResult[]> {
  const plan = options.planFor(listing);
  const { held, groups } = groupsOf(changesOf(plan), options.backoffs);
  const results = [...held];
  const writer = new DocumentWriter(listing, options, call);

  const send = async (group: Group): Promise<Sent> => {
    try {
      return await writer.send(group);
    } catch (error) {
      // What was done up to here counts, whatever becomes of the rest: the next pass goes on with it.
      if (call.signal.aborted || results.length === 0) throw error;
      const outcome = { kind: "failed", error, took: milliseconds(0) } as const;
      return { changes: changesOf(planOnly(plan, group)), outcome };
    }
  };

  const waiting = [...groups];
  for (let group = waiting.shift(); group !== undefined; group = waiting.shift()) {
    const { changes, outcome } = await send(group);
    const halves = hasFailedAs(outcome, "invalid", "quota") ? halvesOf(group) : [];
    if (halves.length > 0 && writer.attempts < mostAttempts) waiting.unshift(...halves);
    else results.push(...changes.map((change) => ({ change, outcome })));
  }
  return results;
}
