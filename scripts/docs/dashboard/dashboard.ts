// Generates deploy/monitoring/dashboard.json for Grafana from the table of panels.

import { type Figure, type Graph, rows } from "./panels.ts";

const selected = 'cluster=~"$cluster",job=~"$job"';
const source = { type: "prometheus", uid: `\${datasource}` } as const;
const columns = 24;

interface Place {
  readonly x: number;
  readonly y: number;
  readonly w: number;
  readonly h: number;
}

const target = (refId: string, expr: string, legendFormat: string) => ({
  refId,
  datasource: source,
  expr: expr.replaceAll("SEL", selected),
  legendFormat,
});

const colors = {
  high: ["red", "green"],
  orange: ["green", "orange"],
  red: ["green", "red"],
} as const;

function figurePanel({ title, description, expr, color }: Figure, gridPos: Place) {
  const [below, from] = colors[color];
  const steps = [
    { color: below, value: null },
    { color: from, value: 1 },
  ];
  return {
    type: "stat",
    title,
    description,
    datasource: source,
    gridPos,
    targets: [{ ...target("A", expr, ""), instant: true }],
    fieldConfig: {
      defaults: { unit: "short", min: 0, thresholds: { mode: "absolute", steps } },
      overrides: [],
    },
    options: { colorMode: "value", graphMode: "none", reduceOptions: { calcs: ["lastNotNull"] } },
  };
}

function graphPanel({ title, description, unit, targets }: Graph, gridPos: Place) {
  return {
    type: "timeseries",
    title,
    description,
    datasource: source,
    gridPos,
    targets: targets.map(({ expr, legend }, index) => target(String.fromCharCode(65 + index), expr, legend)),
    fieldConfig: { defaults: { unit, min: 0 }, overrides: [] },
    options: {
      tooltip: { mode: "multi", sort: "desc" },
      legend: { displayMode: "list", placement: "bottom", showLegend: true },
    },
  };
}

/** Side by side, with the same width. */
function inLine<T, P>(
  items: readonly T[],
  y: number,
  h: number,
  make: (item: T, place: Place) => P,
): readonly P[] {
  const w = Math.floor(columns / items.length);
  return items.map((item, index) => make(item, { x: index * w, y, w, h }));
}

function panels() {
  let y = 0;
  const made: object[] = [];
  const add = (all: readonly object[], height: number): void => {
    made.push(...all);
    y += height;
  };
  for (const { title, figures = [], graphs } of rows) {
    add([{ type: "row", title, collapsed: false, gridPos: { x: 0, y, w: columns, h: 1 }, panels: [] }], 1);
    if (figures.length > 0) add(inLine(figures, y, 4, figurePanel), 4);
    for (const line of graphs) add(inLine(line, y, 8, graphPanel), 8);
  }
  return made.map((panel, index) => ({ id: index + 1, ...panel }));
}

function variable(name: string, label: string, query: string) {
  return {
    name,
    label,
    type: "query",
    datasource: source,
    query: { query, refId: name },
    definition: query,
    includeAll: true,
    multi: true,
    allValue: ".*",
    refresh: 2,
    sort: 1,
    current: { text: ["All"], value: ["$__all"] },
  };
}

export function dashboard(): string {
  const version = "changes(count by (version) (fairlead_build_info{SEL})[5m:1m]) > 0";
  return `${JSON.stringify(
    {
      title: "Fairlead",
      uid: "fairlead",
      description:
        "The Fairlead cloud-controller-manager: what needs attention, the cloud, the API server and the process.",
      tags: ["kubernetes", "cloud-controller-manager"],
      schemaVersion: 39,
      version: 1,
      editable: true,
      timezone: "browser",
      refresh: "30s",
      time: { from: "now-6h", to: "now" },
      templating: {
        list: [
          { name: "datasource", label: "Data source", type: "datasource", query: "prometheus", current: {} },
          variable("cluster", "Cluster", "label_values(fairlead_build_info, cluster)"),
          variable("job", "Job", 'label_values(fairlead_build_info{cluster=~"$cluster"}, job)'),
        ],
      },
      annotations: {
        list: [
          {
            name: "Version",
            enable: true,
            datasource: source,
            iconColor: "blue",
            expr: version.replaceAll("SEL", selected),
            titleFormat: "Version {{version}}",
          },
        ],
      },
      links: [
        { title: "Runbooks", type: "link", url: "https://fairlead.dev/docs/runbooks", targetBlank: true },
      ],
      panels: panels(),
    },
    undefined,
    2,
  )}\n`;
}
