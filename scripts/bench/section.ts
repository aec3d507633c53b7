// What a measurement has to say: a title and a table, as text or as a part of a page. Pure.

import { type Columns, table } from "./table.ts";

export interface Section {
  readonly title: string;
  /** Which API server it was measured with. */
  readonly server: string;
  readonly table: string;
}

export function sectionOf<T extends { readonly server: string }>(
  title: string,
  columns: Columns<T>,
  runs: readonly T[],
): Section {
  return { title, server: runs[0]?.server ?? "none", table: table(columns, runs) };
}
