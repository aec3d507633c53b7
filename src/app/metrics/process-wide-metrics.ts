// Metrics of the process and its ports. Those of the manager are in manager-metrics.ts.

import type { Clock } from "../../platform/clock.ts";
import type { RuntimeFigures } from "../../platform/runtime-figures.ts";
import { Metrics } from "../../telemetry/metrics.ts";
import { createProcessMetrics, type ProcessMetrics } from "./process-metrics.ts";
import { createServingMetrics, type ServingMetrics } from "./serving-metrics.ts";

export interface ProcessWideMetrics extends ProcessMetrics, ServingMetrics {
  readonly declarations: Metrics["declarations"];
  text(): string;
}

export function createProcessWideMetrics(clock: Clock, figures: RuntimeFigures): ProcessWideMetrics {
  const metrics = new Metrics();
  return {
    ...createProcessMetrics(metrics, clock, figures),
    ...createServingMetrics(metrics),
    declarations: metrics.declarations,
    text: () => metrics.text(),
  };
}
