// What this process knows about the existence of the load balancer of one Service: that it exists or may exist, when Fairlead last changed
// it, and since when listings do not show it.

import type { Milliseconds } from "../../../core/brand.ts";
import { defined } from "../../../core/defined.ts";
import { Creations } from "../../kernel/creations.ts";
import { addProof, type Evidence, type Proof } from "../../kernel/proof.ts";

/**
 * `exists`: it was listed, created by a step, or the Service has its address. `possible`: a request may have created it, or the
 * Service has only the finalizer.
 */
export type Certainty = NonNullable<Evidence["certainty"]>;

/** The proofs are the listings without it since it was last shown or changed, and a lookup that is too early to be definite. */
export interface Existence extends Evidence {
  readonly certainty: Certainty;
  /** When a step of Fairlead last created or changed it (monotonic). The cloud may show it later. */
  readonly changedAt?: number;
  /** When the last lookup began that did not find it (monotonic). */
  readonly notFoundAt?: number;
  /** Known only from traces on the Service. */
  readonly isTrace?: true;
  /** When a completed step of Fairlead removed it, although a read showed it afterwards (monotonic). */
  readonly removedAt?: number;
  /**
   * A step may have removed it, so its absence is no surprise. `assumed`: another process, which may have sent that step, or not. `sent`:
   * this process sent it.
   */
  readonly removal?: "assumed" | "sent";
}

/** Shared: almost all load balancers are shown. */
const none: readonly Proof[] = [];

export class BalancerEvidence {
  readonly creations: Creations = new Creations();
  #known: Existence | undefined;
  /** When a completed step removed the load balancer (monotonic): a read may still show it. */
  #removedAt: number | undefined;
  /** When traces were last found on the Service: a former leader may have sent a request until then (monotonic). */
  #tracesFoundAt = Number.NEGATIVE_INFINITY;

  /** Undefined: it never existed, or it is certain that it is gone. */
  get known(): Existence | undefined {
    return this.#known;
  }

  /** It may exist, or is missing in the last listing. */
  get needsProof(): boolean {
    return this.#known?.certainty === "possible" || (this.#known?.proofs.length ?? 0) > 0;
  }

  /** A completed step has removed it, an answer of the cloud proved it, and nothing has shown it since. */
  get isRemoved(): boolean {
    return this.#removedAt !== undefined && this.#known === undefined;
  }

  /** The Service shows traces of a load balancer. Another leader may have created the one that only may exist for this process. */
  expect(certainty: Certainty | undefined, at: number): void {
    if (certainty === undefined) return;
    this.#tracesFoundAt = at;
    if (this.#known?.certainty === "exists") return;
    this.#known =
      this.#known === undefined ? { certainty, proofs: none, isTrace: true } : { ...this.#known, certainty };
  }

  /** A step that completely removes it is done, and an answer of the cloud proves it. */
  noteRemoved(at: number): void {
    this.#known = undefined;
    this.#removedAt = at;
  }

  /** A complete listing that began after the last change. */
  noteListing(listing: Omit<Proof, "kind">, isShown: boolean): void {
    if (isShown) this.noteShown();
    else if (this.#known !== undefined) {
      const proofs = addProof(this.#known.proofs, { kind: "listing", ...listing });
      if (proofs !== this.#known.proofs) this.#known = { ...this.#known, proofs };
    }
  }

  noteShown(): void {
    this.creations.clear();
    if (this.#known !== undefined && isKnownToExist(this.#known)) return;
    const { changedAt, removal } = this.#known ?? {};
    const removedAt = this.#removedAt;
    this.#known = defined({ certainty: "exists" as const, proofs: none, changedAt, removal, removedAt });
  }

  /** Another account may answer from now on, or another replica may have changed anything. */
  restartProof(): void {
    this.#removedAt = undefined;
    if (this.#known === undefined) return;
    const { certainty, changedAt, isTrace, removal } = this.#known;
    this.#known = defined({ certainty, proofs: none, changedAt, isTrace, removal });
  }

  /**
   * A lookup that began then found nothing. A lookup may lag behind a change too, also of a former leader, so it decides only some time
   * after one; earlier, it is the first observation without it.
   */
  noteLookup(lookup: Omit<Proof, "kind">, confirmAfter: Milliseconds): void {
    if (this.#known === undefined) return;
    const { changedAt = Number.NEGATIVE_INFINITY, proofs } = this.#known;
    const isDefinite = lookup.beganAt - Math.max(changedAt, this.#tracesFoundAt) >= confirmAfter;
    this.#known = isDefinite
      ? { ...this.#known, notFoundAt: lookup.beganAt }
      : { ...this.#known, proofs: addProof(proofs, { kind: "lookup", ...lookup }) };
  }

  /** A step was applied, or may have been applied although it failed. */
  noteChange(changedAt: number, certainty: Certainty): void {
    const known = this.#known?.certainty;
    this.#removedAt = undefined;
    this.#known = { certainty: known === "exists" ? known : certainty, proofs: none, changedAt };
  }

  /** A step that removes it was sent or is done. */
  noteRemoval(changedAt?: number): void {
    if (this.#known === undefined) return;
    this.#known = { ...this.#known, removal: "sent", ...(changedAt !== undefined && { changedAt }) };
  }

  /** What listings lacked until now proves nothing. */
  restartProofs(changedAt: number): void {
    if (this.#known !== undefined) this.#known = { ...this.#known, proofs: none, changedAt };
  }

  /** Another process may have sent a step that removes it. */
  assumeRemoval(): void {
    if (this.#known !== undefined)
      this.#known = { ...this.#known, removal: this.#known.removal ?? "assumed" };
  }

  /** It is certain that there is none. */
  forget(): void {
    this.#known = undefined;
    this.#removedAt = undefined;
  }
}

/** Another listing that shows it changes nothing. */
function isKnownToExist({ certainty, proofs, notFoundAt, isTrace }: Existence): boolean {
  return certainty === "exists" && proofs.length === 0 && notFoundAt === undefined && isTrace !== true;
}
