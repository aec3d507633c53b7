// Which of the cloud's route tables need a route, and how messages name a table. Pure.

import { cidrFamily } from "../../core/cidr.ts";
import type { ServingTable } from "../../provider/route-tables.ts";
import type { DesiredRoute } from "../../provider/routes.ts";

/** The tables that need this route. `isServed`: whether any table serves the target, of whatever family. */
export function tablesFor(
  tables: readonly ServingTable[],
  { destination, target }: DesiredRoute,
): { readonly names: readonly (string | undefined)[]; readonly isServed: boolean } {
  const serving = tables.filter(({ serves }) => serves(target));
  const able = serving.filter(({ routes }) => routes.families.includes(cidrFamily(destination)));
  return { names: able.map(({ name }) => name), isServed: serving.length > 0 };
}

/** " in table west", or empty if the cloud has one table. */
export function inTable(name: string | undefined): string {
  return name === undefined ? "" : ` in table ${name}`;
}
