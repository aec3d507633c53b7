// The result of a benchmark: a title and a Markdown table. Pure.

export type Columns<T> = readonly (readonly [title: string, cell: (row: T) => string])[];

export interface Section {
  readonly title: string;
  /** The API server of the benchmark. */
  readonly server: string;
  readonly table: string;
}

export function sectionOf<T extends { readonly server: string }>(
  title: string,
  columns: Columns<T>,
  runs: readonly T[],
): Section {
  return { title, server: runs[0]?.server ?? "none", table: markdownTable(columns, runs) };
}

function markdownTable<T>(columns: Columns<T>, rows: readonly T[]): string {
  return [
    `| ${columns.map(([title]) => title).join(" | ")} |`,
    `|${columns.map(() => "---").join("|")}|`,
    ...rows.map((row) => `| ${columns.map(([, cell]) => cell(row)).join(" | ")} |`),
  ].join("\n");
}

export const decimal = (number: number | undefined, digits: number): string => number?.toFixed(digits) ?? "–";
