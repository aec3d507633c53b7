// Determines which of the cloud's route tables need a route, which tables a change of a Node concerns, and how messages name a
// table. Pure.

import type { RouteTable } from "../../cloud/ideal-route-tables.ts";
import { cidrFamily } from "../../core/cidr.ts";
import type { DesiredRoute, RouteTarget } from "../../provider/routes.ts";

/** Undefined if the cloud has one table. */
export type TableName = RouteTable["name"];

/** The properties that decide which routes a table needs. */
export type ServingTable = Pick<RouteTable, "name" | "serves" | "families">;

/**
 * Where the routes of a Node lead. `unknown`: the cloud does not return its instance (yet). `foreign`: the Node belongs to
 * another cloud.
 */
export type TargetAnswer = RouteTarget | "unknown" | "foreign";

/** The tables that need this route. `isServed`: whether any table serves the target, of either family. */
export function tablesFor(
  tables: readonly ServingTable[],
  { destination, target }: DesiredRoute,
): { readonly names: readonly (string | undefined)[]; readonly isServed: boolean } {
  const serving = tables.filter(({ serves }) => serves(target));
  const able = serving.filter(({ families }) => families.includes(cidrFamily(destination)));
  return { names: able.map(({ name }) => name), isServed: serving.length > 0 };
}

/**
 * The tables that may serve a Node, from its targets before and after a change. While its machine is unknown, every table may
 * serve the Node.
 */
export function concernedTables<T extends Pick<ServingTable, "serves">>(
  tables: readonly T[],
  targets: readonly TargetAnswer[],
): readonly T[] {
  const known = targets.filter((target) => typeof target !== "string");
  if (known.length < targets.length) return tables;
  const serving = tables.filter((table) => known.some((target) => mayServe(table, target)));
  // If no table serves the Node, the sync of any table reports that.
  return serving.length === 0 ? tables : serving;
}

/** The table's sync reports provider errors. Here, an error would stop the Node watch. */
function mayServe({ serves }: Pick<ServingTable, "serves">, target: RouteTarget): boolean {
  try {
    return serves(target);
  } catch {
    return true;
  }
}

/** " in table west", or empty if the cloud has one table. */
export function inTable(name: string | undefined): string {
  return name === undefined ? "" : ` in table ${name}`;
}
