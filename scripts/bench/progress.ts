// Progress of a benchmark on stderr, one line every five seconds.

import type { ProcessCost } from "./process-cost.ts";

export type Print = (text: string) => void;

const interval = 5000;

export const printProgress: Print = (text) => void process.stderr.write(`${text}\n`);

/** Prints progress until it is disposed of. `describe` is called for each line. */
export class Progress implements Disposable {
  readonly #describe: () => string | Promise<string>;
  readonly #print: Print;
  readonly #started = performance.now();
  readonly #timer: NodeJS.Timeout;
  #isDescribing = false;

  constructor(describe: () => string | Promise<string>, print: Print = printProgress) {
    this.#describe = describe;
    this.#print = print;
    this.#timer = setInterval(() => void this.#report(), interval);
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  async #report(): Promise<void> {
    // `describe` may ask a slow server, so two calls must not run in parallel.
    if (this.#isDescribing) return;
    this.#isDescribing = true;
    const seconds = Math.round((performance.now() - this.#started) / 1000);
    try {
      this.#print(`  ${String(seconds).padStart(4)}s  ${await this.#describe()}`);
    } catch (error) {
      this.#print(`  ${String(seconds).padStart(4)}s  ${String(error)}`);
    } finally {
      this.#isDescribing = false;
    }
  }
}

export function describeCost(cost: ProcessCost | undefined): string {
  return cost === undefined
    ? "no figures of the process"
    : `CPU ${cost.cpuSeconds.toFixed(1)} s, peak ${cost.peakMiB.toFixed(0)} MiB`;
}
