// Keeps what is known about the existence of load balancers up to date: from the Services when a leadership session begins, and
// from every listing, also for groups that are not reconciled after it.

import { minutes, type ServiceUID, serviceUID } from "../../../core/brand.ts";
import type { Service } from "../../../kube/objects.ts";
import type { AccountWitness } from "../../absence/account-proof.ts";
import type { ServiceControllerDeps } from "../deps.ts";
import { hasAddress, hasFact } from "../desired/facts.ts";
import { hasFinalizer, isEnding, isForeignClass } from "../predicates.ts";
import type { Certainty } from "../state/balancer-evidence.ts";
import type { GroupState } from "../state/group-state.ts";
import type { GroupStates } from "../state/group-states.ts";
import type { ListingIndex } from "./listing-index.ts";

const never = Number.NEGATIVE_INFINITY;
const justCreated = minutes(1);

type EvidenceDeps = Pick<ServiceControllerDeps, "listing" | "services" | "facts" | "clock"> & {
  readonly balancers: Pick<ServiceControllerDeps["balancers"], "ownKeys">;
};

export class EvidenceUpdates {
  readonly #deps: EvidenceDeps;
  readonly #groups: GroupStates;
  readonly #index: ListingIndex;
  /** When this leadership session began, or when evidence was forgotten in it, monotonic. Older listings show nothing. */
  #began = Number.NEGATIVE_INFINITY;
  /** The version of the last listing that was noted. */
  #noted: number | undefined;
  /** Services that had the finalizer when the session began. One that had it from its creation since then shows nothing. */
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
      state.restartProof({ isOtherAccount: false });
      for (const key of state.members) {
        const service = services.get(key);
        if (service !== undefined) this.noteTraces(state, service);
      }
    }
  }

  /** Another account may answer from now on: what was missing so far proves nothing, nor does a listing in progress. */
  forget(): void {
    this.#began = this.#deps.clock.monotonic();
    for (const state of this.#groups.all) state.restartProof({ isOtherAccount: true });
  }

  /**
   * Notes what the latest listing shows of this group, including owners that became known after the last note. A known answer changes
   * nothing.
   */
  noteAgain(state: GroupState): void {
    const { group, changedAt = never } = state;
    const { latest } = this.#deps.listing;
    // A listing that began before the last change shows what was there before it.
    if (latest === undefined || latest.beganAt <= Math.max(this.#began, changedAt)) return;
    const isElsewhere = (uid: ServiceUID): boolean => this.#index.isElsewhere(uid, group);
    const { beganAt, endedAt: knownAt } = latest;
    state.noteListing({ beganAt, knownAt }, { here: this.#index.ownersIn(group), isElsewhere });
  }

  /** It is certain that the Service has no load balancer, and its finalizer is removed. */
  forgetFinalizer(uid: ServiceUID): void {
    this.#finalized.delete(uid);
  }

  /** Before this process read the Service, another one may have created or removed its load balancer. */
  noteTraces(state: GroupState, service: Service): void {
    const uid = serviceUID(service.metadata.uid);
    state.noteTraces(uid, this.tracesOf(service), isEnding(service), this.#deps.clock.monotonic());
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
    return this.#finalized.has(serviceUID(service.metadata.uid)) || this.#hasReturned(service)
      ? "possible"
      : undefined;
  }

  /** A Service with the finalizer that is not just created, or seems to be of the future: the API server had lost it when the session began. */
  #hasReturned(service: Service): boolean {
    const age = this.#deps.clock.now() - Date.parse(service.metadata.creationTimestamp ?? "");
    return hasFinalizer(service) && (isEnding(service) || !(Math.abs(age) < justCreated));
  }

  /** A load balancer that this connection created or changed proves nothing about the account. */
  readonly witness: AccountWitness = (since) => {
    const { latest } = this.#deps.listing;
    const recorded = this.#groups.all
      .flatMap(({ evidence }) => [...evidence.owners])
      .filter(([, { certainty, changedAt = never }]) => certainty === "exists" && changedAt <= since);
    if (recorded.length === 0) return undefined;
    if ((latest?.beganAt ?? never) <= since) return "unknown";
    const uids = new Set(recorded.map(([uid]) => uid));
    return this.#index.items.some(({ owners }) => owners.some((uid) => uids.has(uid))) ? "shown" : "absent";
  };

  /** Notes what the latest listing shows and what it lacks, once per listing. */
  update(): void {
    const { latest } = this.#deps.listing;
    if (latest === undefined || latest.version === this.#noted) return;
    this.#noted = latest.version;
    for (const state of this.#groups.all) this.noteAgain(state);
  }
}
