// The requests of both managers as tables for the docs. Pure.

import type { Change } from "./measurement.ts";

const total = ({ requests }: Change): number =>
  Object.values(requests).reduce((sum, count) => sum + count, 0);

const rowOf = (who: string, change: Change): string =>
  `| ${change.name} | ${who} | ${total(change)} | ${change.writes} | ${change.seconds.toFixed(1)} s |`;

/** The rows of one manager in the first table. */
export const rowsOf = (who: string, changes: readonly Change[]): readonly string[] =>
  changes.map((change) => rowOf(who, change));

export const goManager = "Go manager";
export const fairlead = "Fairlead";

export function tablesOf(go: readonly Change[], own: readonly Change[]): string {
  const totals = go.flatMap((change, index) => {
    const other = own[index];
    return other === undefined ? [] : [rowOf(goManager, change), rowOf(fairlead, other)];
  });
  const operations = [...new Set([...go, ...own].flatMap(({ requests }) => Object.keys(requests)))].toSorted(
    (one, other) => pathIn(one).localeCompare(pathIn(other)) || one.localeCompare(other),
  );
  const cellOf = (operation: string, index: number): string => {
    const counts = [go, own].map((changes) => changes[index]?.requests[operation] ?? 0);
    return counts.every((count) => count === 0) ? "" : counts.join(" / ");
  };
  const details = operations.map(
    (operation) => `| \`${operation}\` | ${go.map((_, index) => cellOf(operation, index)).join(" | ")} |`,
  );
  return [
    "| Change | Manager | Requests | of these, changes | Time |",
    "|---|---|---|---|---|",
    ...totals,
    "",
    `Each as ${goManager} / ${fairlead}:`,
    "",
    `| Request | ${go.map(({ name }) => name).join(" | ")} |`,
    `|---|${go.map(() => "---|").join("")}`,
    ...details,
  ].join("\n");
}

const pathIn = (operation: string): string => operation.replace(/^\S+ /, "");
