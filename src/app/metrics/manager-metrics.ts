// All metrics of the manager. Those of the process and its ports are in process-metrics.ts.

import type { Clock } from "../../platform/clock.ts";
import type { Task } from "../../runtime/run-together.ts";
import type { WorkQueue } from "../../runtime/work-queue.ts";
import { type Counter, type Histogram, type LabelValues, Metrics } from "../../telemetry/metrics.ts";
import type { ManagerReport } from "../report/manager-report.ts";
import {
  createCertificateMetrics,
  createJournalMetrics,
  createNodeMetrics,
  createRouteMetrics,
  createServiceMetrics,
  createVolumeMetrics,
} from "./controller-metrics.ts";
import { addReportMetrics } from "./report-metrics.ts";
import { createCloudMetrics, KubeMetrics } from "./request-metrics.ts";

export class ManagerMetrics {
  readonly #metrics = new Metrics();
  readonly initialized = createNodeMetrics(this.#metrics);
  readonly services = createServiceMetrics(this.#metrics);
  readonly servingCertificate = createCertificateMetrics(this.#metrics);
  readonly volumeCall = createVolumeMetrics(this.#metrics);
  readonly routeSync = createRouteMetrics(this.#metrics);
  readonly mutation = createJournalMetrics(this.#metrics);
  readonly kube = new KubeMetrics(this.#metrics);
  readonly cloudCall = createCloudMetrics(this.#metrics);
  readonly queues: QueueMetrics;
  readonly #leads = this.#metrics.gauge(
    "leader_election_master_status",
    "[ALPHA] Gauge of if the reporting system is master of the relevant lease, 0 indicates backup, 1 indicates master. 'name' is the string used to identify the lease. Please make sure to group by name.",
    ["name"],
  );
  readonly #slowElections = this.#metrics.counter(
    "leader_election_slowpath_total",
    "[ALPHA] Total number of slow path exercised in renewing leader leases. 'name' is the string used to identify the lease. Please make sure to group by name.",
    ["name"],
  );
  readonly #running = this.#metrics.gauge(
    "running_managed_controllers",
    "[BETA] Indicates where instances of a controller are currently running",
    ["name", "manager"],
  );
  readonly #hints = this.#metrics.counter(
    "fairlead_change_hints_total",
    "Changes that the cloud reported: `used`, or `ignored` as unknown or repeated.",
    ["result"],
  );
  /** By result. */
  readonly traceSpans = this.#metrics.counter(
    "fairlead_trace_spans_total",
    "Spans for --tracing-endpoint, by result: exported or dropped.",
    ["result"],
  );
  #read: () => ManagerReport | undefined = () => undefined;
  /** The report of the scrape in progress, so that all gauges show one moment. */
  #report: ManagerReport | undefined;

  /** `isRefused`: whether the configuration in the files is invalid. */
  constructor(clock: Clock, isRefused: () => boolean = () => false) {
    this.queues = new QueueMetrics(this.#metrics, clock);
    addReportMetrics(this.#metrics, () => this.#report);
    this.#metrics.gaugeFrom(
      "fairlead_configuration_invalid",
      "1 while the configuration in the files is invalid, so that the previous one stays in use; the log has the errors.",
      [],
      () => [[{}, isRefused() ? 1 : 0]],
    );
  }

  readonly leads = (name: string, isLeader: boolean): void => this.#leads.set(isLeader ? 1 : 0, { name });

  readonly slowElection = (name: string): void => this.#slowElections.add({ name });

  /** The task, with the metric of running controllers. */
  readonly whileRunning = (task: Task): Task => {
    const runs = (isRunning: 0 | 1): void =>
      this.#running.set(isRunning, { name: task.name, manager: "cloud-controller-manager" });
    return {
      name: task.name,
      run: async (stop) => {
        runs(1);
        try {
          await task.run(stop);
        } finally {
          runs(0);
        }
      },
    };
  };

  /** Whether the hint had an effect: it is about something known, and not a repetition. */
  changeHint(isUsed: boolean): void {
    this.#hints.add({ result: isUsed ? "used" : "ignored" });
  }

  /** Sets where the report is read from. */
  readFrom(read: () => ManagerReport): void {
    this.#read = read;
  }

  get declarations(): Metrics["declarations"] {
    return this.#metrics.declarations;
  }

  readonly text = (): string => {
    this.#report = this.#read();
    try {
      return this.#metrics.text();
    } finally {
      this.#report = undefined;
    }
  };
}

// Metrics of work queues, by upstream's names and buckets.

const buckets = [1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1, 10];

interface WatchedQueue {
  readonly queue: WorkQueue;
  /** When a worker took each key, on the monotonic clock. */
  readonly active: ReadonlyMap<string, number>;
}

const labels = ["name"] as const;

class QueueMetrics {
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
    // Present from the start, as in Go: rate() needs a first value.
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
