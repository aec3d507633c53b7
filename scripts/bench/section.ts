// The result of a benchmark: a title, a Markdown table, and charts by the name of their file. Pure.

import type { Chart } from "./charts.ts";

export type Columns<T> = readonly (readonly [title: string, cell: (row: T) => string])[];

export interface Section {
  readonly title: string;
  /** The API server of the benchmark. */
  readonly server: string;
  readonly table: string;
  readonly charts?: Readonly<Record<string, Chart>>;
}

export function sectionOf<T extends { readonly server: string }>(
  title: string,
  columns: Columns<T>,
  runs: readonly T[],
  charts: Readonly<Record<string, Chart>> = {},
): Section {
  return { title, server: runs[0]?.server ?? "none", table: markdownTable(columns, runs), charts };
}

function markdownTable<T>(columns: Columns<T>, rows: readonly T[]): string {
  return [
    `| ${columns.map(([title]) => title).join(" | ")} |`,
    `|${columns.map(() => "---").join("|")}|`,
    ...rows.map((row) => `| ${columns.map(([, cell]) => cell(row)).join(" | ")} |`),
  ].join("\n");
}

export const decimal = (number: number | undefined, digits: number): string => number?.toFixed(digits) ?? "–";

/** The median; NaN without values. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (index: number) => sorted[index] ?? Number.NaN;
  return (at(Math.floor((sorted.length - 1) / 2)) + at(Math.ceil((sorted.length - 1) / 2))) / 2;
}
