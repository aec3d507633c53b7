// Decides which route tables a change of a Node concerns: those that serve it. Pure.

import type { ServingTable } from "../../../provider/route-tables.ts";
import type { RouteTarget } from "../../../provider/routes.ts";

/** `targets` are the Node before and after; undefined while its machine is unknown: then every table may serve it. */
export function concernedTables(
  tables: readonly ServingTable[],
  targets: readonly (RouteTarget | undefined)[],
): readonly ServingTable[] {
  const known = targets.filter((target) => target !== undefined);
  if (known.length < targets.length) return tables;
  const serving = tables.filter((table) => known.some((target) => mayServe(table, target)));
  // The sync of any table reports that none serves it.
  return serving.length === 0 ? tables : serving;
}

/** An error of the provider is reported by the sync of its table. Here it would stop the watch of Nodes. */
function mayServe({ serves }: ServingTable, target: RouteTarget): boolean {
  try {
    return serves(target);
  } catch {
    return true;
  }
}
