// The creations of routes that no listing has shown since. If listings never show a route, each proof of its absence would lead
// to one more creation.

import type { Milliseconds } from "../../../core/brand.ts";
import type { DesiredRoute } from "../../../provider/routes.ts";

/** The first creation, and the one after the proof that the route is absent. */
const maxUnlisted = 2;

/** `uncertain`: the request failed, but it may have had an effect. */
export type CreationEffect = "accepted" | "uncertain";

interface Creations {
  readonly accepted: number;
  readonly uncertain: number;
  /** When the last one was sent, monotonic. */
  readonly lastAt: number;
  /** Where they lead. A route to a new target may be created once more. */
  readonly targets: ReadonlySet<string>;
}

export class UnlistedCreations {
  readonly #byRoute = new Map<string, Creations>();

  note(route: DesiredRoute, effect: CreationEffect, now: number): void {
    const { accepted = 0, uncertain = 0, targets = [] } = this.#byRoute.get(keyOf(route)) ?? {};
    this.#byRoute.set(keyOf(route), {
      accepted: accepted + Number(effect === "accepted"),
      uncertain: uncertain + Number(effect === "uncertain"),
      lastAt: now,
      targets: new Set([...targets, targetOf(route)]),
    });
  }

  /** The operation of an accepted creation failed, so it created nothing. */
  noteFailed(route: DesiredRoute): void {
    const known = this.#byRoute.get(keyOf(route));
    if (known !== undefined) this.#byRoute.set(keyOf(route), { ...known, accepted: known.accepted - 1 });
  }

  /** A listing shows a route for the destination. */
  noteShown(route: DesiredRoute): void {
    this.#byRoute.delete(keyOf(route));
  }

  /** Another account may answer from now on. Returns whether anything was forgotten. */
  clear(): boolean {
    const isEmpty = this.#byRoute.size === 0;
    this.#byRoute.clear();
    return !isEmpty;
  }

  /** Forgets the Nodes that no longer exist. */
  keepOnly(uids: () => ReadonlySet<string>): void {
    if (this.#byRoute.size === 0) return;
    const kept = uids();
    for (const key of this.#byRoute.keys()) if (!kept.has(uidOf(key))) this.#byRoute.delete(key);
  }

  /**
   * How often the route was created, if it must not be created again. Failed requests alone prove nothing about the listings: the
   * cloud may create nothing at the moment.
   */
  countOf(route: DesiredRoute): number | undefined {
    const known = this.#byRoute.get(keyOf(route));
    if (known === undefined || known.accepted < 1 || !known.targets.has(targetOf(route))) return undefined;
    const count = known.accepted + known.uncertain;
    return count < maxUnlisted ? undefined : count;
  }

  /**
   * When to list the routes that were created repeatedly, unless a listing began later than that. One that is removed again hours later
   * was shown in between.
   */
  nextCheck(after: Milliseconds, lastListing: number): number | undefined {
    const due = [...this.#byRoute.values()].flatMap(({ accepted, uncertain, lastAt }) =>
      accepted + uncertain >= maxUnlisted && lastAt + after > lastListing ? lastAt + after : [],
    );
    return due.length === 0 ? undefined : Math.min(...due);
  }
}

const keyOf = ({ destination, target }: DesiredRoute): string => `${destination} ${target.uid}`;
const uidOf = (key: string): string => key.slice(key.indexOf(" ") + 1);

function targetOf({ target: { machine, addresses } }: DesiredRoute): string {
  return JSON.stringify([machine?.source, machine?.key, addresses]);
}
