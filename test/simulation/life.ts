// Whether a simulated process runs, is stopped by a signal, or is dead, and the clock it sees. Timers and answers reach it
// only through here: late when it was stopped, never when it was killed.

import type { Milliseconds } from "../../src/core/brand.ts";
import { milliseconds } from "../../src/core/brand.ts";
import type { Clock } from "../../src/platform/clock.ts";

type Kind = "timer" | "answer";

export class Life {
  readonly #world: Clock;
  #state: "running" | "stopped" | "dead" = "running";
  #held: { readonly kind: Kind; readonly work: () => void }[] = [];
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

  deliver(kind: Kind, work: () => void): void {
    if (this.#state === "running") work();
    else if (this.#state === "stopped") this.#held.push({ kind, work });
  }

  /** SIGSTOP: the world goes on, and what it says waits. */
  stop(): void {
    if (this.#state === "running") this.#state = "stopped";
  }

  /** SIGCONT: all that was late comes at once, timers or answers first. */
  resume(first: Kind): void {
    if (this.#state !== "stopped") return;
    this.#state = "running";
    const held = this.#held;
    this.#held = [];
    const order = [
      ...held.filter(({ kind }) => kind === first),
      ...held.filter(({ kind }) => kind !== first),
    ];
    for (const { kind, work } of order) {
      this.#world.after(milliseconds(0), () => this.deliver(kind, work));
    }
  }

  kill(): void {
    this.#state = "dead";
    this.#held = [];
    const ends = [...this.#onDeath];
    this.#onDeath.clear();
    for (const end of ends) end();
  }

  /** Called back when it dies; returns how to take that back. */
  onDeath(end: () => void): () => void {
    this.#onDeath.add(end);
    return () => this.#onDeath.delete(end);
  }
}

/** The clock of one process: a start of its own for monotonic time, and a wall that somebody may set. */
export class ProcessClock implements Clock {
  readonly #world: Clock;
  readonly #life: Life;
  readonly #start: number;
  #wallOffset = 0;

  constructor(world: Clock, life: Life, start: number) {
    this.#world = world;
    this.#life = life;
    this.#start = start;
  }

  now(): number {
    return this.#world.now() + this.#wallOffset;
  }

  monotonic(): number {
    return this.#world.monotonic() + this.#start;
  }

  /** The wall clock is set forwards or backwards, from one moment to the next. */
  step(by: Milliseconds): void {
    this.#wallOffset += by;
  }

  after(delay: Milliseconds, callback: () => void): () => void {
    let isCancelled = false;
    const cancelTimer = this.#world.after(delay, () => {
      forget();
      this.#life.deliver("timer", () => {
        if (!isCancelled) callback();
      });
    });
    const forget = this.#life.onDeath(cancelTimer);
    return () => {
      isCancelled = true;
      forget();
      cancelTimer();
    };
  }
}
