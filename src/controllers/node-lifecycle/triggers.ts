// What brings Nodes into the queue during a term: changes of theirs that a decision rests on, and answers to what was
// asked about them. It decides nothing about them.

import type { Node } from "../../kube/objects.ts";
import type { WorkQueue } from "../../runtime/work-queue.ts";
import type { NodeDeps } from "../node-deps.ts";
import type { PendingLookups } from "../pending-lookups.ts";
import type { Candidates } from "./candidates.ts";
import { isOfInterest, sameForUs } from "./relevant-change.ts";

export interface TriggerDeps {
  readonly queue: WorkQueue;
  readonly candidates: Candidates;
  readonly pendingLookups: PendingLookups;
  readonly isManaged: (node: Node) => boolean;
  /** The inventory knows something new. */
  readonly onNews: () => void;
}

export function createTriggers(
  { nodes, inventory }: Pick<NodeDeps, "nodes" | "inventory">,
  { queue, candidates, pendingLookups, isManaged, onNews }: TriggerDeps,
) {
  const isNews = (before: Node | undefined, after: Node | undefined): boolean =>
    before === undefined ||
    after === undefined ||
    !sameForUs(before, after) ||
    isManaged(before) !== isManaged(after);

  /** Until what it returns is called. */
  const begin = (): (() => void) => {
    const stopNodes = nodes.subscribe(({ key, before, after }) => {
      if (!isNews(before, after)) return;
      if (after === undefined || isOfInterest(after) || candidates.all.has(key)) queue.add(key);
    });
    const stopNews = inventory.subscribe(() => {
      onNews();
      for (const name of pendingLookups.keys) queue.add(name);
    });
    // The watch tells only what changes from here on; what is there already is looked at once.
    for (const { metadata } of nodes.list()) queue.add(metadata.name);
    return () => {
      stopNodes();
      stopNews();
    };
  };

  return { begin };
}
