// The settings of the route controller and their defaults. Upstream lists the whole route table every ten seconds;
// Fairlead reconciles routes when something changes, and runs a full sync only rarely.

import { type Milliseconds, milliseconds, minutes, seconds } from "../../core/brand.ts";
import { defaultRemovalLimit, type RemovalLimitSetting } from "../absence/mass-limit.ts";

export interface RouteSettings {
  /** How long changes are collected, so that a burst is one sync. */
  readonly batchWindow: Milliseconds;
  /** The shortest interval between the starts of two syncs that list the route table because of changes. */
  readonly minInterval: Milliseconds;
  /** The interval between full syncs. The jitter is a share of it, in both directions; zero makes it exact. */
  readonly fullCheck: { readonly every: Milliseconds; readonly jitter: number };
  /** The maximum age of a listing for a sync that removes nothing. */
  readonly maxListingAge: Milliseconds;
  /** The minimum time between the listing that first lacks a route and the one that proves its absence. */
  readonly confirmAfter: Milliseconds;
  /** The interval between listings while changes are held by the limit. */
  readonly heldRecheck: Milliseconds;
  /** How many routes may be removed, or created again, within the window because something was absent. */
  readonly removalLimit: RemovalLimitSetting;
  /** Routes that are created or removed in parallel, if each needs its own call. */
  readonly concurrentChanges: number;
  /** Nodes whose condition is written in parallel. */
  readonly concurrentConditions: number;
  /** The share of the table's limit above which a warning is reported. */
  readonly nearLimit: number;
  /** The delays between lookups of an instance that is not visible yet. */
  readonly notVisibleBackoff: { readonly first: Milliseconds; readonly cap: Milliseconds };
}

export const routeDefaults: RouteSettings = {
  batchWindow: seconds(0.5),
  minInterval: seconds(5),
  fullCheck: { every: minutes(12 * 60), jitter: 0.2 },
  maxListingAge: seconds(10),
  confirmAfter: seconds(30),
  heldRecheck: minutes(1),
  removalLimit: defaultRemovalLimit,
  concurrentChanges: 16,
  concurrentConditions: 32,
  nearLimit: 0.8,
  notVisibleBackoff: { first: seconds(5), cap: minutes(5) },
};

/** An interval given by `--route-reconciliation-period` has no jitter. */
export const exactly = (every: Milliseconds): RouteSettings["fullCheck"] => ({ every, jitter: 0 });

/** The delay until the next full sync. `fraction` is random, from zero to one. */
export function nextFullCheck({ every, jitter }: RouteSettings["fullCheck"], fraction: number): Milliseconds {
  return milliseconds(Math.round(every * (1 + jitter * (2 * fraction - 1))));
}
