// The state of the tagging controller across leadership sessions: the machines whose tags must be removed, and reported findings.

import type { Node } from "../../kube/objects.ts";
import type { Change } from "../../kube/watch/store.ts";
import type { FormerLeaders } from "../former-leaders.ts";
import { ObjectBoard } from "../kernel/board.ts";
import type { NodeDeps } from "../node-deps.ts";
import { identityOf } from "../node-facts.ts";
import { isPaused } from "../pause.ts";

export interface TaggingHistoryOptions extends Pick<NodeDeps, "nodes" | "inventory" | "isSelected"> {
  readonly formerLeaders: FormerLeaders;
}

/** A Node that disappeared from a listing was not seen to be deleted. */
const isDeletion = ({ before, after, isFromList }: Change<Node>): boolean =>
  before !== undefined && after === undefined && isFromList !== true;

export class TaggingHistory {
  /** The machines of deleted Nodes, by key, with the name of the Node. */
  readonly left = new Map<string, string>();
  /** The last error, kept until all requests succeed. */
  readonly board = new ObjectBoard<"tags">();
  readonly #options: TaggingHistoryOptions;
  #isRunning = false;
  /** The number of leader changes when the last session ended. */
  #leadersAtEnd: number | undefined;

  /** Follows the Nodes for the life of the process. */
  constructor(options: TaggingHistoryOptions) {
    this.#options = options;
    options.nodes.subscribe((change) => {
      if (change.before !== undefined && isDeletion(change) && this.#isLeader) this.#leave(change.before);
    });
  }

  /** Begins a session. Returns a function that ends it. */
  begin(): () => void {
    this.#isRunning = true;
    return () => {
      this.#isRunning = false;
      this.#leadersAtEnd = this.#options.formerLeaders();
    };
  }

  /** Remains true between two sessions, unless another replica led: that replica removes the tags. */
  get #isLeader(): boolean {
    return this.#isRunning || this.#leadersAtEnd === this.#options.formerLeaders();
  }

  #leave(node: Node): void {
    const { inventory, isSelected } = this.#options;
    const machine = isSelected(node) && !isPaused(node) ? machineOf(inventory, node) : undefined;
    if (machine !== undefined) this.left.set(machine, node.metadata.name);
  }
}

/** The key of the Node's machine, if it can be read. */
export function machineOf(inventory: NodeDeps["inventory"], node: Node): string | undefined {
  const machine = inventory.machineOf(identityOf(node));
  const isReadable = inventory.sources.some(({ source }) => source.name === machine?.source);
  return isReadable ? machine?.key : undefined;
}
