// A simulated process that can be paused and killed, and the clock that it sees. Timers and responses reach it only through
// `deliver`: late when it was paused, never when it was killed.

import type { Milliseconds } from "../../src/core/brand.ts";
import { milliseconds } from "../../src/core/brand.ts";
import type { Clock } from "../../src/platform/clock.ts";

type Delivery = "timer" | "answer";

export class SimulatedProcess {
  readonly #world: Clock;
  #state: "running" | "paused" | "dead" = "running";
  #waiting: { readonly kind: Delivery; readonly work: () => void }[] = [];
  readonly #onDeath = new Set<() => void>();

  constructor(world: Clock) {
    this.#world = world;
  }

  get isDead(): boolean {
    return this.#state === "dead";
  }

  get isRunning(): boolean {
    return this.#state === "running";
  }

  deliver(kind: Delivery, work: () => void): void {
    if (this.#state === "running") work();
    else if (this.#state === "paused") this.#waiting.push({ kind, work });
  }

  /** Pauses the process like SIGSTOP: deliveries wait until it is resumed. */
  pause(): void {
    if (this.#state === "running") this.#state = "paused";
  }

  /** Resumes the process like SIGCONT: everything that waited is delivered, timers or responses first. */
  resume(first: Delivery): void {
    if (this.#state !== "paused") return;
    this.#state = "running";
    const waiting = this.#waiting;
    this.#waiting = [];
    const order = [
      ...waiting.filter(({ kind }) => kind === first),
      ...waiting.filter(({ kind }) => kind !== first),
    ];
    for (const { kind, work } of order) {
      this.#world.after(milliseconds(0), () => this.deliver(kind, work));
    }
  }

  kill(): void {
    this.#state = "dead";
    this.#waiting = [];
    const ends = [...this.#onDeath];
    this.#onDeath.clear();
    for (const end of ends) end();
  }

  /** Calls `end` when the process is killed; returns a function that cancels this. */
  onDeath(end: () => void): () => void {
    this.#onDeath.add(end);
    return () => this.#onDeath.delete(end);
  }
}

/** The clock of one process: its own start of monotonic time, and a wall clock that can be stepped. */
export class ProcessClock implements Clock {
  readonly #world: Clock;
  readonly #process: SimulatedProcess;
  readonly #start: number;
  #wallOffset = 0;

  constructor(world: Clock, process: SimulatedProcess, start: number) {
    this.#world = world;
    this.#process = process;
    this.#start = start;
  }

  now(): number {
    return this.#world.now() + this.#wallOffset;
  }

  monotonic(): number {
    return this.#world.monotonic() + this.#start;
  }

  /** Sets the wall clock forwards or backwards. */
  step(by: Milliseconds): void {
    this.#wallOffset += by;
  }

  after(delay: Milliseconds, callback: () => void): () => void {
    let isCancelled = false;
    const cancelTimer = this.#world.after(delay, () => {
      removeListener();
      this.#process.deliver("timer", () => {
        if (!isCancelled) callback();
      });
    });
    const removeListener = this.#process.onDeath(cancelTimer);
    return () => {
      isCancelled = true;
      removeListener();
      cancelTimer();
    };
  }
}
