// Objects that were created but never listed: the load balancer of a Service, or the routes of a table. If listings never show
// them, each proof of their absence would lead to another creation.

import { type Milliseconds, minutes } from "../../core/brand.ts";

/** The first creation, and the one after a proof that the object is absent. */
const maxUnlisted = 2;

export interface Creation {
  /** Identifies the creation when its operation fails. */
  readonly id: string;
  /** The created object. Details may differ, because a Node may have joined in between. */
  readonly what: string;
  /** Everything that a user or a Node requests. A changed request may be created once more. */
  readonly variant: string;
  /** When the request was sent (monotonic). */
  readonly at: number;
  /** True if the cloud has accepted the request. Otherwise the request failed without a clear rejection, and may have had an effect. */
  readonly isAccepted: boolean;
}

export class Creations {
  /** By created object, oldest first. The requests of one attempt create one object. */
  readonly #byWhat = new Map<string, readonly (Creation & { readonly attempt: number })[]>();
  #attempt = 0;

  get isEmpty(): boolean {
    return this.#byWhat.size === 0;
  }

  /** Begins a creation, perhaps with several requests. */
  begin(): void {
    this.#attempt += 1;
  }

  note(creation: Creation): void {
    const known = this.#byWhat.get(creation.what) ?? [];
    this.#byWhat.set(creation.what, [...known, { ...creation, attempt: this.#attempt }]);
  }

  /** Called when the operation of an accepted creation failed, so that nothing was created. */
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

  /** Called when a listing shows the object. */
  noteShown(what: string): void {
    this.#byWhat.delete(what);
  }

  /** A listing shows one of the objects. */
  clear(): void {
    this.#byWhat.clear();
  }

  keepOnly(isKept: (what: string) => boolean): void {
    for (const what of this.#byWhat.keys()) if (!isKept(what)) this.#byWhat.delete(what);
  }

  /**
   * How often the object was created, if it must not be created again. Undefined if the limit is not reached, or the request was
   * changed. Failed requests alone prove nothing about listings, because the cloud may create nothing at the moment.
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
   * When to list objects that were created repeatedly, unless a listing began later. An object that is removed again hours later
   * was listed in between.
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
 * How late a request with an unknown outcome may take effect, although a proof has ended. A single listing shows the effect, and
 * the regular listings show later changes.
 */
export const lateEffect: Milliseconds = minutes(1);
