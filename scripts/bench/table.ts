// A table as people paste it into a report. Pure.

export type Columns<T> = readonly (readonly [title: string, cell: (row: T) => string])[];

export function table<T>(columns: Columns<T>, rows: readonly T[]): string {
  return [
    `| ${columns.map(([title]) => title).join(" | ")} |`,
    `|${columns.map(() => "---").join("|")}|`,
    ...rows.map((row) => `| ${columns.map(([, cell]) => cell(row)).join(" | ")} |`),
  ].join("\n");
}

export const decimal = (number: number | undefined, digits: number): string => number?.toFixed(digits) ?? "–";
