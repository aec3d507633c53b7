// The order in which calls of different urgency get the rate budget, and the share that is reserved for more urgent calls. Pure.

import { seconds } from "../core/brand.ts";
import type { Urgency } from "../provider/call.ts";

/** The rank in the budget; the lowest rank goes first. */
export const urgencyRanks = {
  "user-change": 0,
  "new-node": 1,
  "deletion-proof": 2,
  refresh: 3,
} as const satisfies Record<Urgency, number>;

/**
 * The longest time for which a worker waits for the rate limit, because other keys need the worker. The key is then
 * retried later.
 */
export const maxWaitInWorker = seconds(2);

/** A call of each rank waits when less than this share of the limit remains. The rest is reserved for lower ranks. */
export const reserveByRank = [0, 0.05, 0.1, 0.25] as const;

/** The urgency of a call that answers several queries; `refresh` if there are none. */
export function mostUrgent(queries: readonly { readonly urgency: Urgency }[]): Urgency {
  return queries.reduce<Urgency>(
    (first, { urgency }) => (urgencyRanks[urgency] < urgencyRanks[first] ? urgency : first),
    "refresh",
  );
}
