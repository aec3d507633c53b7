// What an operator can decide about routes, as one value. Upstream's value of the full check lists the whole table every
// ten seconds; ours looks when something changed and, rarely, at everything.

import { type Milliseconds, milliseconds, minutes, seconds } from "../../core/brand.ts";

export interface RouteSettings {
  /** How long what changes is gathered, so that a burst is one pass. */
  readonly gathering: Milliseconds;
  /** Between the beginnings of two passes that changes ask for, at least. */
  readonly pause: Milliseconds;
  /** Between two looks at everything; the jitter is a share of it, in both directions. Zero makes it exact. */
  readonly fullCheck: { readonly every: Milliseconds; readonly jitter: number };
  /** How old a listing may be for a pass that removes nothing. */
  readonly acceptsAge: Milliseconds;
  /** Routes made or removed at the same time, where each takes a call of its own. */
  readonly changesAtOnce: number;
  /** Nodes whose condition is written at the same time. */
  readonly conditionsAtOnce: number;
  /** Share of the table's limit from which on it is said that it fills up. */
  readonly warnAt: number;
  /** First and longest rest of a node whose machine the cloud does not show yet. */
  readonly notVisibleBackoff: { readonly first: Milliseconds; readonly cap: Milliseconds };
}

export const routeDefaults: RouteSettings = {
  gathering: seconds(0.5),
  pause: seconds(5),
  fullCheck: { every: minutes(12 * 60), jitter: 0.2 },
  acceptsAge: seconds(10),
  changesAtOnce: 16,
  conditionsAtOnce: 32,
  warnAt: 0.8,
  notVisibleBackoff: { first: seconds(5), cap: minutes(5) },
};

/** What `--route-reconciliation-period` gives is kept to exactly. */
export const exactly = (every: Milliseconds): RouteSettings["fullCheck"] => ({ every, jitter: 0 });

/** `fraction` is random, from zero to one. */
export function nextFullCheck({ every, jitter }: RouteSettings["fullCheck"], fraction: number): Milliseconds {
  return milliseconds(Math.round(every * (1 + jitter * (2 * fraction - 1))));
}
