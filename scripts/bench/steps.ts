// Measures consecutive steps of a benchmark while a manager runs. A step ends when it is done and no more cloud requests follow.

import type { KeptProcess } from "../../test/cluster/rig/kept-process.ts";
import { costSince, type ProcessCost, processCost, type StepCost } from "./process-cost.ts";
import { describeCost, Progress, printProgress } from "./progress.ts";
import { type Bench, untilDone } from "./world.ts";

export interface Step {
  readonly name: string;
  /** Seconds until the step was done; Infinity if the manager did not finish it in the allowed time. */
  readonly done: number;
  /** Seconds until the step was done and the cloud had received its last request. */
  readonly seconds: number;
  readonly requests: number;
  readonly mutating: number;
  /** Requests of the manager to the API server; undefined if the server does not count. */
  readonly reads: number | undefined;
  readonly writes: number | undefined;
  /** The cost, since its start, of the process that ran at the end of the step. */
  readonly cost: ProcessCost | undefined;
  /** The cost of the step. That of a manager that the step started begins with the start. */
  readonly cpu: StepCost;
}

/** The steps of Services. */
export const stepNames = {
  created: "created, all have an address",
  oneMore: "one more Node",
  restart: "restart without changes",
  deleted: "all deleted",
} as const;

export interface StepPlan {
  readonly name: string;
  readonly start: () => Promise<unknown>;
  readonly isDone: () => boolean | Promise<boolean>;
  /** The number of seconds that the manager has for the step. By default, a step that takes half an hour ends the benchmark. */
  readonly atMost?: number;
  /** The progress of the step, for progress lines. */
  readonly describe?: () => string;
}

export interface StepTiming {
  /** The time without a request after which no more are expected. */
  readonly quietMs: number;
  /** The time between two checks whether a step is done. */
  readonly everyMs: number;
}

const maxSeconds = 1800;

export class StepTimer {
  readonly #bench: Bench;
  /** A step may replace the manager. */
  readonly #manager: () => KeptProcess;
  readonly #timing: StepTiming;
  readonly #steps: Step[] = [];

  constructor(bench: Bench, manager: () => KeptProcess, timing: StepTiming = { quietMs: 1500, everyMs: 5 }) {
    this.#bench = bench;
    this.#manager = manager;
    this.#timing = timing;
  }

  get steps(): readonly Step[] {
    return this.#steps;
  }

  async measure({ name, start, isDone, atMost, describe = () => "" }: StepPlan): Promise<Step> {
    const bench = this.#bench;
    const { seen } = bench.cloud.api;
    await this.#untilQuiet();
    const before = seen.length;
    const counted = await bench.requests();
    using _ = new Progress(() =>
      [
        `${name}: ${describe()}`,
        `${seen.length - before} cloud requests`,
        describeCost(processCost(this.#manager().pid)),
      ].join("; "),
    );
    const { pid } = this.#manager();
    const costBefore = bench.cost(this.#manager());
    const startedAt = performance.now();
    await start();
    let doneAt = Number.POSITIVE_INFINITY;
    const isOver = async (): Promise<boolean> => {
      const now = performance.now();
      if (await isDone()) doneAt = now;
      return doneAt === now || (atMost !== undefined && now > startedAt + 1000 * atMost);
    };
    await untilDone(this.#manager(), name, isOver, { seconds: maxSeconds, everyMs: this.#timing.everyMs });
    if (doneAt === Number.POSITIVE_INFINITY)
      printProgress(`    ${name}: not within ${atMost} s; ${describe()}`);
    const lastRequestAt = await this.#untilQuiet();
    const manager = this.#manager();
    const from = manager.pid === pid ? costBefore : { ...costBefore, manager: 0 };
    const cpu = costSince(from, bench.cost(manager));
    const sent = seen.slice(before);
    const now = await bench.requests();
    const growth = (kind: "reads" | "writes") => now && counted && now[kind] - counted[kind];
    const step = {
      name,
      done: (doneAt - startedAt) / 1000,
      seconds: (Math.max(Number.isFinite(doneAt) ? doneAt : 0, lastRequestAt) - startedAt) / 1000,
      requests: sent.length,
      // A new token changes nothing.
      mutating: sent.filter(({ mutates, operation }) => mutates && !operation.endsWith("/auth/tokens"))
        .length,
      reads: growth("reads"),
      writes: growth("writes"),
      cost: processCost(manager.pid),
      cpu,
    };
    this.#steps.push(step);
    return step;
  }

  /** Waits until no cloud requests arrive, and returns the time of the last one. */
  async #untilQuiet(): Promise<number> {
    const { seen } = this.#bench.cloud.api;
    let count = seen.length;
    let lastAt = performance.now();
    const isQuiet = (): boolean => {
      if (seen.length !== count) [count, lastAt] = [seen.length, performance.now()];
      return performance.now() - lastAt > this.#timing.quietMs;
    };
    await untilDone(this.#manager(), "cloud requests stopped", isQuiet, { seconds: maxSeconds });
    return lastAt;
  }
}
