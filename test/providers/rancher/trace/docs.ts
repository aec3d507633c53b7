// The part of docs/clouds/rancher.md with the requests of both managers.

import { readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";

const path = resolve(import.meta.dir, "../../../../docs/clouds/rancher.md");
const command = "npm run test:clients -- rancher/go --write";
const [begin, end] = [`<!-- ${command}: begin -->\n`, `<!-- ${command}: end -->\n`];

/** The times are measured and may differ. */
const withoutTimes = (text: string): string => text.replaceAll(/ \d+\.\d s \|$/gm, " |");

function split(): readonly [before: string, table: string, after: string] {
  const text = readFileSync(path, "utf8");
  const [from, to] = [text.indexOf(begin), text.indexOf(end)];
  if (from === -1 || to < from) throw new Error(`${path} has no part that begins with ${begin}`);
  return [text.slice(0, from + begin.length), text.slice(from + begin.length, to), text.slice(to)];
}

/** Whether the docs have this table, apart from its times. */
export const isCurrent = (table: string): boolean =>
  withoutTimes(split()[1].trim()) === withoutTimes(table.trim());

/** The rows of the docs that equal these, apart from their times. */
export function rowsInDocs(rows: readonly string[]): readonly string[] {
  const present = withoutTimes(split()[1]).split("\n");
  return rows.filter((row) => present.includes(withoutTimes(row)));
}

export function writeTable(table: string): void {
  const [before, , after] = split();
  writeFileSync(path, `${before}\n${table}\n\n${after}`);
}
