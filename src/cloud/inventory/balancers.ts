// The inventory of load balancers: the state of each in the listing that all Services share, and whether this listing or an
// earlier observation is recent enough for a plan. A Service that needs a newer listing requests one and waits.

import { type Milliseconds, minutes, type ServiceUID, seconds } from "../../core/brand.ts";
import type { Clock } from "../../platform/clock.ts";
import type { ObservedLoadBalancer } from "../../provider/load-balancers.ts";
import { type Outcome, waiting } from "../../runtime/workers.ts";
import {
  type ListingAge,
  type Observation,
  type Parts,
  type Rereading,
  rereadingOf,
} from "./balancer-observation.ts";
import type { SharedListing } from "./shared-listing.ts";

type Balancers = readonly ObservedLoadBalancer[];
type Listing = Pick<SharedListing<ObservedLoadBalancer>, "latest" | "failure" | "request">;

export interface BalancerInventoryOptions {
  readonly listing: Listing;
  readonly clock: Pick<Clock, "monotonic">;
  /** The maximum age of what steps rest on. */
  readonly acceptsAge: Milliseconds;
}

/** How to observe the load balancer of a Service: starting from the listing, or from the previous observation. */
export interface Source {
  readonly age: ListingAge;
  /** Set if only some parts of the previous observation are reread, instead of everything that listings lack. */
  readonly again:
    | (Rereading & { readonly before: Observation; readonly shown: ObservedLoadBalancer })
    | undefined;
}

/** An older listing does not prove the current state immediately before a removal. */
const justListedFor: Milliseconds = seconds(5);

/** Shorter than the pause between two regular listings. */
const restsFor: Milliseconds = minutes(15);

const never = Number.NEGATIVE_INFINITY;

/** A shared empty array, because most Services have no load balancer of another cluster. */
const none: Balancers = [];

/** All times are monotonic. */
export class BalancerInventory {
  readonly #listing: Listing;
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #acceptsAge: Milliseconds;
  /** The listing whose load balancers are indexed by Service. */
  #indexed: Listing["latest"];
  readonly #ours = new Map<ServiceUID, ObservedLoadBalancer[]>();
  readonly #foreign = new Map<ServiceUID, ObservedLoadBalancer[]>();
  #unmarked: Balancers = none;
  /** Marked load balancers by name, with one entry for each Service that uses the load balancer. */
  #byName: ReadonlyMap<string, Balancers> = new Map();
  /** The Services that wait for a listing, with the earliest start that the listing may have. */
  readonly #waiting = new Map<ServiceUID, number>();
  #expiredAt = never;

  constructor({ listing, clock, acceptsAge }: BalancerInventoryOptions) {
    this.#listing = listing;
    this.#clock = clock;
    this.#acceptsAge = acceptsAge;
  }

  /** When the latest listing began. */
  get beganAt(): number {
    return this.#listing.latest?.beganAt ?? never;
  }

  /** When the latest listing was complete. */
  get knownAt(): number {
    return this.#listing.latest?.endedAt ?? never;
  }

  get items(): Balancers {
    return this.#listing.latest?.items ?? none;
  }

  /** The load balancers with Fairlead's mark. */
  get marked(): Balancers {
    return this.items.filter(({ ownership }) => ownership === "ours");
  }

  /** The load balancers without a mark, which a Service may adopt. */
  get unmarked(): Balancers {
    this.#index();
    return this.#unmarked;
  }

  /** The load balancers with Fairlead's mark for this Service; usually one. */
  of(uid: ServiceUID): Balancers {
    this.#index();
    return this.#ours.get(uid) ?? none;
  }

  /**
   * The load balancer with Fairlead's mark for this Service; undefined if there are several, or if another cluster has one for
   * the Service.
   */
  onlyOneOf(uid: ServiceUID): ObservedLoadBalancer | undefined {
    const [one, ...others] = this.of(uid);
    return others.length === 0 && this.foreignOf(uid).length === 0 ? one : undefined;
  }

  /** Load balancers with another cluster's mark for this Service. */
  foreignOf(uid: ServiceUID): Balancers {
    this.#index();
    return this.#foreign.get(uid) ?? none;
  }

  /** The entries of this load balancer for other Services. */
  sharedWith({ name }: ObservedLoadBalancer, uid: ServiceUID): Balancers {
    this.#index();
    const views = this.#byName.get(name) ?? none;
    return views.length === 0 ? none : views.filter(({ owners }) => !owners.includes(uid));
  }

  /** The names of shared load balancers. */
  get shared(): readonly string[] {
    this.#index();
    return [...this.#byName].flatMap(([name, views]) =>
      new Set(views.map(({ owners }) => owners[0])).size > 1 ? name : [],
    );
  }

  /** Runs once per listing, for all Services. */
  #index(): void {
    const { latest } = this.#listing;
    if (latest === this.#indexed) return;
    this.#indexed = latest;
    this.#ours.clear();
    this.#foreign.clear();
    this.#unmarked = this.items.filter(({ ownership }) => ownership === "unmarked");
    this.#byName = Map.groupBy(this.marked, ({ name }) => name);
    for (const balancer of this.items) {
      const { owners, ownership } = balancer;
      if (ownership === "unmarked") continue;
      const byOwner = ownership === "ours" ? this.#ours : this.#foreign;
      for (const uid of owners) {
        const known = byOwner.get(uid);
        if (known === undefined) byOwner.set(uid, [balancer]);
        // A listing whose pages shift while it is read repeats some load balancers. Entries of shared load balancers do not
        // count as duplicates.
        else if (!known.some(({ name }) => name === balancer.name)) known.push(balancer);
      }
    }
  }

  /** Expires everything, because the cloud itself may have changed any load balancer. */
  expire(): void {
    this.#expiredAt = this.#clock.monotonic();
  }

  /**
   * Undefined if a newer listing is necessary. `changedAt`: a listing that began when the load balancer was changed may not
   * show the change. `before`: the last observation. `needs`: the parts that the last plan lacked.
   */
  sourceFor(
    uid: ServiceUID,
    changedAt: number,
    before: Observation | undefined,
    needs: Parts,
  ): Source | undefined {
    const { beganAt } = this;
    const now = this.#clock.monotonic();
    const recent = now - this.#acceptsAge;
    const isRecent = beganAt > this.#expiredAt && (this.#isRequested(uid) || beganAt >= recent);
    const age = { beganAt, isRecent, isFresh: isRecent && beganAt > changedAt };
    const listed = this.onlyOneOf(uid);
    const isWaiting = beganAt < (this.#waiting.get(uid) ?? never);
    const isUsable = listed !== undefined && !isWaiting && (before?.readAt ?? never) > this.#expiredAt;
    const rereading = isUsable && before?.balancer && rereadingOf(before, needs, age, { now, recent });
    if (!rereading) return age.isFresh ? { age, again: undefined } : undefined;
    const shown = age.isFresh && beganAt > before.readAt ? listed : before.balancer;
    return { age, again: { ...rereading, before, shown } };
  }

  /** A requested listing counts as fresh, however long it took to arrive and to be processed. */
  #isRequested(uid: ServiceUID): boolean {
    const requestedAt = this.#waiting.get(uid);
    return requestedAt !== undefined && this.beganAt >= requestedAt;
  }

  /** Whether this Service waits for a listing. */
  isWaiting(uid: ServiceUID): boolean {
    return this.#waiting.has(uid);
  }

  /** The Services whose listing has arrived or failed. The other waiting Services get another listing. */
  get answered(): readonly ServiceUID[] {
    const { beganAt } = this;
    const answeredAt = Math.max(beganAt, this.#listing.failure?.at ?? never);
    return [...this.#waiting].flatMap(([uid, requestedAt]) => (requestedAt <= answeredAt ? uid : []));
  }

  /** Requests a newer listing, unless one is in progress. Throws if the requested listing failed. */
  request(uid: ServiceUID): Outcome {
    const requestedAt = this.#waiting.get(uid);
    if (requestedAt !== undefined && this.beganAt < requestedAt) {
      const { failure } = this.#listing;
      if (failure === undefined || failure.at < requestedAt) return waiting;
      this.#waiting.delete(uid);
      throw failure.error;
    }
    const now = this.#clock.monotonic();
    this.#waiting.set(uid, now);
    this.#listing.request(now, "user-change");
    return waiting;
  }

  /** Called when the Service was reconciled. Until then, its requested listing counts as fresh, however often it is read. */
  endRequest(uid: ServiceUID): void {
    if (this.#isRequested(uid)) this.#waiting.delete(uid);
  }

  /** The Service no longer waits for a listing. */
  cancelRequest(uid: ServiceUID): void {
    this.#waiting.delete(uid);
  }

  /** Requests a newer listing in the background, without making a Service wait. */
  refresh(): void {
    this.#listing.request(this.#clock.monotonic(), "refresh");
  }

  /**
   * Whether the listing shows the current state. A slow listing also serves the Services that it wakes up; otherwise they
   * would request listings one after another.
   */
  isJustListed(uid: ServiceUID): boolean {
    const took = this.beganAt === never ? 0 : this.knownAt - this.beganAt;
    const age = this.#clock.monotonic() - this.beganAt;
    return this.#isRequested(uid) || age <= Math.max(justListedFor, 2 * took);
  }

  /**
   * Whether a reconcile would have the same result as the last one: the load balancer is complete, and the listing repeats it.
   * After a while a plan is made anyway, to find changes that no listing shows.
   */
  isAtRest(uid: ServiceUID, observation: Observation | undefined): boolean {
    const { listed, completeAt = never, until = never } = observation ?? {};
    if (listed === undefined || completeAt <= this.#expiredAt) return false;
    const isOver = this.#clock.monotonic() >= Math.min(completeAt + restsFor, until);
    return !isOver && this.onlyOneOf(uid) === listed;
  }
}
