// Metrics of the process, by the standard names of Prometheus clients, with the lag of the event loop; and of its ports.

import { milliseconds, seconds } from "../../core/brand.ts";
import { type Clock, sleep } from "../../platform/clock.ts";
import type { RuntimeFigures } from "../../platform/runtime-figures.ts";
import { Metrics } from "../../telemetry/metrics.ts";
import { version } from "../version.ts";
import { createServingMetrics } from "./serving-metrics.ts";

const lagBuckets = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5];
const tick = seconds(1);

export type ProcessMetrics = ReturnType<typeof createProcessMetrics>;

export function createProcessMetrics(clock: Clock, figures: RuntimeFigures) {
  const metrics = new Metrics();
  const gauge = (name: string, help: string, read: () => number): void =>
    metrics.gaugeFrom(name, help, [], () => [[{}, read()]]);
  metrics.counterFrom(
    "process_cpu_seconds_total",
    "Total user and system CPU time spent in seconds.",
    [],
    () => [[{}, figures.cpuSeconds()]],
  );
  gauge("process_resident_memory_bytes", "Resident memory size in bytes.", () => figures.residentBytes());
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
