// What brings Nodes into the queue during a term: changes of theirs that a decision rests on, and answers to what was
// asked about them. It decides nothing about them.

import type { Node } from "../../kube/objects.ts";
import type { WorkQueue } from "../../runtime/work-queue.ts";
import type { NodePorts } from "../node-deps.ts";
import type { Questions } from "../pending-lookups.ts";
import { isOfInterest, sameForUs } from "./relevant-change.ts";
import type { Suspects } from "./candidates.ts";

export interface WakeUpParts {
  readonly queue: WorkQueue;
  readonly suspects: Suspects;
  readonly questions: Questions;
  readonly isManaged: (node: Node) => boolean;
  /** The inventory knows something new. */
  readonly onNews: () => void;
}

export const createWakeUps = (
  { nodes, inventory }: Pick<NodePorts, "nodes" | "inventory">,
  { queue, suspects, questions, isManaged, onNews }: WakeUpParts,
) => {
  const isNews = (before: Node | undefined, after: Node | undefined): boolean =>
    before === undefined ||
    after === undefined ||
    !sameForUs(before, after) ||
    isManaged(before) !== isManaged(after);

  /** Until what it returns is called. */
  const begin = (): (() => void) => {
    const stopNodes = nodes.subscribe(({ key, before, after }) => {
      if (!isNews(before, after)) return;
      if (after === undefined || isOfInterest(after) || suspects.all.has(key)) queue.add(key);
    });
    const stopNews = inventory.subscribe(() => {
      onNews();
      for (const name of questions.keys) queue.add(name);
    });
    // The watch tells only what changes from here on; what is there already is looked at once.
    for (const { metadata } of nodes.list()) queue.add(metadata.name);
    return () => {
      stopNodes();
      stopNews();
    };
  };

  return { begin };
};
