// Finds the load balancer of a group in the listings that all groups share, if those of the parts of the cloud, such as regions, where
// it may be are recent enough to plan on. Otherwise requests newer ones, which enqueue the group when they arrive. A part that fails
// holds up no group that cannot have its load balancer there. An index of the listings is built once for all groups.

import type { ListedPart, PartListings } from "../../../cloud/part-listings.ts";
import { type Milliseconds, milliseconds, type ServiceUID } from "../../../core/brand.ts";
import type { Service } from "../../../kube/objects.ts";
import { inPart } from "../../../provider/listing-parts.ts";
import type { ObservedLoadBalancer } from "../../../provider/load-balancers.ts";
import { type Outcome, waiting } from "../../../runtime/workers.ts";
import type { ServiceControllerDeps } from "../deps.ts";
import type { DesiredServices } from "../desired/desired-services.ts";
import { isEnding, isManaged } from "../predicates.ts";
import { coversPart, type GroupState } from "../state/group-record.ts";
import type { GroupStates } from "../state/group-states.ts";
import { ingressOf, isSameIngress } from "../status/status.ts";
import { type Adoption, adoptionOf, nameOf, primaryOf } from "./ownership.ts";

/** What the listings have for a group. */
export interface Found extends Adoption {
  /** When the oldest of the listings began that decide for the group, and when the newest was known (monotonic). */
  readonly beganAt: number;
  readonly knownAt: number;
  /** The parts that list it and its duplicates. */
  readonly parts: readonly string[];
  /** Further load balancers with the mark of the group. */
  readonly duplicates: readonly ObservedLoadBalancer[];
}

/** Shared: most groups have no duplicates. */
const none: readonly ObservedLoadBalancer[] = [];

type Part = ListedPart<ObservedLoadBalancer>;

const never = Number.NEGATIVE_INFINITY;
const beganAt = ({ listing }: Part): number => listing.latest?.beganAt ?? never;

export class FreshListing {
  readonly index: ListingIndex;
  readonly #deps: ServiceControllerDeps;
  readonly #groups: GroupStates;
  readonly #desiredServices: Pick<DesiredServices, "of">;
  readonly #relevant: RelevantParts;
  /** When this leadership session began, or when listings were forgotten in it, monotonic. */
  #began = never;

  constructor(
    deps: ServiceControllerDeps,
    groups: GroupStates,
    desiredServices: Pick<DesiredServices, "of">,
  ) {
    this.index = new ListingIndex(deps);
    this.#deps = deps;
    this.#groups = groups;
    this.#desiredServices = desiredServices;
    this.#relevant = new RelevantParts({
      ...{ controller: deps, desiredServices, index: this.index },
      isInUse: (balancer, members) => this.#isInUse(balancer, members),
    });
  }

  /** A leadership session begins. Older listings are outdated, because another replica may have changed anything. */
  begin(): void {
    this.#began = this.#deps.clock.monotonic();
  }

  /** Older listings are outdated: another account may answer from now on, or a cloud may have removed targets itself. */
  expire(): void {
    this.#began = this.#deps.clock.monotonic();
  }

  /** The load balancer of this group. If it has none, the one that these Services request to adopt. */
  find(state: GroupState, members: readonly Service[]): Found | "not yet" {
    const chosen = this.#relevant.of(state, members);
    if (chosen !== state.parts) this.#groups.commit(state, { kind: "partsChosen", parts: chosen });
    const parts = this.#partsOf(state);
    if (!parts.every((part) => this.#isFresh(part, state))) return "not yet";
    const { requestedListings } = state;
    const haveArrived = parts.every((part) => beganAt(part) >= (requestedListings.get(part.name) ?? never));
    if (haveArrived && requestedListings.size > 0) this.#groups.commit(state, { kind: "requestsEnded" });
    const { balancers, services } = this.#deps;
    const { adopts } = balancers;
    const all = this.index.ofGroup(state.group);
    const marked = all.length < 2 ? all[0] : primaryOf(all, (one) => this.#isInUse(one, members));
    const shared = {
      duplicates: all.length < 2 ? none : all.filter((one) => one !== marked),
      beganAt: Math.min(...parts.map(beganAt)),
      knownAt: this.knownAt(state),
      parts: this.index.partsOf(state.group),
    };
    if (marked !== undefined || adopts === undefined) return { balancer: marked, problems: [], ...shared };
    const adoption = adoptionOf(
      members,
      () => services.list().filter(isManaged),
      this.#deps.listing.latest?.items ?? [],
      (service, balancer) => {
        if (!coversPart(state, this.index.partOf(balancer) ?? "")) return false;
        const { desired } = this.#desiredServices.of(service);
        return desired.ending === undefined && adopts.call(balancers, desired, balancer);
      },
    );
    return { ...adoption, ...shared };
  }

  /**
   * Whether a lookup says something about every part where the load balancer may be: the provider looks where the listed one is, or
   * in the part that it names.
   */
  isLookupDefinite(
    state: GroupState,
    members: readonly Service[],
    listed: ObservedLoadBalancer | undefined,
  ): boolean {
    if (this.#deps.listing.parts.length === 1) return true;
    const part = listed && this.index.partOf(listed);
    const lookedIn = part === undefined ? this.#relevant.named(members) : new Set([part]);
    return lookedIn !== undefined && [...(state.parts ?? [])].every((name) => lookedIn.has(name));
  }

  /** The name of a load balancer in messages, and its identity: names may repeat in other parts. */
  nameOf(balancer: ObservedLoadBalancer): string {
    return `${nameOf(balancer)}${inPart(this.index.partOf(balancer) ?? "")}`;
  }

  /** When the oldest of the listings began that decide for the group (monotonic). */
  beganAt(state: GroupState): number {
    return Math.min(...this.#partsOf(state).map(beganAt));
  }

  /** The same; undefined while one of them is missing. */
  listedAt(state: GroupState): number | undefined {
    const at = this.beganAt(state);
    return Number.isFinite(at) ? at : undefined;
  }

  /** When the newest of them was known (monotonic). */
  knownAt(state: GroupState): number {
    return Math.max(...this.#partsOf(state).map(({ listing }) => listing.latest?.endedAt ?? never));
  }

  /** Whether a Service has the addresses of this load balancer. */
  #isInUse(balancer: ObservedLoadBalancer, members: readonly Service[]): boolean {
    return members.some((service) => {
      const { desired } = this.#desiredServices.of(service, balancer);
      const publication = this.#deps.balancers.publish(desired, balancer);
      if (publication.kind !== "addresses" || publication.addresses.length === 0) return false;
      return isSameIngress(service.status.loadBalancer?.ingress, ingressOf(publication));
    });
  }

  /** Requests newer listings, unless they are under way. Throws if a requested one failed. */
  request(state: GroupState): Outcome {
    const { clock } = this.#deps;
    const { requestedListings: requested } = state;
    const now = clock.monotonic();
    const parts = this.#partsOf(state);
    const stale = parts.filter((part) => !this.#isFresh(part, state));
    const needed = stale.length > 0 ? stale : parts;
    const isRunning = (part: Part): boolean => beganAt(part) < (requested.get(part.name) ?? never);
    const running = needed.filter(isRunning);
    for (const { name, listing } of running) {
      const { failure } = listing;
      if (failure === undefined || failure.at < (requested.get(name) ?? now)) continue;
      this.#groups.commit(state, { kind: "requestsEnded" });
      throw failure.error;
    }
    // If a listing has arrived but is not recent enough, another one is needed. One that is recent enough waits for the others.
    const due = needed.filter((part) =>
      requested.has(part.name) ? !isRunning(part) && (stale.length > 0 || running.length === 0) : true,
    );
    for (const { name, listing } of due) {
      this.#groups.commit(state, { kind: "listingRequested", part: name, at: now });
      listing.request(now, "user-change");
    }
    return waiting;
  }

  /** Requests newer listings in the background, unless these are younger than `age`. No group waits for them. */
  refresh(state: GroupState, age: Milliseconds = milliseconds(0)): void {
    if (this.#deps.clock.monotonic() - this.beganAt(state) < age) return;
    for (const { listing } of this.#partsOf(state)) listing.request(this.#deps.clock.monotonic(), "refresh");
  }

  /** The names of the parts where the load balancer of the group may be. */
  possibleParts(state: GroupState): readonly string[] {
    return this.#partsOf(state).map(({ name }) => name);
  }

  #partsOf(state: GroupState): readonly Part[] {
    return this.#deps.listing.parts.filter(({ name }) => coversPart(state, name));
  }

  #isFresh(part: Part, { requestedListings, listingDueAt: dueAt, changedAt = never }: GroupState): boolean {
    const { clock, settings } = this.#deps;
    // A requested listing is fresh, however long it took to arrive and to be processed.
    const requestedAt = requestedListings.get(part.name) ?? Number.POSITIVE_INFINITY;
    const oldest = Math.min(requestedAt, clock.monotonic() - settings.acceptsAge);
    const began = beganAt(part);
    if (dueAt !== undefined && dueAt <= clock.monotonic() && began < dueAt) return false;
    // A listing that began at the time of the last change may not contain it.
    return began > this.#began && began >= oldest && began > changedAt;
  }
}

interface RelevantPartsDeps {
  readonly controller: Pick<ServiceControllerDeps, "balancers" | "listing">;
  readonly desiredServices: Pick<DesiredServices, "of">;
  readonly index: ListingIndex;
  /** Whether a Service has the address of this load balancer. */
  readonly isInUse: (balancer: ObservedLoadBalancer, members: readonly Service[]) => boolean;
}

export class RelevantParts {
  readonly #deps: RelevantPartsDeps;
  /** Shared by most groups. */
  #all: ReadonlySet<string> | undefined;

  constructor(deps: RelevantPartsDeps) {
    this.#deps = deps;
  }

  of(state: GroupState, members: readonly Service[]): ReadonlySet<string> {
    const { index, controller } = this.#deps;
    this.#all ??= new Set(controller.listing.parts.map(({ name }) => name));
    const all = this.#all;
    if (all.size === 1) return all;
    const listed = index.partsOf(state.group);
    const named = this.named(members);
    const { places } = state.evidence;
    if (places.isUnknown && !this.#isConfirmed(state.group, { listed, named, members })) return all;
    const known = places.with(listed);
    // Nothing was created for a Service that is gone, so what was needed for it is enough.
    if (known.size === 0) return named ?? (members.length === 0 ? state.parts : undefined) ?? all;
    // What is deleted is deleted where it is, wherever the Service asks for it now.
    return named === undefined || members.every((service) => isEnding(service))
      ? known
      : new Set([...known, ...named]);
  }

  /** The parts that the provider names for these Services. Undefined if it does not know one of them. */
  named(members: readonly Service[]): ReadonlySet<string> | undefined {
    const { controller, desiredServices } = this.#deps;
    const { balancers, listing } = controller;
    const named = new Set<string>();
    for (const service of members) {
      const part = balancers.partOf?.(desiredServices.of(service).desired);
      if (part === undefined || !listing.parts.some(({ name }) => name === part)) return undefined;
      named.add(part);
    }
    return members.length === 0 ? undefined : named;
  }

  /**
   * Whether the load balancer that is listed is the one that was there before, and not a duplicate of one in a part that was not
   * listed yet: the provider expects it there, or the Services have its address or none.
   */
  #isConfirmed(
    group: string,
    {
      listed,
      named,
      members,
    }: {
      readonly listed: readonly string[];
      readonly named: ReadonlySet<string> | undefined;
      readonly members: readonly Service[];
    },
  ): boolean {
    if (listed.length === 0 || members.length === 0) return false;
    if (named !== undefined && [...named].every((part) => listed.includes(part))) return true;
    const { index, isInUse } = this.#deps;
    const hasAddress = members.some(({ status }) => (status.loadBalancer?.ingress ?? []).length > 0);
    return !hasAddress || index.ofGroup(group).some((balancer) => isInUse(balancer, members));
  }
}

type Listings = Pick<PartListings<ObservedLoadBalancer>, "latest" | "parts">;

/** The marked load balancers of the latest listings by group and by owner, and the part of the cloud that lists each of them. */
export class ListingIndex {
  readonly #listing: Listings;
  #built: Listings["latest"];
  readonly #byGroup = new Map<string, ObservedLoadBalancer[]>();
  readonly #groupsOf = new Map<ServiceUID, Set<string>>();
  readonly #parts = new Map<ObservedLoadBalancer, string>();

  constructor({ listing }: { readonly listing: Listings }) {
    this.#listing = listing;
  }

  /** The load balancers with Fairlead's mark for this group: usually one. */
  ofGroup(group: string): readonly ObservedLoadBalancer[] {
    this.#build();
    return this.#byGroup.get(group) ?? [];
  }

  /** The part that lists this load balancer. */
  partOf(balancer: ObservedLoadBalancer): string | undefined {
    this.#build();
    return this.#parts.get(balancer);
  }

  /** The parts that list load balancers with Fairlead's mark for this group. */
  partsOf(group: string): readonly string[] {
    const all = this.ofGroup(group);
    const parts = all.flatMap((balancer) => this.#parts.get(balancer) ?? []);
    return all.length < 2 ? parts : [...new Set(parts)];
  }

  /** The owners of everything that these parts list for this group; of all parts by default. */
  ownersIn(group: string, parts?: ReadonlySet<string>): readonly ServiceUID[] {
    const all = this.ofGroup(group);
    const listed = parts === undefined ? all : all.filter((one) => parts.has(this.#parts.get(one) ?? ""));
    const [first, ...others] = listed;
    if (first === undefined) return [];
    return others.length === 0 ? first.owners : listed.flatMap(({ owners }) => owners);
  }

  /** Whether the owner has a load balancer in another group. */
  isElsewhere(uid: ServiceUID, group: string): boolean {
    this.#build();
    for (const other of this.#groupsOf.get(uid) ?? []) if (other !== group) return true;
    return false;
  }

  #build(): void {
    const { latest, parts } = this.#listing;
    if (latest === this.#built) return;
    this.#built = latest;
    this.#byGroup.clear();
    this.#groupsOf.clear();
    this.#parts.clear();
    for (const { name, listing } of parts) {
      for (const balancer of listing.latest?.items ?? []) this.#add(name, balancer);
    }
  }

  #add(part: string, balancer: ObservedLoadBalancer): void {
    this.#parts.set(balancer, part);
    if (balancer.ownership !== "ours") return;
    const { group, owners } = balancer;
    const known = this.#byGroup.get(group);
    if (known === undefined) this.#byGroup.set(group, [balancer]);
    // A listing whose pages shift while it is read repeats some load balancers. Those are not second ones.
    else if (!known.some((other) => this.#parts.get(other) === part && isSame(other, balancer)))
      known.push(balancer);
    for (const uid of owners) {
      const groups = this.#groupsOf.get(uid) ?? new Set();
      this.#groupsOf.set(uid, groups.add(group));
    }
  }
}

function isSame(one: ObservedLoadBalancer, other: ObservedLoadBalancer): boolean {
  if (one.name !== undefined || other.name !== undefined) return one.name === other.name;
  return JSON.stringify(one) === JSON.stringify(other);
}
