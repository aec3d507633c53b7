// Figures of Fairlead and of the Go manager of Hetzner, measured by turns on one machine. They are recorded here, because the Go
// manager is not part of `npm run bench`; docs/benchmarks.md says how they were measured. Pure.

import type { Chart, ChartRow } from "./charts.ts";

const names = ["Fairlead, default flags", "Go manager, best flags"] as const;

function row(label: string, unit: string, fairlead: number, go: number): ChartRow {
  return {
    label,
    unit,
    bars: [
      { name: names[0], value: fairlead },
      { name: names[1], value: go },
    ],
  };
}

const note =
  "Simulated cloud, 20 ms per request; kube-apiserver 1.35.4; two processors; 2026-11-23. Shorter is better.";

export const comparisonCharts: Readonly<Record<string, Chart>> = {
  "go-nodes.svg": {
    title: "5,000 Nodes join at once",
    note,
    rows: [
      row("Requests to the cloud", "requests", 101, 501),
      row("Last Node initialized", "s", 45.9, 58.2),
      row("Everything written", "s", 52.1, 61.8),
      row("Peak memory", "MiB", 127, 248),
      row("Synced events that were lost", "events", 0, 2093),
    ],
  },
  "go-services.svg": {
    title: "200 Services with 20 targets each",
    note,
    rows: [
      row("Create all: requests to the cloud", "requests", 279, 5201),
      row("Create all: last address", "s", 6.4, 5.7),
      row("Create all: CPU", "s", 6.2, 3.1),
      row("Create all: peak memory", "MiB", 149, 110),
      row("One Node more: requests", "requests", 209, 1021),
      row("One Node more: all load balancers", "s", 0.7, 1.6),
      row("Restart: changing requests", "requests", 0, 200),
      row("Restart: all requests", "requests", 29, 623),
      row("Delete all", "s", 4.7, 2.5),
    ],
  },
};
