// Metrics of the process, by the standard names of Prometheus clients, and the lag of the event loop.

import { milliseconds, seconds } from "../../core/brand.ts";
import { type Clock, sleep } from "../../platform/clock.ts";
import type { RuntimeFigures } from "../../platform/runtime-figures.ts";
import type { LabelValues, Metrics } from "../../telemetry/metrics.ts";
import { version } from "../version.ts";

const lagBuckets = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5];
const tick = seconds(1);

export interface ProcessMetrics {
  /** Runs until the signal is aborted. */
  measureLag(signal: AbortSignal): Promise<void>;
}

export function createProcessMetrics(
  metrics: Metrics,
  clock: Clock,
  figures: RuntimeFigures,
): ProcessMetrics {
  const one = (read: (figures: RuntimeFigures) => number) => (): Iterable<readonly [LabelValues, number]> => [
    [{}, read(figures)],
  ];
  metrics.counterFrom(
    "process_cpu_seconds_total",
    "Total user and system CPU time spent in seconds.",
    [],
    one(({ cpuSeconds }) => cpuSeconds()),
  );
  metrics.gaugeFrom(
    "process_resident_memory_bytes",
    "Resident memory size in bytes.",
    [],
    one(({ residentBytes }) => residentBytes()),
  );
  metrics.gaugeFrom(
    "process_start_time_seconds",
    "Start time of the process since unix epoch in seconds.",
    [],
    one(({ startedAtSeconds }) => startedAtSeconds),
  );
  metrics.gaugeFrom(
    "fairlead_heap_bytes",
    "Size of the JavaScript heap.",
    [],
    one(({ heapBytes }) => heapBytes()),
  );
  const lag = metrics.histogram(
    "fairlead_event_loop_lag_seconds",
    "Lag of the event loop, measured once a second.",
    lagBuckets,
  );
  metrics.gaugeFrom("fairlead_build_info", "Version of this executable; always 1.", ["version"], () => [
    [{ version }, 1],
  ]);
  return {
    measureLag: async (signal) => {
      while (!signal.aborted) {
        const due = clock.monotonic() + tick;
        await sleep(clock, tick, signal).catch(() => undefined);
        if (!signal.aborted) lag.observe(milliseconds(Math.max(0, clock.monotonic() - due)) / 1000);
      }
    },
  };
}
