// Keys waiting to be worked on: each at most once, urgent ones first, delayed ones when due, none twice at once.
// It holds keys only, never events or objects: whoever takes a key looks at the world as it is then.

import { type Milliseconds, milliseconds } from "../core/brand.ts";
import type { Clock } from "../platform/clock.ts";
import { DueHeap } from "./due-heap.ts";

/** Lower goes first. */
export const priorities = { urgent: 0, normal: 1, background: 2 } as const;
export type Priority = (typeof priorities)[keyof typeof priorities];

export interface AddOptions {
  readonly priority?: Priority;
  readonly delay?: Milliseconds;
}

/** Told what happens to keys, for those who measure; it must not touch the queue. */
export interface QueueObserver {
  /** It waits for a worker now. */
  ready?(key: string): void;
  taken?(key: string): void;
  done?(key: string): void;
  /** It is to come later. */
  delayed?(key: string): void;
}

interface Delayed {
  readonly due: number;
  readonly priority: Priority;
}

export class WorkQueue {
  readonly #clock: Clock;
  readonly #ready = [new Set<string>(), new Set<string>(), new Set<string>()] as const;
  readonly #delayed = new Map<string, Delayed>();
  readonly #heap = new DueHeap();
  /** Keys being worked on; the value is the priority of a run asked for meanwhile. */
  readonly #active = new Map<string, Priority | undefined>();
  readonly #takers = new Set<(key: string) => void>();
  #wake: { readonly due: number; readonly cancel: () => void } | undefined;
  readonly #observers: QueueObserver[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  observe(observer: QueueObserver): void {
    this.#observers.push(observer);
  }

  /** A run now overrides a delayed one; of two delays the earlier one counts; the more urgent of two priorities counts. */
  add(key: string, options: AddOptions = {}): void {
    const given = options.priority ?? priorities.normal;
    if (options.delay !== undefined && options.delay > 0) {
      this.#addLater(key, options.delay, given);
      return;
    }
    const priority = moreUrgent(given, this.#delayed.get(key)?.priority ?? given);
    this.#delayed.delete(key);
    if (this.#active.has(key)) {
      const asked = this.#active.get(key);
      this.#active.set(key, asked === undefined ? priority : moreUrgent(asked, priority));
      return;
    }
    const waiting = this.#priorityOf(key);
    if (waiting !== undefined) {
      if (priority >= waiting) return;
      this.#ready[waiting].delete(key);
    }
    this.#hand(key, priority);
  }

  /** Resolves with a key that nobody else works on; call `done` afterwards, whatever happened. */
  take(signal: AbortSignal): Promise<string> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      for (const ready of this.#ready) {
        for (const key of ready) {
          ready.delete(key);
          this.#active.set(key, undefined);
          for (const observer of this.#observers) observer.taken?.(key);
          return resolve(key);
        }
      }
      const onAbort = () => {
        this.#takers.delete(taker);
        reject(signal.reason);
      };
      const taker = (key: string) => {
        signal.removeEventListener("abort", onAbort);
        resolve(key);
      };
      signal.addEventListener("abort", onAbort, { once: true });
      this.#takers.add(taker);
    });
  }

  done(key: string): void {
    const asked = this.#active.get(key);
    this.#active.delete(key);
    for (const observer of this.#observers) observer.done?.(key);
    // A run was asked for meanwhile: now, whatever delay the last one ended in.
    if (asked !== undefined) this.add(key, { priority: asked });
  }

  /** Waiting now, not counting delayed and active ones. */
  get depth(): number {
    return this.#ready.reduce((sum, ready) => sum + ready.size, 0);
  }

  get delayed(): number {
    return this.#delayed.size;
  }

  get active(): number {
    return this.#active.size;
  }

  /** Nothing waits, nothing is delayed, nothing is being worked on. */
  get isIdle(): boolean {
    return this.depth === 0 && this.#delayed.size === 0 && this.#active.size === 0;
  }

  #priorityOf(key: string): Priority | undefined {
    const level = this.#ready.findIndex((ready) => ready.has(key));
    return level === -1 ? undefined : (level as Priority);
  }

  #hand(key: string, priority: Priority): void {
    for (const observer of this.#observers) observer.ready?.(key);
    for (const taker of this.#takers) {
      this.#takers.delete(taker);
      this.#active.set(key, undefined);
      for (const observer of this.#observers) observer.taken?.(key);
      taker(key);
      return;
    }
    this.#ready[priority].add(key);
  }

  #addLater(key: string, delay: Milliseconds, priority: Priority): void {
    if (this.#priorityOf(key) !== undefined) return;
    for (const observer of this.#observers) observer.delayed?.(key);
    const known = this.#delayed.get(key);
    const asked = this.#clock.monotonic() + delay;
    const due = known === undefined ? asked : Math.min(known.due, asked);
    this.#delayed.set(key, {
      due,
      priority: known === undefined ? priority : moreUrgent(known.priority, priority),
    });
    if (known?.due !== due) this.#heap.push({ key, due });
    this.#wakeForNext();
  }

  #wakeForNext(): void {
    const due = this.#heap.peek()?.due;
    if (due === undefined || (this.#wake !== undefined && this.#wake.due <= due)) return;
    this.#wake?.cancel();
    const delay = milliseconds(Math.max(0, due - this.#clock.monotonic()));
    this.#wake = { due, cancel: this.#clock.after(delay, () => this.#release()) };
  }

  #release(): void {
    this.#wake = undefined;
    const now = this.#clock.monotonic();
    for (let next = this.#heap.peek(); next !== undefined && next.due <= now; next = this.#heap.peek()) {
      this.#heap.pop();
      const delayed = this.#delayed.get(next.key);
      // An entry that was overtaken by an earlier one, or by a run, no longer counts.
      if (delayed?.due === next.due) this.add(next.key, { priority: delayed.priority });
    }
    this.#wakeForNext();
  }
}

const moreUrgent = (a: Priority, b: Priority): Priority => (a < b ? a : b);
