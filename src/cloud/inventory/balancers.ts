// The inventory of load balancers: what the listing that all Services share has for each of them, and whether that is new enough for a
// plan. A Service that needs a newer listing requests one and waits for it.

import { type Milliseconds, minutes, type ServiceUID, seconds } from "../../core/brand.ts";
import type { Clock } from "../../platform/clock.ts";
import type { ObservedLoadBalancer } from "../../provider/load-balancers.ts";
import { type Outcome, waiting } from "../../runtime/workers.ts";
import type { ListingAge, Observation } from "./balancer-observation.ts";
import { ListingIndex } from "./listing-index.ts";
import type { SharedListing } from "./shared-listing.ts";

export interface BalancerInventoryOptions {
  readonly listing: Pick<SharedListing<ObservedLoadBalancer>, "latest" | "failure" | "request">;
  readonly clock: Pick<Clock, "monotonic">;
  /** How old what steps rest on may be. */
  readonly acceptsAge: Milliseconds;
}

/** A listing that is older does not show what is there now, just before it is removed. */
const justListedFor: Milliseconds = seconds(5);

/** Shorter than the pause between two regular listings. */
const restsFor: Milliseconds = minutes(15);

const never = Number.NEGATIVE_INFINITY;

/** All times are monotonic. */
export class BalancerInventory {
  readonly index: ListingIndex;
  readonly #options: BalancerInventoryOptions;
  /** The Services that wait for a listing, with the time at which it may begin at the earliest. */
  readonly #waiting = new Map<ServiceUID, number>();
  #expiredAt = never;

  constructor(options: BalancerInventoryOptions) {
    this.index = new ListingIndex(options.listing);
    this.#options = options;
  }

  /** When the latest listing began. */
  get beganAt(): number {
    return this.#options.listing.latest?.beganAt ?? never;
  }

  /** When it was known. */
  get knownAt(): number {
    return this.#options.listing.latest?.endedAt ?? never;
  }

  /** From when on something is recent enough for steps. */
  get recent(): number {
    return this.#options.clock.monotonic() - this.#options.acceptsAge;
  }

  get waiting(): readonly ServiceUID[] {
    return [...this.#waiting.keys()];
  }

  /** The cloud may have changed any load balancer itself. */
  expire(): void {
    this.#expiredAt = this.#options.clock.monotonic();
  }

  /** Whether what was read then may be reused. Not while the Service waits for a listing. */
  isCurrent(uid: ServiceUID, readAt: number): boolean {
    return readAt > this.#expiredAt && this.beganAt >= (this.#waiting.get(uid) ?? never);
  }

  /** The age of the latest listing for this Service. A listing that began when the load balancer was changed may not show the change. */
  ageFor(uid: ServiceUID, changedAt: number): ListingAge {
    const { beganAt } = this;
    const isRecent = beganAt > this.#expiredAt && (this.#isRequested(uid) || beganAt >= this.recent);
    return { beganAt, isRecent, isFresh: isRecent && beganAt > changedAt };
  }

  /** A requested listing is fresh, however long it took to arrive and to be processed. */
  #isRequested(uid: ServiceUID): boolean {
    const requestedAt = this.#waiting.get(uid);
    return requestedAt !== undefined && this.beganAt >= requestedAt;
  }

  /** Requests a newer listing, unless one is under way. Throws if the one that was requested failed. */
  request(uid: ServiceUID): Outcome {
    const { clock, listing } = this.#options;
    const requestedAt = this.#waiting.get(uid);
    if (requestedAt !== undefined && this.beganAt < requestedAt) {
      const { failure } = listing;
      if (failure === undefined || failure.at < requestedAt) return waiting;
      this.#waiting.delete(uid);
      throw failure.error;
    }
    const now = clock.monotonic();
    this.#waiting.set(uid, now);
    listing.request(now, "user-change");
    return waiting;
  }

  /** The Service was reconciled. Until then, the listing that it requested is fresh, however often it is looked at. */
  endRequest(uid: ServiceUID): void {
    if (this.#isRequested(uid)) this.#waiting.delete(uid);
  }

  /** The Service waits for no listing any more. */
  cancelRequest(uid: ServiceUID): void {
    this.#waiting.delete(uid);
  }

  /** Requests a newer listing in the background. No Service waits for it. */
  refresh(): void {
    this.#options.listing.request(this.#options.clock.monotonic(), "refresh");
  }

  /**
   * Whether the listing shows what is there now. One that takes long is also used by the Services that it wakes up; otherwise they would
   * request one after the other.
   */
  isJustListed(uid: ServiceUID): boolean {
    const took = this.beganAt === never ? 0 : this.knownAt - this.beganAt;
    const age = this.#options.clock.monotonic() - this.beganAt;
    return this.#isRequested(uid) || age <= Math.max(justListedFor, 2 * took);
  }

  /**
   * Whether a reconcile would find what it found last: the load balancer is complete, and the listing repeats it. After a while it is
   * planned all the same, for what no listing shows.
   */
  isAtRest(uid: ServiceUID, observation: Observation | undefined): boolean {
    const { listed, completeAt = never, until = never } = observation ?? {};
    if (listed === undefined || completeAt <= this.#expiredAt) return false;
    const isOver = this.#options.clock.monotonic() >= Math.min(completeAt + restsFor, until);
    return !isOver && this.index.onlyOneOf(uid) === listed;
  }
}
