// A route table as last listed. Listings are shared while they run; the listing knows its age, and a change by Fairlead
// invalidates it.

import type { ListedPage, RouteTable } from "../../../cloud/ideal-route-tables.ts";
import { type ListedRoute, withoutRepeats } from "../../../cloud/own-route-changes.ts";
import { type Cidr, type Milliseconds, seconds } from "../../../core/brand.ts";
import type { Problem } from "../../../core/problem.ts";
import type { Clock } from "../../../platform/clock.ts";
import type { Call, Urgency } from "../../../provider/call.ts";
import { abortable } from "../../../runtime/abortable.ts";
import { type Complete, Snapshot } from "../../../runtime/snapshot.ts";

/** The maximum age of a listing for a sync that removes nothing. */
const maxListingAge: Milliseconds = seconds(10);

export interface RouteListing {
  readonly routes: readonly ListedRoute[];
  readonly destinations: ReadonlySet<Cidr>;
  readonly problems: readonly Problem[];
  readonly beganAt: number;
}

export class TableListing {
  readonly #routes: Pick<RouteTable, "list">;
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  #snapshot: Snapshot<ListedPage>;
  #urgency: Urgency = "refresh";
  #failure: unknown;

  constructor(routes: Pick<RouteTable, "list">, clock: Clock, signal: AbortSignal) {
    this.#routes = routes;
    this.#clock = clock;
    this.#signal = signal;
    this.#snapshot = this.#begin();
  }

  /** Whether the last listing is recent, and no change by Fairlead is. */
  get isRecent(): boolean {
    const { latest } = this.#snapshot;
    return latest !== undefined && latest.beganAt >= this.#clock.monotonic() - maxListingAge;
  }

  /** The last listing, if it is recent. */
  get recent(): RouteListing | undefined {
    const { latest } = this.#snapshot;
    return latest !== undefined && this.isRecent ? toListing(latest) : undefined;
  }

  /**
   * A complete listing that began at or after this time. When the signal is aborted, the listing is given up: it would go on until
   * the session ends, and a reload must not wait for it.
   */
  async beganAfter(moment: number, urgency: Urgency, signal: AbortSignal): Promise<RouteListing> {
    this.#urgency = urgency;
    try {
      return toListing(await abortable(this.#snapshot.beganAfter(moment), signal));
    } catch (error) {
      if (signal.aborted) this.invalidate();
      this.#failure = error;
      throw error;
    }
  }

  /** Whether the last listing failed with this error. */
  hasFailedWith(error: unknown): boolean {
    return error !== undefined && error === this.#failure;
  }

  /** A change was sent. Call it after a failure too: the change may have been applied. */
  invalidate(): void {
    // A new snapshot, because a listing in progress may or may not contain the change.
    this.#snapshot = this.#begin();
  }

  #begin(): Snapshot<ListedPage> {
    return new Snapshot({
      clock: this.#clock,
      signal: this.#signal,
      list: (signal) => pagesOf(this.#routes, { signal, urgency: this.#urgency }),
    });
  }
}

async function* pagesOf(routes: Pick<RouteTable, "list">, call: Call): AsyncIterable<readonly ListedPage[]> {
  for await (const page of routes.list(call)) yield [page];
}

function toListing({ items, beganAt }: Complete<ListedPage>): RouteListing {
  // Otherwise a repeated route looks like a superfluous second one, and both would be removed.
  const listed = withoutRepeats(items.flatMap(({ routes }) => routes));
  return {
    routes: listed,
    destinations: new Set(listed.map(({ destination }) => destination)),
    problems: items.flatMap(({ routes, problems = [] }) => [
      ...problems,
      ...routes.flatMap((route) => route.problems ?? []),
    ]),
    beganAt,
  };
}
