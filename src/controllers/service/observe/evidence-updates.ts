// Updates what is known about the existence of load balancers: from the Services when a leadership session begins, and from
// every listing, including Services that are not reconciled after it.

import type { BalancerInventory } from "../../../cloud/inventory/balancers.ts";
import { minutes, type ServiceUID, serviceUID } from "../../../core/brand.ts";
import type { Service } from "../../../kube/objects.ts";
import type { AccountWitness } from "../../kernel/account-proof.ts";
import type { Certainty } from "../../kernel/proof.ts";
import type { ServiceControllerDeps } from "../deps.ts";
import { hasAddress, hasFact } from "../desired/facts.ts";
import { hasFinalizer, isEnding, isForeignClass } from "../predicates.ts";
import type { ServiceState } from "../state/service-record.ts";
import type { ServiceRecords } from "../state/service-records.ts";

const never = Number.NEGATIVE_INFINITY;
const justCreated = minutes(1);

type EvidenceDeps = Pick<ServiceControllerDeps, "listing" | "services" | "classes" | "facts" | "clock"> & {
  readonly balancers: Pick<ServiceControllerDeps["balancers"], "ownKeys">;
};

export class EvidenceUpdates {
  readonly #deps: EvidenceDeps;
  readonly #records: Pick<ServiceRecords, "all">;
  readonly #inventory: BalancerInventory;
  /** The version of the last processed listing. */
  #noted: number | undefined;
  /**
   * Services that had the finalizer when the session began. An object that has had the finalizer since its creation proves
   * nothing.
   */
  readonly #finalized = new Set<ServiceUID>();

  constructor(deps: EvidenceDeps, records: Pick<ServiceRecords, "all">, index: BalancerInventory) {
    this.#deps = deps;
    this.#records = records;
    this.#inventory = index;
  }

  /** Begins the session. If another replica created or removed load balancers, their Services show it. */
  start({ hasOtherLed }: { readonly hasOtherLed: boolean }): void {
    const { services, classes } = this.#deps;
    for (const service of services.list()) {
      if (hasFinalizer(service, classes)) this.#finalized.add(serviceUID(service.metadata.uid));
    }
    for (const state of this.#records.all) {
      const service = services.get(state.key);
      const isManaged = state.phase === "managed" && service?.metadata.uid === state.uid;
      if (isManaged) this.noteTraces(state, service, hasOtherLed);
    }
  }

  /** Notes whether the latest listing shows the load balancer of this Service. A known answer changes nothing. */
  noteAgain(state: ServiceState): void {
    const { uid, changedAt = never } = state;
    const { latest } = this.#deps.listing;
    // A listing that began before the last change shows the earlier state.
    if (latest === undefined || latest.beganAt <= changedAt) return;
    if (this.#inventory.of(uid).length > 0) state.noteShown();
    else state.evidence.noteLacking({ kind: "listing", beganAt: latest.beganAt, knownAt: latest.endedAt });
  }

  /** Called when the Service is proved to have no load balancer, and its finalizer has been removed. */
  forgetFinalizer(uid: ServiceUID): void {
    this.#finalized.delete(uid);
  }

  /** Another process may have created or removed the load balancer before this process read the Service. */
  noteTraces(state: ServiceState, service: Service, hasOtherLed = true): void {
    state.evidence.expect(this.tracesOf(service), this.#deps.clock.monotonic());
    if (hasOtherLed && isEnding(service, this.#deps.classes)) state.evidence.assumeRemoval();
  }

  /** Traces on the Service of a load balancer that was created before this leadership session. */
  tracesOf(service: Service): Certainty | undefined {
    const { classes } = this.#deps;
    // The address of a Service with a different class belongs to another manager's load balancer.
    if (hasAddress(service) && !isForeignClass(service, classes)) return "exists";
    if (hasFact(service, this.#deps.facts)) {
      // Where the id is the mark, an id without the finalizer is a request to adopt, or was copied from another Service.
      const isMark = this.#deps.balancers.ownKeys === undefined || hasFinalizer(service, classes);
      return isMark ? "exists" : "possible";
    }
    return this.#finalized.has(serviceUID(service.metadata.uid)) || this.#hasReturned(service)
      ? "possible"
      : undefined;
  }

  /**
   * A Service with the finalizer that is either not new or created in the future: the API server had lost it when the session
   * began.
   */
  #hasReturned(service: Service): boolean {
    const { classes, clock } = this.#deps;
    const age = clock.now() - Date.parse(service.metadata.creationTimestamp ?? "");
    return hasFinalizer(service, classes) && (isEnding(service, classes) || !(Math.abs(age) < justCreated));
  }

  /** A load balancer that was created or changed while the account was doubted proves nothing about it. */
  readonly witness: AccountWitness = (since, recordedBy) => {
    const { latest } = this.#deps.listing;
    const recorded = this.#records.all.filter(
      ({ evidence }) => evidence.certainty === "exists" && (evidence.changedAt ?? never) <= recordedBy,
    );
    if (recorded.length === 0) return undefined;
    if ((latest?.beganAt ?? never) <= since) return "unknown";
    const isShown = (uid: ServiceUID): boolean =>
      this.#inventory.of(uid).length + this.#inventory.foreignOf(uid).length > 0;
    return recorded.some(({ uid }) => isShown(uid)) ? "shown" : "absent";
  };

  /** Records, once per listing, which objects the latest listing shows and lacks. */
  update(): void {
    const { latest } = this.#deps.listing;
    if (latest === undefined || latest.version === this.#noted) return;
    this.#noted = latest.version;
    for (const state of this.#records.all) this.noteAgain(state);
  }
}
