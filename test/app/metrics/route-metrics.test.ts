import { expect, test } from "bun:test";
import { createRouteMetrics } from "../../../src/app/metrics/controller-metrics.ts";
import { milliseconds } from "../../../src/core/brand.ts";
import { Metrics } from "../../../src/telemetry/metrics.ts";

test("counts an incomplete route reconciliation as an error, and does not update the number of routes", () => {
  const metrics = new Metrics();
  const routeSync = createRouteMetrics(metrics);
  const pass = {
    duration: milliseconds(5),
    isPeriodic: false,
    wanted: 3,
    present: 3,
    waitingNodes: 0,
    created: 2,
    removed: 0,
    failed: 0,
  };
  routeSync({ ...pass, isComplete: true, there: 3 });
  routeSync({
    isComplete: false,
    isPeriodic: true,
    duration: milliseconds(5),
    wanted: 0,
    present: 0,
    waitingNodes: 0,
    there: 0,
    created: 0,
    removed: 0,
    failed: 0,
  });
  expect(metrics.text()).toContain("\nfairlead_routes 3\n");
  routeSync({ ...pass, isComplete: true, isPeriodic: true, there: 3, created: 0 });
  const series = metrics
    .text()
    .split("\n")
    .filter((line) => line.startsWith("route_controller_"));
  expect(series.toSorted()).toEqual([
    'route_controller_route_sync_total{outcome="changed",trigger="node_change"} 1',
    'route_controller_route_sync_total{outcome="error",trigger="periodic"} 1',
    'route_controller_route_sync_total{outcome="noop",trigger="periodic"} 1',
  ]);
});
