// What is known about the existence of one object that Fairlead made or wants: whether it was there, which answers have lacked it since, and
// what Fairlead, or a former leader, did to it. One for each object, so that what is known ends with the object.

import { type Milliseconds, milliseconds } from "../../core/brand.ts";
import { type Absence, addProof, type Evidence, judge, type Proof, type ProofRule } from "./proof.ts";

/** `exists`: it was shown or made, or is recorded. `possible`: a request may have made it, of Fairlead or of a former leader. */
export type Certainty = NonNullable<Evidence["certainty"]>;

/** All times are monotonic. */
export interface Existence extends Evidence {
  /** When Fairlead last created or changed it. The cloud may show it later. */
  readonly changedAt?: number | undefined;
  /** When the last lookup began that did not find it, long enough after any change. */
  readonly notFoundAt?: number | undefined;
  /** When Fairlead removed it, as an answer of the cloud proved. A read may still show it. */
  readonly removedAt?: number | undefined;
}

type Answer = Omit<Proof, "kind">;

const never = Number.NEGATIVE_INFINITY;
/** Shared: almost all objects are shown. */
const none: readonly Proof[] = [];

export class Ledger implements Existence {
  certainty: Certainty | undefined;
  /** The listings without it since it was last shown or changed, and a lookup that is too early to be definite. */
  proofs: readonly Proof[] = none;
  changedAt: number | undefined;
  notFoundAt: number | undefined;
  removedAt: number | undefined;
  /** Known only from traces in Kubernetes, or from an earlier leadership session. */
  isTrace = false;
  /**
   * A request may have removed it, so its absence is no surprise. `assumed`: another process, which may have sent that request, or not.
   * `sent`: this process sent it.
   */
  removal: "assumed" | "sent" | undefined;
  /** When traces were last found: a former leader may have sent a request until then. */
  #tracesFoundAt = never;

  /** It may exist, or the last answer lacks it. */
  get needsProof(): boolean {
    return this.certainty === "possible" || this.proofs.length > 0;
  }

  /** Fairlead has removed it, and nothing has shown it since. */
  get isRemoved(): boolean {
    return this.removedAt !== undefined && this.certainty === undefined;
  }

  /** Kubernetes shows traces of it. A former leader may have made the one that only may exist for this process. */
  expect(certainty: Certainty | undefined, at: number): void {
    if (certainty === undefined) return;
    this.#tracesFoundAt = at;
    if (this.certainty === undefined) this.restart();
    if (this.certainty !== "exists") this.certainty = certainty;
  }

  /** A complete listing that began after the last change. */
  noteListing(listing: Answer, isShown: boolean): void {
    if (isShown) this.noteShown();
    else if (this.certainty !== undefined)
      this.proofs = addProof(this.proofs, { kind: "listing", ...listing });
  }

  noteShown(): void {
    this.certainty = "exists";
    this.proofs = none;
    this.notFoundAt = undefined;
    this.isTrace = false;
  }

  /**
   * A lookup did not find it. A lookup may lag behind a change too, also of a former leader, so it decides only some time after one;
   * earlier, it is the first answer without it.
   */
  noteLookup(lookup: Answer, confirmAfter: Milliseconds): void {
    if (this.certainty === undefined) return;
    const changedAt = Math.max(this.changedAt ?? never, this.#tracesFoundAt);
    if (lookup.beganAt - changedAt >= confirmAfter) this.notFoundAt = lookup.beganAt;
    else this.proofs = addProof(this.proofs, { kind: "lookup", ...lookup });
  }

  /** A request that makes or changes it was sent. It is only possible that a request without a definite answer had an effect. */
  noteChange(changedAt: number, certainty: Certainty): void {
    const isKnown = this.certainty === "exists";
    this.forget();
    this.certainty = isKnown ? "exists" : certainty;
    this.changedAt = changedAt;
  }

  /** A request that removes it was sent or is done. */
  noteRemoval(changedAt = this.changedAt): void {
    if (this.certainty === undefined) return;
    this.removal = "sent";
    this.changedAt = changedAt;
  }

  /** Another process may have sent a request that removes it. */
  assumeRemoval(): void {
    if (this.certainty !== undefined) this.removal ??= "assumed";
  }

  /** Fairlead has removed it, and an answer of the cloud proves it. */
  noteRemoved(at: number): void {
    this.forget();
    this.removedAt = at;
  }

  /** What answers lacked until now proves nothing. */
  restartProofs(changedAt = this.changedAt): void {
    this.proofs = none;
    this.changedAt = changedAt;
  }

  /** A leadership session begins: another account may answer from now on, or another replica may have changed anything. */
  restart(): void {
    this.proofs = none;
    this.notFoundAt = undefined;
    this.removedAt = undefined;
    this.isTrace = true;
  }

  /** It is certain that there is none. */
  forget(): void {
    this.restart();
    this.certainty = undefined;
    this.changedAt = undefined;
    this.removal = undefined;
    this.isTrace = false;
  }
}

/** What to believe about an object that the last answer does not show. */
export function absenceIn(known: Existence, rule: ProofRule): Absence {
  const { certainty, notFoundAt, removedAt, proofs } = known;
  const { confirmAfter, restartedAt = never } = rule;
  // A definite lookup, and a removal by Fairlead, need no second answer, but one from after the hold.
  if (certainty !== undefined && notFoundAt !== undefined && notFoundAt >= restartedAt)
    return { kind: certainty === "exists" ? "proved" : "uncertain" };
  // A read showed it once more after the removal.
  const isJustRemoved = isJustChanged({ changedAt: removedAt, proofs }, confirmAfter);
  return judge(known, isJustRemoved ? { ...rule, confirmAfter: milliseconds(0) } : rule);
}

/**
 * Whether Fairlead made or changed it so recently that answers may not show it yet. Compares with the last answer without it, because the
 * deciding one may be on its way.
 */
export function isJustChanged(
  { changedAt, proofs }: Pick<Existence, "changedAt" | "proofs">,
  confirmAfter: Milliseconds,
  answeredAt = Number.POSITIVE_INFINITY,
): boolean {
  return changedAt !== undefined && (proofs.at(-1)?.beganAt ?? answeredAt) - changedAt < confirmAfter;
}
