// Metrics of work queues, by upstream's names and buckets.

import type { Clock } from "../../platform/clock.ts";
import type { WorkQueue } from "../../runtime/work-queue.ts";
import type { Counter, Histogram, LabelValues, Metrics } from "../../telemetry/metrics.ts";

const buckets = [1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1, 10];

interface WatchedQueue {
  readonly queue: WorkQueue;
  /** When a worker took each key (monotonic). */
  readonly active: ReadonlyMap<string, number>;
}

const labels = ["name"] as const;

export class QueueMetrics {
  readonly #clock: Clock;
  readonly #watched = new Map<string, WatchedQueue>();
  readonly #adds: Counter;
  readonly #retries: Counter;
  readonly #waited: Histogram;
  readonly #worked: Histogram;

  constructor(metrics: Metrics, clock: Clock) {
    this.#clock = clock;
    metrics.gaugeFrom("workqueue_depth", "[BETA] Current depth of workqueue", labels, () =>
      this.#perQueue(({ queue }) => queue.depth),
    );
    this.#adds = metrics.counter(
      "workqueue_adds_total",
      "[BETA] Total number of adds handled by workqueue",
      labels,
    );
    this.#waited = metrics.histogram(
      "workqueue_queue_duration_seconds",
      "[BETA] How long in seconds an item stays in workqueue before being requested.",
      buckets,
      labels,
    );
    this.#worked = metrics.histogram(
      "workqueue_work_duration_seconds",
      "[BETA] How long in seconds processing an item from workqueue takes.",
      buckets,
      labels,
    );
    metrics.gaugeFrom(
      "workqueue_unfinished_work_seconds",
      "[BETA] How many seconds of work has done that is in progress and hasn't been observed by work_duration. Large values indicate stuck threads. One can deduce the number of stuck threads by observing the rate at which this increases.",
      labels,
      () => this.#perQueue((queue) => this.#ages(queue).reduce((sum, age) => sum + age, 0)),
    );
    metrics.gaugeFrom(
      "workqueue_longest_running_processor_seconds",
      "[BETA] How many seconds has the longest running processor for workqueue been running.",
      labels,
      () => this.#perQueue((queue) => Math.max(0, ...this.#ages(queue))),
    );
    this.#retries = metrics.counter(
      "workqueue_retries_total",
      "[BETA] Total number of retries handled by workqueue",
      labels,
    );
  }

  watch(name: string, queue: WorkQueue): void {
    const readySince = new Map<string, number>();
    const active = new Map<string, number>();
    const label = { name };
    this.#watched.set(name, { queue, active });
    // Present from the start, as in Go, because rate() needs a first value.
    this.#adds.add(label, 0);
    this.#retries.add(label, 0);
    queue.observe({
      ready: (key) => {
        this.#adds.add(label);
        readySince.set(key, this.#clock.monotonic());
      },
      taken: (key) => {
        const now = this.#clock.monotonic();
        this.#waited.observe((now - (readySince.get(key) ?? now)) / 1000, label);
        readySince.delete(key);
        active.set(key, now);
      },
      done: (key) => {
        const now = this.#clock.monotonic();
        this.#worked.observe((now - (active.get(key) ?? now)) / 1000, label);
        active.delete(key);
      },
      delayed: () => this.#retries.add(label),
    });
  }

  /** The longest time that a worker has been processing its current key, in seconds. */
  longestActive(name: string): number {
    const queue = this.#watched.get(name);
    return queue === undefined ? 0 : Math.max(0, ...this.#ages(queue));
  }

  #perQueue(read: (queue: WatchedQueue) => number): Iterable<readonly [LabelValues, number]> {
    return [...this.#watched].map(([name, queue]) => [{ name }, read(queue)] as const);
  }

  #ages({ active }: WatchedQueue): readonly number[] {
    return [...active.values()].map((since) => (this.#clock.monotonic() - since) / 1000);
  }
}
