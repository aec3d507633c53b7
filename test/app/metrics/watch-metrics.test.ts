import { expect, test } from "bun:test";
import { createWatchMetrics } from "../../../src/app/metrics/watch-metrics.ts";
import { Metrics } from "../../../src/telemetry/metrics.ts";

test("the age of each watch is read on each scrape", () => {
  const metrics = new Metrics();
  const follow = createWatchMetrics(metrics);
  expect(metrics.text()).not.toContain("fairlead_watch_age_seconds{");
  let age = 7;
  follow(() => ({ nodes: { heardSecondsAgo: age }, services: { heardSecondsAgo: 1 } }));
  expect(metrics.text()).toContain('fairlead_watch_age_seconds{resource="nodes"} 7\n');
  age = 400;
  expect(metrics.text()).toContain('fairlead_watch_age_seconds{resource="nodes"} 400\n');
  expect(metrics.text()).toContain('fairlead_watch_age_seconds{resource="services"} 1\n');
});
