// Remembers observed Node deletions: the routes of these Nodes are removed immediately. Routes of Nodes that
// vanished without a deletion need proof, because a fault may hide the Nodes.

import type { Cidr } from "../../core/brand.ts";
import type { Node } from "../../kube/objects.ts";
import type { Change } from "../../kube/watch/store.ts";
import type { RemovalMemory } from "../kernel/removal-memory.ts";
import type { NodeDeps } from "../node-deps.ts";
import { identityOf, isLeaving, podRangesOf } from "../node-facts.ts";

export interface SeenDeletionsDeps extends Pick<NodeDeps, "nodes" | "inventory"> {
  readonly removals: RemovalMemory;
}

/** Limits the memory of a replica that never leads. */
const maxRanges = 10_000;

/**
 * Remembers the pod ranges of Nodes whose deletion was seen: in the watch, announced by a taint or cordon, or explained by a
 * terminating instance. Nodes that are only missing from a new list of the API server may be missing because of a fault.
 */
export class SeenDeletions {
  readonly #deps: SeenDeletionsDeps;
  /** How the Nodes with each range disappeared. Forgotten when a Node gets the range. */
  readonly #ranges = new Map<Cidr, "deleted" | "vanished">();

  /** Follows the Nodes for the life of the process, because the next leader must know which deletions were seen. */
  constructor(deps: SeenDeletionsDeps) {
    this.#deps = deps;
    deps.nodes.subscribe((change) => this.#note(change));
  }

  /** Whether the deletions of all Nodes with this range were seen. */
  has(range: Cidr): boolean {
    return this.#ranges.get(range) === "deleted";
  }

  #note({ before, after, isFromList }: Change<Node>): void {
    const isReplaced = before?.metadata.uid !== after?.metadata.uid;
    const had = before === undefined ? [] : podRangesOf(before);
    const isSeen = before !== undefined && (!isReplaced || this.#isSeen(before, isFromList === true));
    for (const range of had) {
      // Another Node that has the range explains nothing.
      if (!isSeen) this.#add(range, "vanished");
      else if (this.#ranges.get(range) !== "vanished") this.#add(range, "deleted");
    }
    for (const range of after === undefined ? [] : podRangesOf(after))
      if (isReplaced || !had.includes(range) || this.has(range)) this.#ranges.delete(range);
  }

  #isSeen(node: Node, isFromList: boolean): boolean {
    const { removals, inventory } = this.#deps;
    if (!isFromList || isLeaving(node) || removals.isOwn("nodes", node.metadata.uid)) return true;
    // A missing instance is not an explanation, because a single cloud answer may be incorrect.
    const answer = inventory.check(identityOf(node));
    return answer.kind === "exists" && answer.instance.state === "terminating";
  }

  #add(range: Cidr, how: "deleted" | "vanished"): void {
    this.#ranges.delete(range);
    this.#ranges.set(range, how);
    const [oldest] = this.#ranges.keys();
    if (this.#ranges.size > maxRanges && oldest !== undefined) this.#ranges.delete(oldest);
  }
}
