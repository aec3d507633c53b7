// A work queue of keys: each is queued at most once, urgent keys come first, delayed keys when they are due, and no key is
// processed twice at a time. Holds no events or objects: a worker reads the current state of its key.

import { type Milliseconds, milliseconds } from "../core/brand.ts";
import type { Clock } from "../platform/clock.ts";
import { DueHeap } from "./due-heap.ts";

/** Lower values go first. `answered`: the rest of a reconcile that waited for an answer, which is short. */
export const priorities = { answered: 0, urgent: 1, normal: 2, background: 3 } as const;
export type Priority = (typeof priorities)[keyof typeof priorities];

export interface AddOptions {
  readonly priority?: Priority;
  readonly delay?: Milliseconds;
  /** True if the key is retried after an error. `retryNow` ends the delay. */
  readonly isRetry?: boolean;
}

/** Receives what happens to keys, for metrics. Must not change the queue. */
export interface QueueObserver {
  /** The key waits for a worker. */
  ready?(key: string): void;
  taken?(key: string): void;
  done?(key: string): void;
  /** The key was added with a delay. */
  delayed?(key: string): void;
}

/** Runs the work on a key, for example in a span of a trace. */
export type WorkWrapper = <T>(key: string, work: () => Promise<T>) => Promise<T>;

interface Delayed {
  readonly due: number;
  readonly priority: Priority;
  readonly isRetry: boolean;
}

export class WorkQueue {
  readonly #clock: Clock;
  readonly #ready = [new Set<string>(), new Set<string>(), new Set<string>(), new Set<string>()] as const;
  readonly #delayed = new Map<string, Delayed>();
  readonly #heap = new DueHeap();
  /** Keys being processed; the value is the priority of a run that was requested during it. */
  readonly #active = new Map<string, Priority | undefined>();
  readonly #takers = new Set<(key: string) => void>();
  #timer: { readonly due: number; readonly cancel: () => void } | undefined;
  readonly #observers: QueueObserver[] = [];
  #wrapper: WorkWrapper | undefined;
  #isClosed = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  observe(observer: QueueObserver): void {
    this.#observers.push(observer);
  }

  /** Sets the function that workers call around each reconcile. */
  wrap(wrapper: WorkWrapper): void {
    this.#wrapper = wrapper;
  }

  /** Undefined if nothing wraps the work. */
  get wrapper(): WorkWrapper | undefined {
    return this.#wrapper;
  }

  /** Without a delay, replaces a delayed run. The earlier of two delays and the more urgent of two priorities win. */
  add(key: string, options: AddOptions = {}): void {
    if (this.#isClosed) return;
    const requestedPriority = options.priority ?? priorities.normal;
    if (options.delay !== undefined && options.delay > 0) {
      this.#addLater(key, options.delay, requestedPriority, options.isRetry === true);
      return;
    }
    const priority = moreUrgent(requestedPriority, this.#delayed.get(key)?.priority ?? requestedPriority);
    this.#delayed.delete(key);
    if (this.#active.has(key)) {
      const requested = this.#active.get(key);
      this.#active.set(key, requested === undefined ? priority : moreUrgent(requested, priority));
      return;
    }
    const waiting = this.#priorityOf(key);
    if (waiting !== undefined) {
      if (priority >= waiting) return;
      this.#ready[waiting].delete(key);
    }
    this.#enqueue(key, priority);
  }

  /** Resolves with a key that no other worker has. Call `done` afterwards in any case. */
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
    const requested = this.#active.get(key);
    this.#active.delete(key);
    for (const observer of this.#observers) observer.done?.(key);
    // A run was requested during processing, so it starts now, whatever delay the last run ended with.
    if (requested !== undefined) this.add(key, { priority: requested });
  }

  /** Called when the cause of the failures is gone. Makes the keys that wait for a retry due now. */
  retryNow(): void {
    for (const [key, { isRetry, priority }] of [...this.#delayed]) if (isRetry) this.add(key, { priority });
  }

  /** Another queue has replaced this one: waiting keys are dropped, and later keys are ignored. */
  close(): void {
    this.#isClosed = true;
    for (const ready of this.#ready) ready.clear();
    this.#delayed.clear();
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  /** The number of keys that wait for a worker, excluding delayed and active keys. */
  get depth(): number {
    return this.#ready.reduce((sum, ready) => sum + ready.size, 0);
  }

  get delayed(): number {
    return this.#delayed.size;
  }

  /** When each delayed key is due (monotonic). */
  get dueTimes(): ReadonlyMap<string, number> {
    return new Map([...this.#delayed].map(([key, { due }]) => [key, due]));
  }

  /** When this key is due (monotonic); undefined if it is not delayed. */
  dueTime(key: string): number | undefined {
    return this.#delayed.get(key)?.due;
  }

  isActive(key: string): boolean {
    return this.#active.has(key);
  }

  get active(): number {
    return this.#active.size;
  }

  /** The keys that are being processed. */
  get activeKeys(): readonly string[] {
    return [...this.#active.keys()];
  }

  /** No key is waiting, delayed or active. */
  get isIdle(): boolean {
    return this.depth === 0 && this.#delayed.size === 0 && this.#active.size === 0;
  }

  #priorityOf(key: string): Priority | undefined {
    const level = this.#ready.findIndex((ready) => ready.has(key));
    return level === -1 ? undefined : (level as Priority);
  }

  #enqueue(key: string, priority: Priority): void {
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

  #addLater(key: string, delay: Milliseconds, priority: Priority, isRetry: boolean): void {
    if (this.#priorityOf(key) !== undefined) return;
    for (const observer of this.#observers) observer.delayed?.(key);
    const known = this.#delayed.get(key);
    const requested = this.#clock.monotonic() + delay;
    const due = known === undefined ? requested : Math.min(known.due, requested);
    this.#delayed.set(key, {
      due,
      priority: known === undefined ? priority : moreUrgent(known.priority, priority),
      isRetry: isRetry || known?.isRetry === true,
    });
    if (known?.due !== due) this.#heap.push({ key, due });
    this.#scheduleNext();
  }

  #scheduleNext(): void {
    const due = this.#heap.peek()?.due;
    if (due === undefined || (this.#timer !== undefined && this.#timer.due <= due)) return;
    this.#timer?.cancel();
    const delay = milliseconds(Math.max(0, due - this.#clock.monotonic()));
    this.#timer = { due, cancel: this.#clock.after(delay, () => this.#enqueueDue()) };
  }

  #enqueueDue(): void {
    this.#timer = undefined;
    const now = this.#clock.monotonic();
    for (let next = this.#heap.peek(); next !== undefined && next.due <= now; next = this.#heap.peek()) {
      this.#heap.pop();
      const delayed = this.#delayed.get(next.key);
      // Ignores entries that were replaced by an earlier entry or by a run.
      if (delayed?.due === next.due) this.add(next.key, { priority: delayed.priority });
    }
    this.#scheduleNext();
  }
}

const moreUrgent = (a: Priority, b: Priority): Priority => (a < b ? a : b);
