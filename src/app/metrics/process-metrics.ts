// Process metrics with the standard names of Prometheus clients, the event loop lag, and port metrics: reviews, health checks and
// admission, with upstream's names and buckets where they exist.

import { milliseconds, seconds } from "../../core/brand.ts";
import { type Clock, sleep } from "../../platform/clock.ts";
import type { RuntimeFigures } from "../../platform/memory.ts";
import type { HealthCheckResult, HealthPage } from "../../server/health.ts";
import type { ReviewKind } from "../../server/reviews.ts";
import { Metrics } from "../../telemetry/metrics.ts";
import { version } from "../build-info.ts";

const reviewBuckets = [0.25, 0.5, 0.7, 1, 1.5, 3, 5, 10];

export type HealthMetrics = ReturnType<typeof createHealthMetrics>;

/** Served on /metrics/slis, as in upstream. */
export function createHealthMetrics() {
  const metrics = new Metrics();
  const state = metrics.gauge(
    "kubernetes_healthcheck",
    "[STABLE] This metric records the result of a single healthcheck.",
    ["name", "type"],
  );
  const results = metrics.counter(
    "kubernetes_healthchecks_total",
    "[STABLE] This metric records the results of all healthcheck.",
    ["name", "status", "type"],
  );
  return {
    result: (type: HealthPage, { name, problem }: HealthCheckResult): void => {
      state.set(problem === undefined ? 1 : 0, { name, type });
      results.add({ name, status: problem === undefined ? "success" : "error", type });
    },
    text: () => metrics.text(),
    /** Removes all results. The next check of each name adds a result again. */
    reset: () => metrics.reset(),
    declarations: metrics.declarations,
  };
}

function createServingMetrics(metrics: Metrics) {
  const reviews = (short: "authn" | "authz", what: string) => ({
    total: metrics.counter(
      `apiserver_delegated_${short}_request_total`,
      `[ALPHA] Number of HTTP requests ${what}, partitioned by status code.`,
      ["code"],
    ),
    duration: metrics.histogram(
      `apiserver_delegated_${short}_request_duration_seconds`,
      `[ALPHA] Request latency in seconds ${what}. Broken down by status code.`,
      reviewBuckets,
      ["code"],
    ),
  });
  const byKind: Readonly<Record<ReviewKind, ReturnType<typeof reviews>>> = {
    tokenreviews: reviews("authn", "for token reviews"),
    subjectaccessreviews: reviews("authz", "for access reviews"),
  };
  const webhookTotal = metrics.counter(
    "cloud_provider_webhook_request_total",
    "[ALPHA] Number of HTTP requests partitioned by status code.",
    ["code", "webhook"],
  );
  const webhookDuration = metrics.histogram(
    "cloud_provider_webhook_request_duration_seconds",
    "[ALPHA] Request latency in seconds. Broken down by status code.",
    reviewBuckets,
    ["code", "webhook"],
  );
  const refusals = metrics.counter(
    "fairlead_webhook_rejections_total",
    "Objects that the admission webhook rejected.",
    ["webhook"],
  );
  const certificateEnd = metrics.gauge(
    "fairlead_serving_certificate_expiration_timestamp_seconds",
    "Expiry of the serving certificate, in seconds since the Unix epoch.",
    ["port"],
  );
  return {
    review: (kind: ReviewKind, code: string, durationMs: number): void => {
      byKind[kind].total.add({ code });
      byKind[kind].duration.observe(durationMs / 1000, { code });
    },
    webhook: (webhook: string, code: number, durationMs: number, isRefusal: boolean): void => {
      webhookTotal.add({ code: String(code), webhook });
      webhookDuration.observe(durationMs / 1000, { code: String(code), webhook });
      if (isRefusal) refusals.add({ webhook });
    },
    certificateEnds: (port: "secure" | "webhook", at: number): void =>
      certificateEnd.set(at / 1000, { port }),
  };
}

/** Adds the CPU and memory metrics that every process has. */
export function addUsage(metrics: Metrics, figures: RuntimeFigures): void {
  metrics.counterFrom(
    "process_cpu_seconds_total",
    "Total user and system CPU time spent in seconds.",
    [],
    () => [[{}, figures.cpuSeconds()]],
  );
  metrics.gaugeFrom("process_resident_memory_bytes", "Resident memory size in bytes.", [], () => [
    [{}, figures.residentBytes()],
  ]);
}

const lagBuckets = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5];
const tick = seconds(1);

export type ProcessMetrics = ReturnType<typeof createProcessMetrics>;

export function createProcessMetrics(clock: Clock, figures: RuntimeFigures) {
  const metrics = new Metrics();
  const gauge = (name: string, help: string, read: () => number): void =>
    metrics.gaugeFrom(name, help, [], () => [[{}, read()]]);
  addUsage(metrics, figures);
  gauge(
    "process_start_time_seconds",
    "Start time of the process since unix epoch in seconds.",
    () => figures.startedAtSeconds,
  );
  gauge("fairlead_heap_bytes", "Size of the JavaScript heap.", () => figures.heapBytes());
  const lag = metrics.histogram(
    "fairlead_event_loop_lag_seconds",
    "Lag of the event loop, measured once a second.",
    lagBuckets,
  );
  metrics.gaugeFrom("fairlead_build_info", "Version of this executable; always 1.", ["version"], () => [
    [{ version }, 1],
  ]);
  return {
    ...createServingMetrics(metrics),
    /** Runs until the signal is aborted. */
    measureLag: async (signal: AbortSignal) => {
      while (!signal.aborted) {
        const due = clock.monotonic() + tick;
        await sleep(clock, tick, signal).catch(() => undefined);
        if (!signal.aborted) lag.observe(milliseconds(Math.max(0, clock.monotonic() - due)) / 1000);
      }
    },
    declarations: metrics.declarations,
    text: () => metrics.text(),
  };
}
