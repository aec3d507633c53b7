// One shared listing for each part of a cloud, such as a region, so that a part that fails or is slow delays no other one.

import { messageOf } from "../core/errors.ts";
import type { Call, Urgency } from "../provider/call.ts";
import { CloudError } from "../provider/errors.ts";
import { inPart } from "../provider/listing-parts.ts";
import type { Complete } from "../runtime/snapshot.ts";
import { SharedListing, type SharedListingOptions } from "./shared-listing.ts";

/** A part, and its listing. A cloud with one part has one without a name. */
export interface ListedPart<T> {
  readonly name: string;
  readonly listing: Pick<SharedListing<T>, "latest" | "failure" | "request" | "subscribe">;
}

export interface PartListingsOptions<T> extends Omit<SharedListingOptions<T>, "list"> {
  readonly names: readonly string[];
  readonly list: (name: string, call: Call) => AsyncIterable<readonly T[]>;
}

export class PartListings<T> {
  readonly parts: readonly ListedPart<T>[];
  #latest: Complete<T> | undefined;
  #versions = "";

  constructor({ names, list, ...shared }: PartListingsOptions<T>) {
    this.parts = names.map((name) => ({
      name,
      listing: new SharedListing({ ...shared, list: (call) => withPartInErrors(name, list(name, call)) }),
    }));
  }

  /** The latest listings of all parts that were listed, as one. It began when the oldest of them began. */
  get latest(): Complete<T> | undefined {
    const { parts } = this;
    const all = parts.flatMap(({ listing }) => listing.latest ?? []);
    const [first, ...others] = all;
    if (first === undefined || (others.length === 0 && parts.length === 1)) return first;
    const versions = parts.map(({ listing }) => listing.latest?.version ?? 0).join();
    if (versions !== this.#versions) this.#latest = merged(all);
    this.#versions = versions;
    return this.#latest;
  }

  /** Requests a listing of every part that begins after this moment. */
  request(since: number, urgency: Urgency): void {
    for (const { listing } of this.parts) listing.request(since, urgency);
  }

  /** Calls the listener after each listing of a part, successful or not. Returns how to unsubscribe. */
  subscribe(listener: (part: ListedPart<T>) => void): () => void {
    const stops = this.parts.map((part) => part.listing.subscribe(() => listener(part)));
    return () => stops.forEach((stop) => void stop());
  }
}

function merged<T>(all: readonly Complete<T>[]): Complete<T> {
  const sum = (pick: (one: Complete<T>) => number): number =>
    all.reduce((total, one) => total + pick(one), 0);
  return {
    items: all.flatMap(({ items }) => items),
    pages: sum(({ pages }) => pages),
    beganAt: Math.min(...all.map(({ beganAt }) => beganAt)),
    endedAt: Math.max(...all.map(({ endedAt }) => endedAt)),
    version: sum(({ version }) => version),
  };
}

/** An error says which part it is about, because only the load balancers there have to wait. */
async function* withPartInErrors<T>(name: string, pages: AsyncIterable<T>): AsyncIterable<T> {
  try {
    yield* pages;
  } catch (error) {
    throw inPart(name) === "" ? error : namePart(inPart(name), error);
  }
}

function namePart(where: string, error: unknown): unknown {
  const text = `Waiting for the listing of load balancers${where}, which failed: ${messageOf(error)}`;
  return CloudError.is(error)
    ? new CloudError(error.kind, text, error.detail)
    : new Error(text, { cause: error });
}
