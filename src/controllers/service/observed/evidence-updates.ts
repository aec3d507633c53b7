// Keeps what is known about the existence of load balancers up to date: from the Services when a leadership session begins, and
// from every listing, also for groups that are not reconciled after it.

import { type ServiceUID, serviceUID } from "../../../core/brand.ts";
import type { Service } from "../../../kube/objects.ts";
import type { ServiceControllerDeps } from "../deps.ts";
import { hasAddress, hasFact } from "../desired/facts.ts";
import { hasFinalizer, isEnding, isForeignClass } from "../predicates.ts";
import type { Certainty } from "../state/balancer-evidence.ts";
import { coversPart, type GroupState } from "../state/group-record.ts";
import type { GroupStates } from "../state/group-states.ts";
import type { ListingIndex } from "./fresh-listing.ts";

const never = Number.NEGATIVE_INFINITY;

type EvidenceDeps = Pick<ServiceControllerDeps, "listing" | "services" | "facts" | "clock"> & {
  readonly balancers: Pick<ServiceControllerDeps["balancers"], "ownKeys">;
};

export class EvidenceUpdates {
  readonly #deps: EvidenceDeps;
  readonly #groups: GroupStates;
  readonly #index: ListingIndex;
  /** When this leadership session began, or when evidence was forgotten in it, monotonic. Older listings show nothing. */
  #began = Number.NEGATIVE_INFINITY;
  /** The last listing of each part that was noted. */
  readonly #noted = new Map<string, number>();
  /** Services that had the finalizer when the session began. One that had it from its creation shows nothing. */
  readonly #finalized = new Set<ServiceUID>();

  constructor(deps: EvidenceDeps, groups: GroupStates, index: ListingIndex) {
    this.#deps = deps;
    this.#groups = groups;
    this.#index = index;
  }

  /** Another replica may have created or removed load balancers. Then their Services show it. */
  begin(): void {
    const { services, clock } = this.#deps;
    this.#began = clock.monotonic();
    this.#finalized.clear();
    for (const service of services.list()) {
      if (hasFinalizer(service)) this.#finalized.add(serviceUID(service.metadata.uid));
    }
    for (const state of this.#groups.all) {
      // Nothing was listed in between, and the other replica may have seen or created it.
      this.#groups.commit(state, { kind: "proofRestarted", isOtherAccount: false });
      for (const key of state.members) {
        const service = services.get(key);
        if (service === undefined) continue;
        const uid = serviceUID(service.metadata.uid);
        const [certainty, ends] = [this.tracesOf(service), isEnding(service)];
        this.#groups.commit(state, { kind: "tracesFound", uid, certainty, isEnding: ends });
      }
    }
  }

  /** Another account may answer from now on: what was missing so far proves nothing, nor does a listing in progress. */
  forget(): void {
    this.#began = this.#deps.clock.monotonic();
    for (const state of this.#groups.all)
      this.#groups.commit(state, { kind: "proofRestarted", isOtherAccount: true });
  }

  /**
   * Notes the latest listings again, which do not show this group. They are answers also about an owner that became known only after
   * they were noted. An answer that is known already changes nothing.
   */
  noteAgain(state: GroupState): void {
    this.#note(state, new Set(this.#deps.listing.parts.map(({ name }) => name)));
  }

  /** It is certain that the Service has no load balancer, and its finalizer is removed. */
  forgetFinalizer(uid: ServiceUID): void {
    this.#finalized.delete(uid);
  }

  /** What the Service shows about a load balancer that was created before this leadership session. */
  tracesOf(service: Service): Certainty | undefined {
    // The address of a Service of another class is that of the other load balancer.
    if (hasAddress(service) && !isForeignClass(service)) return "exists";
    if (hasFact(service, this.#deps.facts)) {
      // Where it is the mark, an id without the finalizer is a request to adopt, or was copied from another Service.
      const isMark = this.#deps.balancers.ownKeys === undefined || hasFinalizer(service);
      return isMark ? "exists" : "possible";
    }
    return this.#finalized.has(serviceUID(service.metadata.uid)) ? "possible" : undefined;
  }

  /** Notes what the latest listings show and what they lack, once per listing. */
  update(): void {
    const changed = new Set<string>();
    for (const { name, listing } of this.#deps.listing.parts) {
      const { latest } = listing;
      if (latest === undefined || latest.version === this.#noted.get(name)) continue;
      this.#noted.set(name, latest.version);
      if (latest.beganAt > this.#began) changed.add(name);
    }
    if (changed.size === 0) return;
    for (const state of this.#groups.all) this.#note(state, changed);
  }

  #note(state: GroupState, changed: ReadonlySet<string>): void {
    const { group } = state;
    const { parts } = this.#deps.listing;
    // A listing that began before the last change shows what was there before it.
    const oldest = Math.max(this.#began, state.changedAt ?? never);
    const valid = parts.filter(({ listing }) => (listing.latest?.beganAt ?? never) > oldest);
    if (valid.length === 0) return;
    const listed = new Set(valid.map(({ name }) => name));
    const shownIn = this.#index.partsOf(group).filter((name) => listed.has(name));
    if (!shownIn.some((name) => changed.has(name)) && ![...changed].some((name) => coversPart(state, name)))
      return;
    const shown = { kind: "listed", parts: shownIn, owners: this.#index.ownersIn(group, listed) } as const;
    const deciding = parts.filter(({ name }) => coversPart(state, name));
    if (!deciding.every(({ name }) => listed.has(name))) {
      this.#groups.commit(state, shown);
      return;
    }
    const latest = deciding.flatMap(({ listing }) => listing.latest ?? []);
    const complete = {
      beganAt: Math.min(...latest.map(({ beganAt }) => beganAt)),
      knownAt: Math.max(...latest.map(({ endedAt }) => endedAt)),
      isElsewhere: (uid: ServiceUID): boolean => this.#index.isElsewhere(uid, group),
    };
    this.#groups.commit(state, { ...shown, complete });
  }
}
