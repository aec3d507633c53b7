// The cloud's route table as last listed. Listings are shared while they run; the table knows its age, and a change by
// Fairlead invalidates it.

import type { Milliseconds } from "../../../core/brand.ts";
import { defined } from "../../../core/defined.ts";
import type { Problem } from "../../../core/problem.ts";
import type { Clock } from "../../../platform/clock.ts";
import type { Call, Urgency } from "../../../provider/call.ts";
import type { RouteDocument, RoutePage, Routes } from "../../../provider/routes.ts";
import { abortable } from "../../../runtime/abortable.ts";
import { type Complete, Snapshot } from "../../../runtime/snapshot.ts";
import { withoutRepeats } from "./observed-route.ts";
import { type ListedRoute, OwnChanges } from "./own-changes.ts";

export interface RouteListing {
  readonly routes: readonly ListedRoute[];
  readonly problems: readonly Problem[];
  /** The revision that a change must be based on, if the table is one document. */
  readonly document?: RouteDocument;
  readonly beganAt: number;
}

export class RouteTable {
  readonly #routes: Routes;
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  #snapshot: Snapshot<RoutePage | RouteDocument>;
  readonly #ownChanges = new OwnChanges();
  #urgency: Urgency = "refresh";
  #failure: unknown;

  constructor(routes: Routes, clock: Clock, signal: AbortSignal) {
    this.#routes = routes;
    this.#clock = clock;
    this.#signal = signal;
    this.#snapshot = this.#begin();
  }

  /** The last listing, unless it is older than this or than a change by Fairlead. */
  latest(maxAge: Milliseconds): RouteListing | undefined {
    const { latest } = this.#snapshot;
    const isTooOld = latest === undefined || latest.beganAt < this.#clock.monotonic() - maxAge;
    return isTooOld ? undefined : this.#toListing(latest);
  }

  /**
   * A complete listing that began at or after this time. When the signal is aborted, the listing is given up: it would go on until
   * the session ends, and a reload must not wait for it.
   */
  async beganAfter(moment: number, urgency: Urgency, signal: AbortSignal): Promise<RouteListing> {
    this.#urgency = urgency;
    try {
      return this.#toListing(await abortable(this.#snapshot.beganAfter(moment), signal));
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

  /** A change is done. Where reads lag, listings count as if they showed it. */
  noteDone(change: Parameters<OwnChanges["note"]>[0]): void {
    const { readsLag } = this.#routes;
    if (readsLag !== undefined) this.#ownChanges.note(change, this.#clock.monotonic(), readsLag);
  }

  /** When a listing shows all changes so far (monotonic); undefined if the last one did. */
  get shownAt(): number | undefined {
    return this.#ownChanges.shownAt;
  }

  /** A change was sent. Call it after a failure too: the change may have been applied. */
  invalidate(): void {
    // A new snapshot, because a listing in progress may or may not contain the change.
    this.#snapshot = this.#begin();
  }

  #toListing(complete: Complete<RoutePage | RouteDocument>): RouteListing {
    const listing = toListing(complete);
    return { ...listing, routes: this.#ownChanges.applyTo(listing.routes, listing.beganAt) };
  }

  #begin(): Snapshot<RoutePage | RouteDocument> {
    return new Snapshot({
      clock: this.#clock,
      signal: this.#signal,
      list: (signal) => readAll(this.#routes, { signal, urgency: this.#urgency }),
    });
  }
}

async function* readAll(routes: Routes, call: Call): AsyncIterable<readonly RoutePage[]> {
  if (routes.style === "document") yield [await routes.read(call)];
  else for await (const page of routes.list(call)) yield [page];
}

function toListing({ items, beganAt }: Complete<RoutePage | RouteDocument>): RouteListing {
  const [first] = items;
  return {
    // Otherwise a repeated route looks like a superfluous second one, and both would be removed.
    routes: withoutRepeats(items.flatMap(({ routes }) => routes)),
    problems: items.flatMap(({ routes, problems = [] }) => [
      ...problems,
      ...routes.flatMap((route) => route.problems ?? []),
    ]),
    ...defined({ document: first !== undefined && "revision" in first ? first : undefined }),
    beganAt,
  };
}
