// Makes hosts of the rows of a listing. Pure.

import type { ApiHost } from "./api/resources.ts";

/** The server still has an entry, and the host does not exist any more. */
const goneStates = new Set(["removed", "purging", "purged"]);

/** With `include`, pages count addresses: a host with several may be on two pages. */
export function mergeHosts(rows: readonly ApiHost[]): readonly ApiHost[] {
  const byID = new Map<string, ApiHost>();
  for (const row of rows) {
    if (row.removed || goneStates.has(row.state ?? "")) continue;
    const known = byID.get(row.id);
    const ipAddresses = known?.ipAddresses && row.ipAddresses && [...known.ipAddresses, ...row.ipAddresses];
    byID.set(row.id, ipAddresses ? { ...row, ipAddresses } : row);
  }
  return [...byID.values()];
}
