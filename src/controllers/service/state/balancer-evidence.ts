// What this process knows about the load balancer of each owner in a group: that it exists or may exist, when Fairlead last changed
// it, and since when listings do not show it.

import type { Milliseconds, ServiceUID } from "../../../core/brand.ts";
import { defined } from "../../../core/defined.ts";
import { Creations } from "../../absence/creations.ts";
import { addProof, type Evidence, type Proof } from "../../absence/proof.ts";

/**
 * `exists`: it was listed, created by a step, or the Service has its address. `possible`: a request may have created it, or the
 * Service has only the finalizer.
 */
export type Certainty = NonNullable<Evidence["certainty"]>;

/** The proofs are the listings without it since it was last shown or changed, and a lookup that is too early to be definite. */
export interface OwnerEvidence extends Evidence {
  readonly certainty: Certainty;
  /** When a step of Fairlead last created or changed it (monotonic). The cloud may show it later. */
  readonly changedAt?: number;
  /** When the last lookup began that did not find it (monotonic). */
  readonly notFoundAt?: number;
  /** Known only from traces on the Service, which do not say in which group it is. */
  readonly isTrace?: true;
  /** When a completed step of Fairlead removed it, although a read showed it afterwards (monotonic). Reads may lag. */
  readonly removedAt?: number;
  /**
   * A step may have removed it, so its absence is no surprise. `assumed`: another process, which may have sent that step, or not. `sent`:
   * this process sent it.
   */
  readonly removal?: "assumed" | "sent";
}

/** Shared: almost all load balancers are shown. */
const none: readonly Proof[] = [];

interface Shown {
  /** The owners of what the listing has for the group. It shows who has left a load balancer that stays for others. */
  readonly here: readonly ServiceUID[];
  /** Whether the listing has a load balancer of this owner in another group. */
  readonly isElsewhere: (uid: ServiceUID) => boolean;
}

export class BalancerEvidence {
  readonly creations: Creations = new Creations();
  readonly #owners = new Map<ServiceUID, OwnerEvidence>();
  /** When a completed step removed the load balancer (monotonic): reads that lag may still show it. */
  readonly #removed = new Map<ServiceUID, number>();
  /** When traces were last found on a Service: a former leader may have sent a request until then (monotonic). */
  #tracesFoundAt = Number.NEGATIVE_INFINITY;

  /** Owners whose load balancer exists or may exist. All others never had one, or it is certain that it is gone. */
  get owners(): Iterable<readonly [ServiceUID, OwnerEvidence]> {
    return this.#owners;
  }

  /** A load balancer may exist, or is missing in the last listing. */
  get needsProof(): boolean {
    for (const { certainty, proofs } of this.#owners.values()) {
      if (certainty === "possible" || proofs.length > 0) return true;
    }
    return false;
  }

  get uids(): readonly ServiceUID[] {
    return [...this.#owners.keys()];
  }

  get(uid: ServiceUID): OwnerEvidence | undefined {
    return this.#owners.get(uid);
  }

  /** A completed step has removed its load balancer, an answer of the cloud proved it, and nothing has shown it since. */
  isRemoved(uid: ServiceUID): boolean {
    return this.#removed.has(uid) && !this.#owners.has(uid);
  }

  /** The Service shows traces of a load balancer. Another leader may have created the one that only may exist for this process. */
  expect(uid: ServiceUID, certainty: Certainty | undefined, at: number): void {
    const known = this.#owners.get(uid);
    if (certainty === undefined) return;
    this.#tracesFoundAt = at;
    if (known?.certainty === "exists") return;
    this.#owners.set(
      uid,
      known === undefined ? { certainty, proofs: none, isTrace: true } : { ...known, certainty },
    );
  }

  /** A step that completely removes what these owners have is done, and an answer of the cloud proves it. */
  noteRemoved(owners: Iterable<ServiceUID>, at: number): void {
    for (const uid of owners) {
      this.#owners.delete(uid);
      this.#removed.set(uid, at);
    }
  }

  /** A complete listing that began after the last change. */
  noteListing(listing: Omit<Proof, "kind">, shown: Shown): void {
    for (const [uid, known] of this.#owners) {
      if (shown.here.includes(uid)) continue;
      const isLeftOut = known.removal !== undefined && shown.here.length > 0;
      if (isLeftOut || (known.isTrace === true && shown.isElsewhere(uid))) {
        this.#owners.delete(uid);
        continue;
      }
      const proofs = addProof(known.proofs, { kind: "listing", ...listing });
      if (proofs !== known.proofs) this.#owners.set(uid, { ...known, proofs });
    }
    this.noteShown(shown.here);
  }

  noteShown(owners: Iterable<ServiceUID>): void {
    for (const uid of owners) {
      const known = this.#owners.get(uid);
      if (known === undefined || !isKnownToExist(known)) {
        const { changedAt, removal } = known ?? {};
        const removedAt = this.#removed.get(uid);
        const shown = { certainty: "exists" as const, proofs: none, changedAt, removal, removedAt };
        this.#owners.set(uid, defined(shown));
      }
      this.creations.clear();
    }
  }

  /** Another account may answer from now on, or another replica may have changed anything. */
  restartProof(): void {
    this.#removed.clear();
    for (const [uid, { certainty, changedAt, isTrace, removal }] of this.#owners) {
      this.#owners.set(uid, defined({ certainty, proofs: none, changedAt, isTrace, removal }));
    }
  }

  /**
   * A lookup that began then found nothing. A lookup may lag behind a change too, also of a former leader, so it decides only some time
   * after one; earlier, it is the first observation without it.
   */
  noteLookup(lookup: Omit<Proof, "kind">, confirmAfter: Milliseconds): void {
    for (const [uid, known] of this.#owners) {
      const since =
        lookup.beganAt - Math.max(known.changedAt ?? Number.NEGATIVE_INFINITY, this.#tracesFoundAt);
      const proofs = addProof(known.proofs, { kind: "lookup", ...lookup });
      this.#owners.set(
        uid,
        since >= confirmAfter ? { ...known, notFoundAt: lookup.beganAt } : { ...known, proofs },
      );
    }
  }

  /** A step for these owners was applied, or may have been applied although it failed. */
  noteChange(owners: Iterable<ServiceUID>, changedAt: number, certainty: Certainty): void {
    for (const uid of owners) {
      const known = this.#owners.get(uid)?.certainty;
      this.#removed.delete(uid);
      this.#owners.set(uid, { certainty: known === "exists" ? known : certainty, proofs: none, changedAt });
    }
  }

  /** A step that removes what these owners have was sent or is done. */
  noteRemoval(owners: Iterable<ServiceUID>, changedAt?: number): void {
    for (const uid of owners) {
      const known = this.#owners.get(uid);
      if (known !== undefined)
        this.#owners.set(uid, { ...known, removal: "sent", ...(changedAt !== undefined && { changedAt }) });
    }
  }

  /** What listings lacked until now proves nothing. */
  restartProofsOf(owners: Iterable<ServiceUID>, changedAt: number): void {
    for (const uid of owners) {
      const known = this.#owners.get(uid);
      if (known !== undefined) this.#owners.set(uid, { ...known, proofs: none, changedAt });
    }
  }

  /** Another process may have sent a step that removes what this owner has. */
  assumeRemoval(uid: ServiceUID): void {
    const known = this.#owners.get(uid);
    if (known !== undefined) this.#owners.set(uid, { ...known, removal: known.removal ?? "assumed" });
  }

  /** It is certain that these owners have no load balancer in the group. */
  forget(owners: Iterable<ServiceUID>): void {
    for (const uid of owners) {
      this.#owners.delete(uid);
      this.#removed.delete(uid);
    }
  }
}

/** Another listing that shows it changes nothing. */
function isKnownToExist({ certainty, proofs, notFoundAt, isTrace }: OwnerEvidence): boolean {
  return certainty === "exists" && proofs.length === 0 && notFoundAt === undefined && isTrace !== true;
}
