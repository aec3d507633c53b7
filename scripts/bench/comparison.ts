// The comparison that `npm run bench -- peers` shows for alternate runs of Fairlead and of a Go manager on one
// machine: medians, and their ratio. Pure.

import { type Chart, figureText } from "./charts.ts";
import type { NodesRun } from "./nodes.ts";
import type { StepCost } from "./process-cost.ts";
import { median } from "./section.ts";
import { type Step, stepNames } from "./steps.ts";

/** The results of one manager. */
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

/** All rows, below the title of their part. */
export function comparisonTable(rows: readonly Row[]): string {
  const parts = [...Map.groupBy(rows, ({ part }) => part)].flatMap(([part, some]) => [
    `| **${part}** | | | |`,
    ...some.map((row) => `| ${[labelOf(row), ...cells(row), row.ratio?.toFixed(2) ?? "–"].join(" | ")} |`),
  ]);
  return ["| | Fairlead | Go | Ratio |", "|---|---|---|---|", ...parts].join("\n");
}

/** The rows of the README, with one column for each cloud: the figure of Fairlead, and that of the Go manager. */
export function readmeTable(
  clouds: readonly { readonly title: string; readonly rows: readonly Row[] }[],
): string {
  const keyOf = ({ part, what, unit }: Row) => `${part}: ${labelOf({ what, unit })}`;
  const keys = new Set(clouds.flatMap(({ rows }) => rows.filter(({ isInReadme }) => isInReadme).map(keyOf)));
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [
    line(["Fairlead · Go manager", ...clouds.map(({ title }) => title)]),
    `|${"---|".repeat(clouds.length + 1)}`,
    ...[...keys].map((key) =>
      line([
        key,
        ...clouds.map(({ rows }) => {
          const row = rows.find((one) => keyOf(one) === key);
          return row === undefined ? "" : cells(row).join(" · ");
        }),
      ]),
    ),
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
