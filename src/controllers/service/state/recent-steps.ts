// The steps of a group that the cloud accepted last. Where reads lag behind writes, what they changed counts as observed for a while.

import type { Step } from "../../../provider/plan.ts";

export interface AcceptedStep {
  /** Monotonic. */
  readonly at: number;
  readonly step: Pick<Step, "do" | "on">;
  /** The desired state that it was planned for, as text. */
  readonly desired: string;
}

export class RecentSteps {
  /** When the last observation of the group began (monotonic). */
  observedAt = Number.POSITIVE_INFINITY;
  /** By hash. */
  readonly #accepted = new Map<string, AcceptedStep>();

  note(hash: string, accepted: AcceptedStep): void {
    this.#accepted.set(hash, accepted);
  }

  /** The operation of the step is complete: its effect may be visible only from now on. */
  renew(hash: string, at: number): void {
    const known = this.#accepted.get(hash);
    if (known !== undefined) this.#accepted.set(hash, { ...known, at });
  }

  /** The cloud accepted it, but it failed later. */
  forget(hash: string): void {
    this.#accepted.delete(hash);
  }

  /**
   * Whether the cloud accepted this step, or for the same desired state one that does the same to the same object: the rest of it,
   * when the cloud shows a part.
   */
  has(hash: string, step: Step, desired: string): boolean {
    if (this.#accepted.has(hash)) return true;
    for (const accepted of this.#accepted.values()) {
      const isSameKind = accepted.step.do === step.do && accepted.step.on === step.on;
      if (isSameKind && accepted.desired === desired) return true;
    }
    return false;
  }

  /** Forgets the steps that were accepted until then. Returns whether any is left. */
  keepAfter(since: number): boolean {
    for (const [hash, { at }] of this.#accepted) if (at <= since) this.#accepted.delete(hash);
    return this.#accepted.size > 0;
  }
}
