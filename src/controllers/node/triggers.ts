// What brings Nodes into the queue during a term: changes of theirs that concern us, answers to what was asked about them,
// and listings that say something new of their machines. Those that join go first.

import type { Node } from "../../kube/objects.ts";
import type { Instance } from "../../provider/instances.ts";
import { priorities, type WorkQueue } from "../../runtime/work-queue.ts";
import type { Echoes } from "../own-writes.ts";
import { identityOf, isUninitialized } from "../node-facts.ts";
import type { NodePorts } from "../node-deps.ts";
import type { Questions } from "../pending-lookups.ts";
import type { Troubles } from "./problems.ts";

export interface WakeUpParts {
  readonly queue: WorkQueue;
  readonly questions: Questions;
  readonly echoes: Echoes<Node>;
  readonly troubles: Troubles;
  /** What the cloud said of a Node's machine when everything was last written as it says. */
  readonly dealtWith: ReadonlyMap<string, Instance>;
}

export const createWakeUps = (
  { nodes, inventory }: Pick<NodePorts, "nodes" | "inventory">,
  { queue, questions, echoes, troubles, dealtWith }: WakeUpParts,
) => {
  const addNode = (node: Node): void =>
    queue.add(node.metadata.name, {
      priority: isUninitialized(node) ? priorities.urgent : priorities.normal,
    });

  /** A listing asked for by others. A Node it does not show keeps its rest: looking now would only ask for the next one. */
  const isWorthALook = (node: Node): boolean => {
    const { name } = node.metadata;
    if (questions.has(name)) return false;
    const answer = inventory.look(identityOf(node));
    return answer.kind === "exists" && answer.instance !== dealtWith.get(name);
  };

  /** Until what it returns is called. */
  const begin = (): (() => void) => {
    const stopNodes = nodes.subscribe(({ key, before, after }) => {
      if (!echoes.isNews(key, before, after)) return;
      if (after === undefined) queue.add(key);
      else addNode(after);
    });
    const stopNews = inventory.subscribe((news) => {
      for (const name of questions.keys) queue.add(name, { priority: priorities.urgent });
      if (news !== "listing") return;
      for (const node of nodes.list()) {
        if (isWorthALook(node)) queue.add(node.metadata.name, { priority: priorities.background });
      }
    });
    // What went while another replica led was told to nobody here.
    for (const name of [...dealtWith.keys(), ...troubles.names]) {
      if (nodes.get(name) === undefined) queue.add(name);
    }
    // The watch tells only what changes from here on; what is there already is looked at once.
    for (const node of nodes.list()) addNode(node);
    return () => {
      stopNodes();
      stopNews();
    };
  };

  return { begin };
};
