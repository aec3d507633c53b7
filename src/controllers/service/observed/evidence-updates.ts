// Keeps what is known about the existence of load balancers up to date: from the Services when a leadership session begins, and
// from every listing, also for groups that are not reconciled after it.

import { type ServiceUID, serviceUID } from "../../../core/brand.ts";
import type { Service } from "../../../kube/objects.ts";
import type { ServiceControllerDeps } from "../deps.ts";
import { hasAddressOrFact } from "../desired/facts.ts";
import { hasFinalizer, isEnding } from "../predicates.ts";
import type { Certainty } from "../state/balancer-evidence.ts";
import type { GroupState, GroupStates } from "../state/group-states.ts";
import type { ListingIndex } from "./listing-index.ts";

export class EvidenceUpdates {
  readonly #deps: Pick<ServiceControllerDeps, "listing" | "services" | "facts" | "clock">;
  readonly #groups: GroupStates;
  readonly #index: ListingIndex;
  /** When this leadership session began, or when evidence was forgotten in it, monotonic. Older listings show nothing. */
  #began = Number.NEGATIVE_INFINITY;
  #notedVersion: number | undefined;
  /** Services that had the finalizer when the session began. One that had it from its creation shows nothing. */
  readonly #finalized = new Set<ServiceUID>();

  constructor(
    deps: Pick<ServiceControllerDeps, "listing" | "services" | "facts" | "clock">,
    groups: GroupStates,
    index: ListingIndex,
  ) {
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
    for (const { members, evidence } of this.#groups.all) {
      // Nothing was listed in between, and the other replica may have seen or created it.
      evidence.restartProof();
      for (const key of members) {
        const service = services.get(key);
        if (service === undefined) continue;
        const uid = serviceUID(service.metadata.uid);
        evidence.expect(uid, this.tracesOf(service));
        if (isEnding(service)) evidence.noteRemoval([uid]);
      }
    }
  }

  /** Another account may answer from now on: what was missing so far proves nothing, nor does a listing in progress. */
  forget(): void {
    this.#began = this.#deps.clock.monotonic();
    for (const { evidence } of this.#groups.all) {
      evidence.restartProof();
      evidence.creations.clear();
    }
  }

  /** What the Service shows about a load balancer that was created before this leadership session. */
  tracesOf(service: Service): Certainty | undefined {
    if (hasAddressOrFact(service, this.#deps.facts)) return "exists";
    return this.#finalized.has(serviceUID(service.metadata.uid)) ? "possible" : undefined;
  }

  /** Notes what the latest listing shows and what it lacks, once per listing. */
  update(): void {
    const { latest } = this.#deps.listing;
    if (latest === undefined || latest.version === this.#notedVersion) return;
    this.#notedVersion = latest.version;
    if (latest.beganAt <= this.#began) return;
    for (const state of this.#groups.all) this.#note(state, latest.beganAt);
  }

  #note({ group, evidence, changedAt }: GroupState, beganAt: number): void {
    // A listing that began before the last change shows what was there before it.
    if (changedAt !== undefined && beganAt <= changedAt) return;
    evidence.noteListing(beganAt, {
      here: this.#index.ownersIn(group),
      isElsewhere: (uid) => this.#index.isElsewhere(uid, group),
    });
  }
}
