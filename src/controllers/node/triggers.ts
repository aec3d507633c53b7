// What brings Nodes into the queue during a term: changes of theirs that concern us, answers to what was asked about them,
// and listings that say something new of their machines. Those that join go first.

import type { Node } from "../../kube/objects.ts";
import type { Instance } from "../../provider/instances.ts";
import { priorities, type WorkQueue } from "../../runtime/work-queue.ts";
import type { NodeDeps } from "../node-deps.ts";
import { identityOf, isUninitialized } from "../node-facts.ts";
import type { PendingLookups } from "../pending-lookups.ts";
import type { OwnWrites } from "../writes/own-writes.ts";
import type { ProblemTracker } from "./problems.ts";

export interface TriggerDeps {
  readonly queue: WorkQueue;
  readonly pendingLookups: PendingLookups;
  readonly ownWrites: OwnWrites<Node>;
  readonly problems: ProblemTracker;
  /** What the cloud said of a Node's machine when everything was last written as it says. */
  readonly dealtWith: ReadonlyMap<string, Instance>;
}

export function createTriggers(
  { nodes, inventory }: Pick<NodeDeps, "nodes" | "inventory">,
  { queue, pendingLookups, ownWrites, problems, dealtWith }: TriggerDeps,
) {
  const addNode = (node: Node): void =>
    queue.add(node.metadata.name, {
      priority: isUninitialized(node) ? priorities.urgent : priorities.normal,
    });

  /** A listing asked for by others. A Node it does not show keeps its rest: looking now would only ask for the next one. */
  const isWorthChecking = (node: Node): boolean => {
    const { name } = node.metadata;
    if (pendingLookups.has(name)) return false;
    const answer = inventory.check(identityOf(node));
    return answer.kind === "exists" && answer.instance !== dealtWith.get(name);
  };

  /** Until what it returns is called. */
  const begin = (): (() => void) => {
    const stopNodes = nodes.subscribe(({ key, before, after }) => {
      if (!ownWrites.isNews(key, before, after)) return;
      if (after === undefined) queue.add(key);
      else addNode(after);
    });
    const stopNews = inventory.subscribe((news) => {
      for (const name of pendingLookups.keys) queue.add(name, { priority: priorities.urgent });
      if (news !== "listing") return;
      for (const node of nodes.list()) {
        if (isWorthChecking(node)) queue.add(node.metadata.name, { priority: priorities.background });
      }
    });
    // What went while another replica led was told to nobody here.
    for (const name of [...dealtWith.keys(), ...problems.names]) {
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
}
