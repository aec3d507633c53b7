// How many of the recent removals belong to one table. The limit applies to each table alone, but the Lease stores the removals of all
// of them; those of an earlier process count for every table.

import type { RemovalHistory } from "../../absence/removal-history.ts";

export class TableRemovals {
  readonly #removals: Pick<RemovalHistory, "count" | "has">;
  /** The tables of the removals of this process, by id. */
  readonly #tables = new Map<string, string | undefined>();

  constructor(removals: Pick<RemovalHistory, "count" | "has">) {
    this.#removals = removals;
  }

  note(table: string | undefined, ids: readonly string[]): void {
    for (const id of ids) this.#tables.set(id, table);
  }

  recentIn(table: string | undefined): number {
    let others = 0;
    for (const [id, itsTable] of this.#tables) {
      if (!this.#removals.has("routes", id)) this.#tables.delete(id);
      else if (itsTable !== table) others += 1;
    }
    return this.#removals.count("routes") - others;
  }
}
