// The last listing of a route table. It knows its age, and a change by Fairlead invalidates it.

import type { ListedPage, RouteTable } from "../../../cloud/ideal-route-tables.ts";
import { type ListedRoute, withoutRepeats } from "../../../cloud/own-route-changes.ts";
import { type Cidr, type Milliseconds, seconds } from "../../../core/brand.ts";
import type { Problem } from "../../../core/problem.ts";
import type { Clock } from "../../../platform/clock.ts";
import type { Call } from "../../../provider/call.ts";
import { abortable } from "../../../runtime/abortable.ts";

export interface RouteListing {
  readonly routes: readonly ListedRoute[];
  readonly destinations: ReadonlySet<Cidr>;
  readonly problems: readonly Problem[];
  /** Monotonic. */
  readonly beganAt: number;
}

type ListedTable = Pick<RouteTable, "list">;

/** The maximum age of a listing for a sync that removes nothing. */
const maxAge: Milliseconds = seconds(10);

export class TableListing {
  readonly #table: ListedTable;
  readonly #clock: Clock;
  #latest: RouteListing | undefined;
  #failure: unknown;

  constructor(table: ListedTable, clock: Clock) {
    this.#table = table;
    this.#clock = clock;
  }

  /** The last listing, unless it is old, or older than a change by Fairlead. */
  get recent(): RouteListing | undefined {
    const isRecent = this.#latest !== undefined && this.#latest.beganAt >= this.#clock.monotonic() - maxAge;
    return isRecent ? this.#latest : undefined;
  }

  /** A complete listing that began at or after this time: the last listing or a new one. */
  async beganAfter(moment: number, call: Call): Promise<RouteListing> {
    if (this.#latest !== undefined && this.#latest.beganAt >= moment) return this.#latest;
    try {
      this.#latest = await listTable(this.#table, this.#clock, call);
      return this.#latest;
    } catch (error) {
      this.#failure = error;
      throw error;
    }
  }

  /** Whether the last listing failed with this error. */
  hasFailedWith(error: unknown): boolean {
    return error !== undefined && error === this.#failure;
  }

  /** Called when a change was sent, even after a failure, because the change may have been applied. */
  invalidate(): void {
    this.#latest = undefined;
  }
}

export async function listTable(table: ListedTable, clock: Clock, call: Call): Promise<RouteListing> {
  const beganAt = clock.monotonic();
  const pages: ListedPage[] = [];
  const list = async (): Promise<void> => {
    for await (const page of table.list(call)) pages.push(page);
  };
  // A provider may ignore the signal, and a person who ends a command must not wait for it.
  await abortable(list(), call.signal);
  // Without this, a repeated route would look like a superfluous duplicate, and both would be removed.
  const routes = withoutRepeats(pages.flatMap((page) => page.routes));
  return {
    routes,
    destinations: new Set(routes.map(({ destination }) => destination)),
    problems: pages.flatMap((page) => [page, ...page.routes]).flatMap(({ problems = [] }) => problems),
    beganAt,
  };
}
