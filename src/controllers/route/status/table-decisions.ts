// Combines what is decided about the Nodes in each table: a Node has its routes only when every table that serves it has them.

export class TableDecisions {
  /** Whether each Node has its routes in a table, by table and uid. Nodes that are not decided yet are omitted. */
  readonly #decisions = new Map<string | undefined, ReadonlyMap<string, boolean>>();

  /** Another replica may have been the leader since. */
  clear(): void {
    this.#decisions.clear();
  }

  /** Replaces the decisions of a table, and returns those of all. `tablesOfNode` names the tables that each Node needs, by uid. */
  update(
    table: string | undefined,
    decisions: ReadonlyMap<string, boolean>,
    tablesOfNode: ReadonlyMap<string, ReadonlySet<string | undefined>>,
  ): ReadonlyMap<string, boolean> {
    this.#decisions.set(table, decisions);
    const combined = new Map<string, boolean>();
    for (const [uid, tables] of tablesOfNode) {
      const found = [...tables].map((name) => this.#decisions.get(name)?.get(uid));
      if (found.includes(false)) combined.set(uid, false);
      else if (found.length > 0 && !found.includes(undefined)) combined.set(uid, true);
    }
    return combined;
  }
}
