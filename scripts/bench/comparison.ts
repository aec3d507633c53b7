// The comparison that `npm run bench -- peers` shows for alternate runs of Fairlead and of a Go manager on one
// machine: medians, and their ratio. Pure.

import { type Chart, figureText } from "./charts.ts";
import type { NodesRun } from "./nodes.ts";
import type { StepCost } from "./process-cost.ts";
import { median } from "./section.ts";
import { type Step, stepNames } from "./steps.ts";

/** One manager's results. */
export interface Contest {
  readonly nodes: NodesRun;
  /** Empty if the manager got no Services. */
  readonly steps: readonly Step[];
}

export interface PeersRun {
  readonly server: string;
  readonly cloud: string;
  readonly peer: string;
  readonly nodes: number;
  readonly services: number;
  readonly fairlead: Contest;
  readonly go: Contest;
}

export interface Row {
  readonly part: string;
  readonly what: string;
  readonly unit: "s" | "%" | "MiB" | "requests" | "events";
  readonly fairlead: number;
  readonly go: number;
  /** Above 1, Fairlead is better. Undefined if the ratio has no meaning. */
  readonly ratio: number | undefined;
  readonly isInReadme: boolean;
}

type Figure = readonly [
  what: string,
  unit: Row["unit"],
  of: (contest: Contest) => number | undefined,
  isInReadme?: boolean,
];

/** A machine that is slower on one day is slower for both processes. */
const share = (cost: StepCost | undefined): number | undefined => cost && (100 * cost.manager) / cost.server;

const ofNodes: readonly Figure[] = [
  ["last taint gone", "s", ({ nodes }) => nodes.last, true],
  ["all written, including events", "s", ({ nodes }) => Math.max(nodes.last, nodes.lastEvent), true],
  ["CPU", "s", ({ nodes }) => nodes.cpu.manager],
  ["CPU, relative to the API server", "%", ({ nodes }) => share(nodes.cpu)],
  ["peak memory", "MiB", ({ nodes }) => nodes.cost?.peakMiB],
  ["cloud requests", "requests", ({ nodes }) => nodes.cloudCalls, true],
  ["events written", "events", ({ nodes }) => nodes.events],
];

const stepOf = ({ steps }: Contest, name: string) => steps.find((one) => one.name === name);

const secondsOf = (name: string, isInReadme = false): Figure => [
  "CPU",
  "s",
  (contest) => stepOf(contest, name)?.cpu.manager,
  isInReadme,
];
const cpuOf = (name: string, isInReadme = false): readonly Figure[] => [
  secondsOf(name, isInReadme),
  ["CPU, relative to the API server", "%", (contest) => share(stepOf(contest, name)?.cpu)],
];
const requestsOf = (name: string, isInReadme = false): Figure => [
  "cloud requests",
  "requests",
  (contest) => stepOf(contest, name)?.requests,
  isInReadme,
];

const { created, oneMore, restart, deleted } = stepNames;

const ofServices: readonly (readonly [part: string, figures: readonly Figure[]])[] = [
  [
    "Services created",
    [
      ["last address", "s", (contest) => stepOf(contest, created)?.done, true],
      ...cpuOf(created, true),
      ["peak memory", "MiB", (contest) => stepOf(contest, created)?.cost?.peakMiB, true],
      requestsOf(created, true),
    ],
  ],
  [
    "One additional Node",
    [["all load balancers", "s", (contest) => stepOf(contest, oneMore)?.done], requestsOf(oneMore, true)],
  ],
  [
    "Restart",
    [
      ["last request", "s", (contest) => stepOf(contest, restart)?.seconds],
      // Not relative to the API server, which does almost nothing.
      secondsOf(restart),
      requestsOf(restart, true),
      ["of them changes", "requests", (contest) => stepOf(contest, restart)?.mutating],
    ],
  ],
  [
    "Services deleted",
    [
      ["gone everywhere", "s", (contest) => stepOf(contest, deleted)?.done, true],
      ...cpuOf(deleted),
      requestsOf(deleted),
    ],
  ],
];

function rowsOf(part: string, figures: readonly Figure[], runs: readonly PeersRun[]): readonly Row[] {
  return figures.map(([what, unit, of, isInReadme = false]) => {
    const figure = (who: "fairlead" | "go") => median(runs.flatMap((run) => of(run[who]) ?? []));
    const [fairlead, go] = [figure("fairlead"), figure("go")];
    const ratio = unit === "events" ? fairlead / go : go / fairlead;
    const hasMeaning = Number.isFinite(ratio) && ratio > 0;
    return { part, what, unit, fairlead, go, ratio: hasMeaning ? ratio : undefined, isInReadme };
  });
}

/** The part of the comparison in which this many Nodes join. */
export const joinOf = (nodes: number): string => `${figureText(nodes)} Nodes join`;

/** The rows of the runs on one cloud. The README shows only the largest number of Nodes. */
export function compare(runs: readonly PeersRun[]): readonly Row[] {
  const largest = Math.max(...runs.map(({ nodes }) => nodes));
  const withServices = runs.filter(({ fairlead }) => fairlead.steps.length > 0);
  return [
    ...[...Map.groupBy(runs, ({ nodes }) => nodes)].flatMap(([nodes, some]) =>
      rowsOf(joinOf(nodes), ofNodes, some).map((row) => ({
        ...row,
        isInReadme: row.isInReadme && nodes === largest,
      })),
    ),
    ...(withServices.length === 0 ? [] : ofServices).flatMap(([part, figures]) =>
      rowsOf(part, figures, withServices),
    ),
  ];
}

const labelOf = ({ what, unit }: Pick<Row, "what" | "unit">): string =>
  unit === "requests" || unit === "events" ? what : `${what}, ${unit}`;

/** Figures that are compared have the same number of decimals. */
function cells({ unit, fairlead, go }: Row): readonly [fairlead: string, go: string] {
  const digits = unit !== "s" ? 0 : Math.max(fairlead, go) < 10 ? 2 : 1;
  return [figureText(fairlead, digits), figureText(go, digits)];
}

/** The rows of the runs on one cloud. */
export interface CloudRows {
  readonly title: string;
  readonly rows: readonly Row[];
}

function line(cells: readonly string[]): string {
  return `| ${cells.join(" | ")} |`;
}

/** One column for each cloud. Two rows are the same row if they have the same key. */
function columnsOf(clouds: readonly CloudRows[], keyOf: (row: Row) => string) {
  const byKey = clouds.map(({ rows }) => new Map(rows.map((row) => [keyOf(row), row])));
  return (key: string, textOf: (row: Row) => string): readonly string[] =>
    byKey.map((rows) => {
      const row = rows.get(key);
      return row === undefined ? "" : textOf(row);
    });
}

const heading = (what: string, clouds: readonly CloudRows[]): readonly string[] => [
  line([what, ...clouds.map(({ title }) => title)]),
  `|${"---|".repeat(clouds.length + 1)}`,
];

const keyOf = ({ part, what, unit }: Row): string => `${part}: ${labelOf({ what, unit })}`;

/** All rows, below the title of their part: the figure of Fairlead, that of the Go manager, and their ratio. */
export function comparisonTable(clouds: readonly CloudRows[]): string {
  const textsOf = columnsOf(clouds, keyOf);
  const rows = new Map(clouds.flatMap((cloud) => cloud.rows.map((row) => [keyOf(row), row])));
  const textOf = (row: Row): string => `${cells(row).join(" · ")} · **${row.ratio?.toFixed(2) ?? "–"}**`;
  const parts = [...Map.groupBy(rows.values(), ({ part }) => part)].flatMap(([part, some]) => [
    line([`**${part}**`, ...clouds.map(() => "")]),
    ...some.map((row) => line([labelOf(row), ...textsOf(keyOf(row), textOf)])),
  ]);
  return [...heading("Fairlead · Go manager · ratio", clouds), ...parts].join("\n");
}

/** The rows of the README: the figure of Fairlead, and that of the Go manager. */
export function readmeTable(clouds: readonly CloudRows[]): string {
  const textsOf = columnsOf(clouds, keyOf);
  const keys = new Set(clouds.flatMap(({ rows }) => rows.filter(({ isInReadme }) => isInReadme).map(keyOf)));
  const textOf = (row: Row): string => cells(row).join(" · ");
  return [
    ...heading("Fairlead · Go manager", clouds),
    ...[...keys].map((key) => line([key, ...textsOf(key, textOf)])),
  ].join("\n");
}

/** A share has no bar. */
export function comparisonChart(
  title: string,
  note: string,
  rows: readonly Row[],
  labelOf = ({ what }: Row): string => what,
): Chart {
  const [fairlead, go] = ["Fairlead, default flags", "Go manager, best flags"];
  return {
    title,
    note,
    rows: rows
      .filter(({ unit }) => unit !== "%")
      .map((row) => ({
        label: labelOf(row),
        unit: row.unit,
        bars: [
          { name: fairlead, value: row.fairlead },
          { name: go, value: row.go },
        ],
      })),
  };
}
