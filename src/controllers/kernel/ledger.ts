// The evidence for the existence of one object that Fairlead created or needs: whether it existed, which answers have lacked it
// since, and what Fairlead or a former leader did to it. There is one ledger per object, so it ends with the object.

import { type Milliseconds, milliseconds } from "../../core/brand.ts";
import type { Clock } from "../../platform/clock.ts";
import { addProof, awaited, type Certainty, type Evidence, judge, type Proof } from "./proof.ts";

const never = Number.NEGATIVE_INFINITY;
/** A shared empty array, because almost all objects are shown. */
const none: readonly Proof[] = [];

export class Ledger implements Evidence {
  certainty: Certainty | undefined;
  /**
   * The answers that lacked the object since it was last shown or changed, including lookups that are too early to be definite.
   */
  proofs: readonly Proof[] = none;
  changedAt: number | undefined;
  notFoundAt: number | undefined;
  removedAt: number | undefined;
  /** The object is known only from traces in Kubernetes, or from an earlier leadership session. */
  isTrace = false;
  /**
   * A request may have removed the object, so its absence is expected: a request by this process (`sent`), or perhaps by another
   * process (`assumed`).
   */
  removal: "assumed" | "sent" | undefined;
  expectedAt: number | undefined;

  /** The object may exist, or the last answer lacked it. */
  get needsProof(): boolean {
    return this.certainty === "possible" || this.proofs.length > 0;
  }

  /** Fairlead has removed the object, and no answer has shown it since. */
  get isRemoved(): boolean {
    return this.removedAt !== undefined && this.certainty === undefined;
  }

  /**
   * Kubernetes shows traces of the object. A former leader may have created an object whose existence is only possible for this
   * process.
   */
  expect(certainty: Certainty | undefined, at: number): void {
    if (certainty === undefined) return;
    this.expectedAt = at;
    if (this.certainty === undefined) this.restart();
    if (this.certainty !== "exists") this.certainty = certainty;
  }

  /** Notes an answer without the object that was requested after the last change. */
  noteLacking(proof: Proof): void {
    if (this.certainty !== undefined) this.proofs = addProof(this.proofs, proof);
  }

  noteShown(): void {
    this.certainty = "exists";
    this.proofs = none;
    this.notFoundAt = undefined;
    this.isTrace = false;
  }

  /**
   * Notes a lookup that did not find the object. Lookups may lag behind changes, including a former leader's, so a lookup is
   * definite only some time after a change.
   */
  noteLookup(lookup: Omit<Proof, "kind">, confirmAfter: Milliseconds): void {
    if (this.certainty === undefined) return;
    const changedAt = Math.max(this.changedAt ?? never, this.expectedAt ?? never);
    if (lookup.beganAt - changedAt >= confirmAfter) this.notFoundAt = lookup.beganAt;
    else this.noteLacking({ kind: "lookup", ...lookup });
  }

  /**
   * Notes a request that creates or changes the object. A request without a definite answer may or may not have had an effect.
   */
  noteChange(changedAt: number, certainty: Certainty): void {
    const isKnown = this.certainty === "exists";
    this.forget();
    this.certainty = isKnown ? "exists" : certainty;
    this.changedAt = changedAt;
    this.expectedAt = undefined;
  }

  /** Notes a request that removes the object, sent or completed. */
  noteRemoval(changedAt = this.changedAt): void {
    if (this.certainty === undefined) return;
    this.removal = "sent";
    this.changedAt = changedAt;
  }

  /** Another process may have sent a request that removes the object. */
  assumeRemoval(): void {
    if (this.certainty !== undefined) this.removal ??= "assumed";
  }

  /** Fairlead has removed the object, and a cloud answer proves this. */
  noteRemoved(at: number): void {
    this.forget();
    this.removedAt = at;
  }

  /** Earlier answers that lacked the object prove nothing. */
  restartProofs(changedAt = this.changedAt): void {
    this.proofs = none;
    this.changedAt = changedAt;
  }

  /**
   * The cloud is busy, perhaps with the object for a former leader. If it is busy again, that is reported as a failure and causes
   * no new doubt.
   */
  noteBusy(): void {
    if (!this.isTrace || this.certainty === undefined) return;
    this.proofs = none;
    this.isTrace = false;
  }

  /** A leadership session begins: a different account may answer from now on, or another replica may have changed anything. */
  restart(): void {
    this.proofs = none;
    this.notFoundAt = undefined;
    this.removedAt = undefined;
    this.isTrace = true;
  }

  /** Called when the object is proved not to exist. */
  forget(): void {
    this.restart();
    this.certainty = undefined;
    this.changedAt = undefined;
    this.removal = undefined;
    this.isTrace = false;
  }
}

interface ConfirmDeps {
  readonly clock: Pick<Clock, "monotonic">;
  readonly settings: { readonly confirmAfter: Milliseconds };
}

/** Ledgers by object key. */
export class Ledgers<K extends string = string> extends Map<K, Ledger> {
  of(key: K): Ledger {
    const ledger = this.get(key) ?? new Ledger();
    this.set(key, ledger);
    return ledger;
  }

  /**
   * A current answer lacks a recorded object. After this many milliseconds, the same answer proves its absence. 0: this answer
   * proves it, and the ledger ends.
   */
  confirm(key: K, { clock, settings }: ConfirmDeps): Milliseconds {
    const now = clock.monotonic();
    const ledger = this.of(key);
    ledger.expect("exists", now);
    ledger.noteLacking({ kind: "lookup", beganAt: now, knownAt: now });
    const next = awaited(judge(ledger, { confirmAfter: settings.confirmAfter, kinds: [] }));
    if (next === undefined) this.delete(key);
    return milliseconds((next?.at ?? now) - now);
  }
}
