// The failures and changes of a load balancer since its last progress, which determine the delay before the next plan.

import { type Milliseconds, milliseconds, minutes, seconds } from "../../../core/brand.ts";

/** How many changes beyond the number of planned steps are not delayed. */
const immediateChanges = 10;
const firstChangeDelay: Milliseconds = seconds(2);
const maxChangeDelay: Milliseconds = minutes(5);

export class Progress {
  #failures = 0;
  #changes = 0;
  #mostSteps = 0;
  /** The hashes of the steps that have been applied since the last completion. */
  readonly #applied = new Set<string>();

  /**
   * The number of failed reconciles since the last successful step. Waits do not end the count. The third failure writes a
   * condition.
   */
  get failures(): number {
    return this.#failures;
  }

  noteFailure(): void {
    this.#failures += 1;
  }

  /** Called when a reconcile ended with nothing left to do. */
  endFailures(): void {
    this.#failures = 0;
  }

  /** Called when a reconcile has this many steps to apply. */
  notePlan(steps: number): void {
    this.#mostSteps = Math.max(this.#mostSteps, steps);
  }

  /** Called when a reconcile has changed the cloud. */
  noteChange(): void {
    this.#changes += 1;
  }

  /** The first completion of a step ends the failures. */
  noteCompleted(step: string): void {
    if (this.#applied.has(step)) return;
    this.#applied.add(step);
    this.#failures = 0;
  }

  /** The load balancer is as desired, or the desired state has changed. */
  restart(): void {
    this.#changes = 0;
    this.#mostSteps = 0;
    this.#applied.clear();
  }

  /** The delay before the next plan. Plans that never converge must not flood the cloud. */
  get changeDelay(): Milliseconds {
    const excess = this.#changes - this.#mostSteps - immediateChanges;
    if (excess <= 0) return milliseconds(0);
    return milliseconds(Math.min(maxChangeDelay, firstChangeDelay * 2 ** Math.min(excess - 1, 20)));
  }
}
