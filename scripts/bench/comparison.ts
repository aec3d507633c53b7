// Figures of Fairlead and of Go managers, measured by turns on one machine. They are recorded here, because building a Go
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

const note = (manager: string, date: string): string =>
  `Beside ${manager}, ${date}. Simulated cloud, 20 ms per request. Shorter is better.`;

export const comparisonCharts: Readonly<Record<string, Chart>> = {
  "go-nodes.svg": {
    title: "5,000 Nodes join at once",
    note: note("hcloud-cloud-controller-manager", "2026-11-23"),
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
    note: note("upstream's framework", "2026-11-27"),
    rows: [
      row("Create all: requests to the cloud", "requests", 231, 4400),
      row("Create all: last address", "s", 1.8, 2.5),
      row("Create all: CPU", "s", 1.1, 1.5),
      row("Create all: peak memory", "MiB", 88, 97),
      row("One Node more: requests", "requests", 208, 4600),
      row("One Node more: all load balancers", "s", 0.7, 2.3),
      row("Restart: all requests", "requests", 25, 5401),
      row("Delete all: requests", "requests", 402, 600),
      row("Delete all", "s", 1.7, 1.4),
    ],
  },
};
