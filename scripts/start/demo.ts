// Runs the steps of the demo one after the other.

import type { DemoStep } from "./demo-steps.ts";

export interface DemoOptions {
  readonly steps: readonly DemoStep[];
  /** Milliseconds since the start of the demo. */
  readonly elapsed: () => number;
  /** Milliseconds between two steps, to give the user time to read. */
  readonly pause: number;
  /** Called when a step starts and when it is done. */
  readonly report: (text: string) => void;
}

export class Demo {
  readonly #options: DemoOptions;
  #current = 0;
  #isStarted = false;
  #pausedUntil = 0;

  constructor(options: DemoOptions) {
    this.#options = options;
  }

  get isDone(): boolean {
    return this.#current >= this.#options.steps.length;
  }

  /** The title of the running step; between two steps, that of the last one. */
  get title(): string {
    const { steps } = this.#options;
    return steps[this.#isStarted ? this.#current : this.#current - 1]?.title ?? "";
  }

  /** What the demo is waiting for; undefined once it is done. */
  get waitingFor(): string | undefined {
    const step = this.#options.steps[this.#current];
    if (step === undefined) return undefined;
    return this.#isStarted ? step.waitingFor() : `the next step: ${step.title}`;
  }

  /** Starts the next step, or ends the current one. Call this regularly. */
  tick(): void {
    const { steps, elapsed, pause, report } = this.#options;
    const step = steps[this.#current];
    if (step === undefined || elapsed() < this.#pausedUntil) return;
    if (!this.#isStarted) {
      this.#isStarted = true;
      step.start();
      report(`step ${this.#current + 1} of ${steps.length}: ${step.title}`);
    }
    if (step.waitingFor() !== undefined) return;
    const result = step.result?.();
    report(`step ${this.#current + 1} of ${steps.length}: done${result === undefined ? "" : `: ${result}`}`);
    this.#current += 1;
    this.#isStarted = false;
    this.#pausedUntil = elapsed() + pause;
  }
}
