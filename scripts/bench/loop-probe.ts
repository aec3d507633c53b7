// Requests /healthz of a manager every 10 ms. The response is in memory, so the slowest one shows
// how long the event loop was blocked.

import { mainThreadMs } from "./process-cost.ts";

export interface LoopPauses {
  readonly answers: number;
  readonly p99Ms: number;
  readonly worstMs: number;
  /**
   * The longest time that the thread of the event loop ran during one request. On a busy machine, `worstMs` also includes the time that
   * other processes ran.
   */
  readonly worstRunMs: number;
}

export class LoopProbe {
  readonly #asking: Promise<void>;
  readonly #latencies: number[] = [];
  #worstRunMs = 0;
  #isOver = false;

  constructor({ pid }: { readonly pid: number }, port: number) {
    this.#asking = this.#ask(pid, `https://127.0.0.1:${port}/healthz`);
  }

  async stop(): Promise<LoopPauses> {
    this.#isOver = true;
    await this.#asking;
    const sorted = this.#latencies.toSorted((a, b) => a - b);
    return {
      answers: sorted.length,
      p99Ms: sorted[Math.floor(sorted.length * 0.99)] ?? Number.NaN,
      worstMs: sorted.at(-1) ?? Number.NaN,
      worstRunMs: this.#worstRunMs,
    };
  }

  async #ask(pid: number, url: string): Promise<void> {
    while (!this.#isOver) {
      const [began, ranBefore] = [performance.now(), mainThreadMs(pid)];
      await fetch(url, { tls: { rejectUnauthorized: false } })
        .then((answer) => answer.text())
        .catch(() => undefined);
      this.#latencies.push(performance.now() - began);
      this.#worstRunMs = Math.max(this.#worstRunMs, mainThreadMs(pid) - ranBefore);
      await Bun.sleep(10);
    }
  }
}
