// Metrics of the process and its ports. They continue when a reload creates a new manager, whose own metrics start at zero.

import type { Clock } from "../../platform/clock.ts";
import type { RuntimeFigures } from "../../platform/runtime-figures.ts";
import { Metrics } from "../../telemetry/metrics.ts";
import { createProcessMetrics } from "./process-metrics.ts";
import { createServingMetrics } from "./serving-metrics.ts";

export function createProcessWideMetrics(clock: Clock, figures: RuntimeFigures) {
  const metrics = new Metrics();
  return {
    ...createProcessMetrics(metrics, clock, figures),
    ...createServingMetrics(metrics),
    declarations: metrics.declarations,
    text: () => metrics.text(),
  };
}

export type ProcessWideMetrics = ReturnType<typeof createProcessWideMetrics>;
