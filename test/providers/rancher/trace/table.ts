// The requests of both managers as a table for the docs. Pure.

import type { Change } from "./measurement.ts";

const total = ({ requests }: Change): number =>
  Object.values(requests).reduce((sum, count) => sum + count, 0);

const rowOf = (who: string, change: Change): string =>
  `| ${change.name} | ${who} | ${total(change)} | ${change.writes} | ${change.seconds.toFixed(1)} s |`;

/** One manager's rows. */
export const rowsOf = (who: string, changes: readonly Change[]): readonly string[] =>
  changes.map((change) => rowOf(who, change));

export const goManager = "Go manager";
export const fairlead = "Fairlead";

export function tableOf(go: readonly Change[], own: readonly Change[]): string {
  const totals = go.flatMap((change, index) => {
    const other = own[index];
    return other === undefined ? [] : [rowOf(goManager, change), rowOf(fairlead, other)];
  });
  return [
    "| Change | Manager | Requests | Of these, changes | Time |",
    "|---|---|---|---|---|",
    ...totals,
  ].join("\n");
}
