// One line per step of a release, with its number and its duration.

export class Progress {
  #done = 0;
  readonly #total: number;
  readonly #print: (line: string) => void;

  constructor(total: number, print: (line: string) => void) {
    this.#total = total;
    this.#print = print;
  }

  /** `work` returns the result for the line, or nothing. */
  async step(name: string, work: () => Promise<string> | string): Promise<void> {
    const started = performance.now();
    const result = await work();
    this.#done += 1;
    const place = `[${String(this.#done).padStart(String(this.#total).length)}/${this.#total}]`;
    const took = `${((performance.now() - started) / 1000).toFixed(1)} s`;
    this.#print(`${place} ${name}${result === "" ? "" : `: ${result}`} (${took})`);
  }
}
