// The knowledge about the existence of one object that Fairlead made or needs: whether it was there, which answers have lacked it
// since, and what Fairlead, or a former leader, did to it. One per object, so that the knowledge ends with the object.

import { type Milliseconds, milliseconds } from "../../core/brand.ts";
import type { Clock } from "../../platform/clock.ts";
import { addProof, awaited, type Certainty, type Evidence, judge, type Proof } from "./proof.ts";

const never = Number.NEGATIVE_INFINITY;
/** Shared: almost all objects are shown. */
const none: readonly Proof[] = [];

export class Ledger implements Evidence {
  certainty: Certainty | undefined;
  /** The answers without it since it was last shown or changed, with lookups that are too early to be definite. */
  proofs: readonly Proof[] = none;
  changedAt: number | undefined;
  notFoundAt: number | undefined;
  removedAt: number | undefined;
  /** Known only from traces in Kubernetes, or from an earlier leadership session. */
  isTrace = false;
  /**
   * A request may have removed it, so its absence is expected: a request of this process (`sent`), or perhaps of another process
   * (`assumed`).
   */
  removal: "assumed" | "sent" | undefined;
  expectedAt: number | undefined;

  /** It may exist, or the last answer lacks it. */
  get needsProof(): boolean {
    return this.certainty === "possible" || this.proofs.length > 0;
  }

  /** Fairlead has removed it, and nothing has shown it since. */
  get isRemoved(): boolean {
    return this.removedAt !== undefined && this.certainty === undefined;
  }

  /** Kubernetes shows traces of it. A former leader may have made the object that, for this process, only may exist. */
  expect(certainty: Certainty | undefined, at: number): void {
    if (certainty === undefined) return;
    this.expectedAt = at;
    if (this.certainty === undefined) this.restart();
    if (this.certainty !== "exists") this.certainty = certainty;
  }

  /** An answer without it that was requested after the last change. */
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
   * A lookup did not find it. Lookups may lag behind changes, even a former leader's, so a lookup is definite only some time after
   * a change.
   */
  noteLookup(lookup: Omit<Proof, "kind">, confirmAfter: Milliseconds): void {
    if (this.certainty === undefined) return;
    const changedAt = Math.max(this.changedAt ?? never, this.expectedAt ?? never);
    if (lookup.beganAt - changedAt >= confirmAfter) this.notFoundAt = lookup.beganAt;
    else this.noteLacking({ kind: "lookup", ...lookup });
  }

  /** A request that makes or changes it was sent. It is only possible that a request without a definite answer had an effect. */
  noteChange(changedAt: number, certainty: Certainty): void {
    const isKnown = this.certainty === "exists";
    this.forget();
    this.certainty = isKnown ? "exists" : certainty;
    this.changedAt = changedAt;
    this.expectedAt = undefined;
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

  /** Earlier answers that lacked it prove nothing. */
  restartProofs(changedAt = this.changedAt): void {
    this.proofs = none;
    this.changedAt = changedAt;
  }

  /** The cloud is busy, perhaps with it for a former leader. Refused again, it is a failure that is reported, not a new doubt. */
  noteBusy(): void {
    if (!this.isTrace || this.certainty === undefined) return;
    this.proofs = none;
    this.isTrace = false;
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

interface ConfirmDeps {
  readonly clock: Pick<Clock, "monotonic">;
  readonly settings: { readonly confirmAfter: Milliseconds };
}

/** Ledgers by the key of their object. */
export class Ledgers<K extends string = string> extends Map<K, Ledger> {
  of(key: K): Ledger {
    const ledger = this.get(key) ?? new Ledger();
    this.set(key, ledger);
    return ledger;
  }

  /**
   * Something that is recorded is absent, by an answer of now. After this many milliseconds, the same answer proves it. 0: this
   * answer proves it, and its ledger ends.
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
