// Tracks whether the cloud connection has shown an object that the cluster records by id. Until then, the credentials may belong
// to a different project, in which all of the cluster's objects are missing, so no absence has consequences.

/**
 * Checks whether answers to requests after `since` (monotonic) show objects that the cluster records by id, and has recorded before
 * `recordedBy`. Undefined if it records no object of this kind.
 */
export type AccountWitness = (
  since: number,
  recordedBy: number,
) => "shown" | "absent" | "unknown" | undefined;

export class AccountProof {
  readonly #onChange: () => void;
  readonly #witnesses = new Set<AccountWitness>();
  #since = Number.NEGATIVE_INFINITY;
  #recordedBy = Number.NEGATIVE_INFINITY;
  #state: "shown" | "unanswered" | "nothing shown" | undefined = "unanswered";

  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  /** Calls the witness on every `note`. Returns a function that ends this. */
  follow(witness: AccountWitness): () => void {
    this.#witnesses.add(witness);
    return () => this.#witnesses.delete(witness);
  }

  /**
   * When the account was last known to be right (monotonic). What this process has recorded since then may be in another project, so it
   * vouches for nothing.
   */
  get recordedBy(): number {
    return this.#recordedBy;
  }

  /** A new connection is used from this moment (monotonic). */
  restart(since: number): void {
    if (this.doubt === undefined) this.#recordedBy = since;
    this.#since = since;
    this.#set("unanswered");
  }

  /** Called when an operator has released a hold, which confirms the account. */
  vouch(): void {
    this.#set("shown");
  }

  /**
   * The cloud has answered, so every witness is checked again. A single visible object is enough, even if it disappears later.
   */
  note(): void {
    if (this.#state === "shown") return;
    const sights = [...this.#witnesses].map((witness) => witness(this.#since, this.#recordedBy));
    if (sights.includes("shown")) this.#set("shown");
    else if (sights.includes("unknown")) this.#set("unanswered");
    else this.#set(sights.includes("absent") ? "nothing shown" : undefined);
  }

  /** Undefined if the account is vouched for, or nothing is recorded. `unanswered`: it is too early for a report. */
  get doubt(): "unanswered" | "nothing shown" | undefined {
    return this.#state === "shown" ? undefined : this.#state;
  }

  #set(state: "shown" | AccountProof["doubt"]): void {
    if (state === this.#state) return;
    this.#state = state;
    this.#onChange();
  }
}
