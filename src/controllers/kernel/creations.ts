// Objects that were created and never shown since: the load balancer of a Service, or the routes of a table. If listings never show
// them, each proof of their absence would lead to one more.

import { type Milliseconds, minutes } from "../../core/brand.ts";

/** The first creation, and the one after the proof that the object is absent. */
const maxUnlisted = 2;

export interface Creation {
  /** To find it when its operation fails. */
  readonly id: string;
  /** What is created. Details may differ: a Node may have joined in between. */
  readonly what: string;
  /** All that a user, or a Node, requests. A changed one may be created once more. */
  readonly variant: string;
  /** When it was sent, monotonic. */
  readonly at: number;
  /** The cloud has accepted it. Otherwise it failed without a clear refusal, and may have had an effect. */
  readonly isAccepted: boolean;
}

export class Creations {
  /** By created object, oldest first. Requests of one attempt create one object. */
  readonly #byWhat = new Map<string, readonly (Creation & { readonly attempt: number })[]>();
  #attempt = 0;

  get isEmpty(): boolean {
    return this.#byWhat.size === 0;
  }

  /** Something is about to be created, perhaps by several requests. */
  begin(): void {
    this.#attempt += 1;
  }

  note(creation: Creation): void {
    const known = this.#byWhat.get(creation.what) ?? [];
    this.#byWhat.set(creation.what, [...known, { ...creation, attempt: this.#attempt }]);
  }

  /** The operation of an accepted creation failed, so it created nothing. */
  noteFailed(id: string): void {
    for (const [what, known] of this.#byWhat) {
      const last = known.findLast((creation) => creation.id === id && creation.isAccepted);
      if (last !== undefined)
        this.#byWhat.set(
          what,
          known.filter((creation) => creation !== last),
        );
    }
  }

  has(what: string): boolean {
    return this.#byWhat.has(what);
  }

  /** A listing shows it. */
  noteShown(what: string): void {
    this.#byWhat.delete(what);
  }

  /** The cloud shows something. */
  clear(): void {
    this.#byWhat.clear();
  }

  keepOnly(isKept: (what: string) => boolean): void {
    for (const what of this.#byWhat.keys()) if (!isKept(what)) this.#byWhat.delete(what);
  }

  /**
   * How often it was created, if it must not be created again: not that often yet, or it was changed since. Failed requests alone prove
   * nothing about the listings: the cloud may create nothing at the moment.
   */
  countOf(whats: readonly string[], variant: string): number | undefined {
    const counts = whats.map((what) => {
      const known = this.#byWhat.get(what) ?? [];
      return known.some(({ isAccepted }) => isAccepted)
        ? new Set(known.map(({ attempt }) => attempt)).size
        : 0;
    });
    const count = Math.max(0, ...counts);
    const isSame = whats.some((what) => this.#byWhat.get(what)?.some((known) => known.variant === variant));
    return count < maxUnlisted || !isSame ? undefined : count;
  }

  /**
   * When to list objects that were created repeatedly, unless a listing began later: an object that is removed again hours later
   * was shown in between.
   */
  nextCheck(after: Milliseconds, lastListing: number): number | undefined {
    const due = [...this.#byWhat.values()].flatMap((known) => {
      const at = (known.at(-1)?.at ?? 0) + after;
      return known.length >= maxUnlisted && at > lastListing ? at : [];
    });
    return due.length === 0 ? undefined : Math.min(...due);
  }
}

/**
 * How late the effect of a request with an unknown outcome may follow, although a proof has ended. A single listing shows
 * this, and the regular listings show later changes.
 */
export const lateEffect: Milliseconds = minutes(1);
