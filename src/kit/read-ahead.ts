// Requests numbered pages ahead of their turn, once the total shows how many there are. Pages are returned in order, and one
// that may be older than a page before it is requested again at its turn.

import { CloudError } from "../provider/errors.ts";
import type { NumberedPage } from "./page.ts";

/** Half of the requests that an account may have in flight: a listing must not hold up changes of users. */
const maxInFlight = 8;

type Outcome<P> = { readonly page: P } | { readonly error: unknown };

export class ReadAhead<T> {
  readonly #read: (page: number) => Promise<NumberedPage<T>>;
  readonly #maxPages: number;
  readonly #ahead = new Map<number, Promise<Outcome<NumberedPage<T>>>>();
  /** The size of the first page; zero before it. */
  #size = 0;
  #requested = 1;
  #width = maxInFlight;

  constructor(read: (page: number) => Promise<NumberedPage<T>>, maxPages: number) {
    this.#read = read;
    this.#maxPages = maxPages;
  }

  /** `total` is the largest one of the pages before: entries may have moved between pages since a page with a smaller one. */
  async page(number: number, total: number): Promise<NumberedPage<T>> {
    const page = (await this.#takeAhead(number, total)) ?? (await this.#read(number));
    this.#requestAhead(number, page);
    return page;
  }

  /** Resolves when no request is in flight. */
  async end(): Promise<void> {
    await Promise.all(this.#ahead.values());
  }

  /** Undefined if this page must be requested at its turn. */
  async #takeAhead(number: number, total: number): Promise<NumberedPage<T> | undefined> {
    const outcome = await this.#ahead.get(number);
    this.#ahead.delete(number);
    if (outcome === undefined) return undefined;
    if ("page" in outcome) {
      const mayBeOlder = Array.isArray(outcome.page.items) && (outcome.page.total ?? 0) < total;
      return mayBeOlder ? undefined : outcome.page;
    }
    if (!isRateLimited(outcome.error)) throw outcome.error;
    // The cloud accepts few requests at once.
    this.#width = 0;
    return undefined;
  }

  #requestAhead(number: number, { items, total, next }: NumberedPage<T>): void {
    if (this.#size === 0) this.#size = items?.length ?? 0;
    // Without these, it is unknown whether there is a page with that number.
    if (total === undefined || this.#size === 0 || next !== number + 1) return;
    const last = Math.min(Math.ceil(total / this.#size), this.#maxPages, number + this.#width);
    for (let ahead = Math.max(next, this.#requested + 1); ahead <= last; ahead += 1) {
      this.#requested = ahead;
      this.#ahead.set(ahead, this.#outcomeOf(ahead));
    }
  }

  /** Never rejects: an error counts at the turn of the page. */
  async #outcomeOf(number: number): Promise<Outcome<NumberedPage<T>>> {
    try {
      return { page: await this.#read(number) };
    } catch (error) {
      return { error };
    }
  }
}

function isRateLimited(error: unknown): boolean {
  return CloudError.is(error) && error.kind === "rate-limited";
}
