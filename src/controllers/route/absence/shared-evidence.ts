// What the guards of all tables share: which Nodes were seen to be deleted, and how many of the recent removals belong to which table.

import type { Answer } from "../../../cloud/inventory.ts";
import type { Cidr } from "../../../core/brand.ts";
import type { Node } from "../../../kube/objects.ts";
import type { Change } from "../../../kube/watch/store.ts";
import type { RemovalHistory } from "../../absence/removal-history.ts";
import { isLeaving } from "../../node-facts.ts";
import { podRangesOf } from "../desired/plan-desired.ts";

export interface SharedEvidence {
  readonly deletions: SeenDeletions;
  readonly recent: TableRemovals;
}

interface SeenDeletionsDeps {
  readonly answerFor: (node: Node) => Answer;
  readonly removals: Pick<RemovalHistory, "isOwn">;
}

/** Bounds the memory of a replica that never leads. */
const maxRanges = 10_000;

/**
 * Remembers the pod ranges of Nodes whose deletion was seen: in the watch, announced by a taint or cordon, or explained by an instance that
 * is terminating. Nodes that are only missing from a new list of the API server may be missing because of a fault.
 */
export class SeenDeletions {
  readonly #deps: SeenDeletionsDeps;
  readonly #ranges = new Set<Cidr>();

  constructor(deps: SeenDeletionsDeps) {
    this.#deps = deps;
  }

  /** Whether the deletion of the last Node with this range was seen. */
  has(range: Cidr): boolean {
    return this.#ranges.has(range);
  }

  note({ before, after, isFromList }: Change<Node>): void {
    const isReplaced = before?.metadata.uid !== after?.metadata.uid;
    if (before !== undefined && (!isReplaced || this.#isSeen(before, isFromList === true))) {
      for (const range of podRangesOf(before)) this.#add(range);
    }
    if (after !== undefined) for (const range of podRangesOf(after)) this.#ranges.delete(range);
  }

  #isSeen(node: Node, isFromList: boolean): boolean {
    if (!isFromList || isLeaving(node) || this.#deps.removals.isOwn("nodes", node.metadata.uid)) return true;
    // An instance that is missing too explains nothing: a single answer of the cloud may be wrong.
    const answer = this.#deps.answerFor(node);
    return answer.kind === "exists" && answer.instance.state === "terminating";
  }

  #add(range: Cidr): void {
    this.#ranges.delete(range);
    this.#ranges.add(range);
    const [oldest] = this.#ranges;
    if (this.#ranges.size > maxRanges && oldest !== undefined) this.#ranges.delete(oldest);
  }
}

/** The limit applies to each table alone, but the Lease stores the removals of all; those of an earlier process count for every table. */
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
