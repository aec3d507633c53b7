// Measures consecutive steps of a benchmark while a manager runs. A step ends when it is done and no more cloud requests follow.

import type { KeptProcess } from "../../test/cluster/rig/kept-process.ts";
import { type ProcessCost, processCost } from "./process-cost.ts";
import { describeCost, Progress } from "./progress.ts";
import { type Bench, untilDone } from "./world.ts";

export interface Step {
  readonly name: string;
  readonly seconds: number;
  readonly requests: number;
  readonly mutating: number;
  /** Requests of the manager to the API server; undefined when it does not count. */
  readonly reads: number | undefined;
  readonly writes: number | undefined;
  /** The cost of the process that ran at the end of the step, since its start. */
  readonly cost: ProcessCost | undefined;
}

export interface StepPlan {
  readonly name: string;
  readonly start: () => Promise<unknown>;
  readonly isDone: () => boolean | Promise<boolean>;
  /** The progress of the step, for progress lines. */
  readonly describe: () => string;
}

/** Time without a request after which no more are expected. */
const quietMs = 1500;
const maxSeconds = 900;

export class StepTimer {
  readonly #bench: Pick<Bench, "cloud" | "requests">;
  readonly #cloud: Bench["cloud"];
  /** A step may replace the manager. */
  readonly #manager: () => KeptProcess;
  readonly #steps: Step[] = [];

  constructor(bench: Pick<Bench, "cloud" | "requests">, manager: () => KeptProcess) {
    this.#bench = bench;
    this.#cloud = bench.cloud;
    this.#manager = manager;
  }

  get steps(): readonly Step[] {
    return this.#steps;
  }

  async measure({ name, start, isDone, describe }: StepPlan): Promise<void> {
    await this.#untilQuiet();
    const before = this.#cloud.seen.length;
    const counted = await this.#bench.requests();
    using _ = new Progress(() =>
      [
        `${name}: ${describe()}`,
        `${this.#cloud.seen.length - before} cloud requests`,
        describeCost(processCost(this.#manager().pid)),
      ].join("; "),
    );
    const startedAt = performance.now();
    await start();
    await untilDone(this.#manager(), name, isDone, { seconds: maxSeconds, everyMs: 20 });
    const doneAt = performance.now();
    const lastRequestAt = await this.#untilQuiet();
    const seen = this.#cloud.seen.slice(before);
    const now = await this.#bench.requests();
    const growth = (kind: "reads" | "writes") => now && counted && now[kind] - counted[kind];
    this.#steps.push({
      name,
      seconds: (Math.max(doneAt, lastRequestAt) - startedAt) / 1000,
      requests: seen.length,
      mutating: seen.filter(({ mutates }) => mutates).length,
      reads: growth("reads"),
      writes: growth("writes"),
      cost: processCost(this.#manager().pid),
    });
  }

  /** Waits until no cloud requests arrive, and returns the time of the last one. */
  async #untilQuiet(): Promise<number> {
    let seen = this.#cloud.seen.length;
    let lastAt = performance.now();
    const isQuiet = (): boolean => {
      if (this.#cloud.seen.length !== seen) {
        seen = this.#cloud.seen.length;
        lastAt = performance.now();
      }
      return performance.now() - lastAt > quietMs;
    };
    await untilDone(this.#manager(), "cloud requests stopped", isQuiet, { seconds: maxSeconds });
    return lastAt;
  }
}
