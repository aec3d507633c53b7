// The metric of the watches: how long ago the API server sent anything. A healthy watch gets a bookmark about every minute.

import type { Metrics } from "../../telemetry/metrics.ts";

type Ages = () => Readonly<Record<string, { readonly heardSecondsAgo: number }>>;

/** Returns the function that sets where the ages are read from. */
export function createWatchMetrics(metrics: Metrics): (ages: Ages) => void {
  let ages: Ages = () => ({});
  metrics.gaugeFrom(
    "fairlead_watch_age_seconds",
    "Time since the API server last sent anything about a watched resource; about a minute at most while the watch is healthy.",
    ["resource"],
    () =>
      Object.entries(ages()).map(
        ([resource, { heardSecondsAgo }]) => [{ resource }, heardSecondsAgo] as const,
      ),
  );
  return (next) => {
    ages = next;
  };
}
