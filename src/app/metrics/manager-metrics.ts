// All metrics of the manager. Metrics of the process and its ports are in process-metrics.ts.

import type { Clock } from "../../platform/clock.ts";
import type { Task } from "../../runtime/run-together.ts";
import { Metrics } from "../../telemetry/metrics.ts";
import type { ManagerReport } from "../report/manager-report.ts";
import {
  createCertificateMetrics,
  createJournalMetrics,
  createLifecycleMetrics,
  createNodeMetrics,
  createRouteMetrics,
  createServiceMetrics,
  createVolumeMetrics,
} from "./controller-metrics.ts";
import { QueueMetrics } from "./queue-metrics.ts";
import { addReportMetrics } from "./report-metrics.ts";
import { createCloudMetrics, KubeMetrics } from "./request-metrics.ts";

export class ManagerMetrics {
  readonly #metrics = new Metrics();
  readonly initialized = createNodeMetrics(this.#metrics);
  readonly instanceLookup = createLifecycleMetrics(this.#metrics);
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
  /** The number of spans by result. */
  readonly traceSpans = this.#metrics.counter(
    "fairlead_trace_spans_total",
    "Spans for --tracing-endpoint, by result: exported or dropped.",
    ["result"],
  );
  #read: () => ManagerReport | undefined = () => undefined;
  /** The report of the scrape in progress, so that all gauges describe the same moment. */
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

  /** Wraps the task, so that the metric of running controllers includes it. */
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

  /** Records whether the hint had an effect: it named something known and was not a repetition. */
  changeHint(isUsed: boolean): void {
    this.#hints.add({ result: isUsed ? "used" : "ignored" });
  }

  /** Sets the source of the report. */
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
