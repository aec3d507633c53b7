// Metrics of work queues, by upstream's names and buckets.

import type { Clock } from "../../platform/clock.ts";
import type { WorkQueue } from "../../runtime/work-queue.ts";
import type { LabelValues, Metrics } from "../../telemetry/metrics.ts";

const buckets = [1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1, 10];

interface WatchedQueue {
  readonly queue: WorkQueue;
  /** When a worker took each key, on the monotonic clock. */
  readonly active: ReadonlyMap<string, number>;
}

export interface QueueMetrics {
  watch(name: string, queue: WorkQueue): void;
  /** Seconds that a worker has had its current key, at most. */
  longestActive(name: string): number;
}

export function createQueueMetrics(metrics: Metrics, clock: Clock): QueueMetrics {
  const watched = new Map<string, WatchedQueue>();
  const labels = ["name"] as const;
  const perQueue = (read: (queue: WatchedQueue) => number) => (): Iterable<readonly [LabelValues, number]> =>
    [...watched].map(([name, queue]) => [{ name }, read(queue)] as const);
  const ages = ({ active }: WatchedQueue): readonly number[] =>
    [...active.values()].map((since) => (clock.monotonic() - since) / 1000);

  metrics.gaugeFrom(
    "workqueue_depth",
    "[BETA] Current depth of workqueue",
    labels,
    perQueue(({ queue }) => queue.depth),
  );
  const adds = metrics.counter(
    "workqueue_adds_total",
    "[BETA] Total number of adds handled by workqueue",
    labels,
  );
  const waited = metrics.histogram(
    "workqueue_queue_duration_seconds",
    "[BETA] How long in seconds an item stays in workqueue before being requested.",
    buckets,
    labels,
  );
  const worked = metrics.histogram(
    "workqueue_work_duration_seconds",
    "[BETA] How long in seconds processing an item from workqueue takes.",
    buckets,
    labels,
  );
  metrics.gaugeFrom(
    "workqueue_unfinished_work_seconds",
    "[BETA] How many seconds of work has done that is in progress and hasn't been observed by work_duration. Large values indicate stuck threads. One can deduce the number of stuck threads by observing the rate at which this increases.",
    labels,
    perQueue((queue) => ages(queue).reduce((sum, age) => sum + age, 0)),
  );
  metrics.gaugeFrom(
    "workqueue_longest_running_processor_seconds",
    "[BETA] How many seconds has the longest running processor for workqueue been running.",
    labels,
    perQueue((queue) => Math.max(0, ...ages(queue))),
  );
  const retries = metrics.counter(
    "workqueue_retries_total",
    "[BETA] Total number of retries handled by workqueue",
    labels,
  );

  return {
    watch: (name, queue) => {
      const since = new Map<string, number>();
      const active = new Map<string, number>();
      const of = { name };
      watched.set(name, { queue, active });
      // Present from the start, as in Go: rate() needs a first value.
      adds.add(of, 0);
      retries.add(of, 0);
      queue.observe({
        ready: (key) => {
          adds.add(of);
          since.set(key, clock.monotonic());
        },
        taken: (key) => {
          const now = clock.monotonic();
          waited.observe((now - (since.get(key) ?? now)) / 1000, of);
          since.delete(key);
          active.set(key, now);
        },
        done: (key) => {
          const now = clock.monotonic();
          worked.observe((now - (active.get(key) ?? now)) / 1000, of);
          active.delete(key);
        },
        delayed: () => retries.add({ name }),
      });
    },
    longestActive: (name) => {
      const queue = watched.get(name);
      return queue === undefined ? 0 : Math.max(0, ...ages(queue));
    },
  };
}
