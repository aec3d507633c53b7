// Who goes first when many ask a cloud: the order of urgencies, and what of the budget is kept for those who come before.

import type { Urgency } from "../provider/call.ts";

/** Rank in the budget; the lowest goes first. */
export const ranks = {
  "user-change": 0,
  "new-node": 1,
  "deletion-proof": 2,
  refresh: 3,
} as const satisfies Record<Urgency, number>;

/** By rank: the share of the limit that must be left, so that something remains for those before it. */
export const reserveByRank = [0, 0.05, 0.1, 0.25] as const;

/** Of questions that are answered together; without any, that of a refresh. */
export function mostUrgent(queries: readonly { readonly urgency: Urgency }[]): Urgency {
  return queries.reduce<Urgency>(
    (first, { urgency }) => (ranks[urgency] < ranks[first] ? urgency : first),
    "refresh",
  );
}
