// Enqueues Nodes during a leadership session: after relevant changes, when the inventory has answered their lookups, and
// when a listing or one of its pages shows a change of their instance. Joining Nodes go first.

import type { NodeIdentity } from "../../cloud/inventory/node-identity.ts";
import type { Node } from "../../kube/objects.ts";
import type { Instance } from "../../provider/instances.ts";
import { priorities, type WorkQueue } from "../../runtime/work-queue.ts";
import type { OwnWrites } from "../kernel/own-writes.ts";
import type { Subscriptions } from "../kernel/run-controller.ts";
import type { NodeDeps } from "../node-deps.ts";
import { identityOf, isUninitialized } from "../node-facts.ts";
import { cloudConditionOf } from "./node-reporter.ts";
import { instancesIn, type NodeInstanceLookup } from "./observe.ts";

export interface TriggerDeps extends Pick<NodeDeps, "nodes" | "inventory"> {
  readonly queue: WorkQueue;
  readonly lookup: NodeInstanceLookup;
  readonly ownWrites: OwnWrites<Node>;
  /** Returns the properties that identify a Node's instance. */
  readonly identify: (node: Node) => NodeIdentity;
  /** The instances with which each Node was last compared. */
  readonly comparedWith: ReadonlyMap<string, readonly Instance[]>;
  /** Nodes whose instance may have changed since then (monotonic). */
  readonly hinted: Map<string, number>;
}

export function* startTriggers(deps: TriggerDeps): Subscriptions {
  const { nodes, inventory, queue, lookup, ownWrites } = deps;
  yield nodes.subscribe((change) => {
    const { key, before, after } = change;
    if (before !== undefined && before.metadata.uid !== after?.metadata.uid) lookup.pending.forget(key);
    if (!ownWrites.isNews(change)) return;
    if (after === undefined) queue.add(key);
    else enqueue(queue, after);
  });
  yield inventory.subscribe((update) => {
    const found = [...lookup.foundMeanwhile(), ...answeredHints(deps)].filter((name) =>
      hasNewInstance(nodes.get(name), deps),
    );
    for (const name of [...lookup.pending.keys, ...found]) queue.add(name, { priority: priorities.urgent });
    if (update !== "listing") return;
    for (const node of nodes.list()) {
      if (hasNewInstance(node, deps)) queue.add(node.metadata.name, { priority: priorities.background });
    }
  });
  yield inventory.subscribeToPages((page) => {
    for (const name of page.flatMap(({ names }) => names)) {
      if (lookup.pending.has(name)) queue.add(name, { priority: priorities.urgent });
    }
  });
  // Subscribers receive only later changes, so the existing Nodes are enqueued once.
  for (const node of nodes.list()) enqueue(queue, node);
}

function enqueue(queue: WorkQueue, node: Node): void {
  const priority = isUninitialized(node) ? priorities.urgent : priorities.normal;
  queue.add(node.metadata.name, { priority });
}

/** The hinted Nodes for which a newer answer has arrived. */
function answeredHints({ nodes, inventory, hinted }: TriggerDeps): readonly string[] {
  const answered = [...hinted].filter(([name, since]) => {
    const node = nodes.get(name);
    const answer = node && inventory.check(identityOf(node));
    return answer === undefined || !("asOf" in answer) || answer.asOf >= since;
  });
  for (const [name] of answered) hinted.delete(name);
  return answered.map(([name]) => name);
}

/** A Node that the listing lacks keeps its backoff, because a reconcile now would only request the next listing. */
function hasNewInstance(
  node: Node | undefined,
  { inventory, identify, lookup, comparedWith }: TriggerDeps,
): boolean {
  if (node === undefined || lookup.pending.has(node.metadata.name)) return false;
  const answer = inventory.check(identify(node));
  const found = instancesIn(answer);
  const before = comparedWith.get(node.metadata.name) ?? [];
  // Without an answer, nothing is known to have changed.
  if (found.length === 0) return answer.kind === "gone" && before.length > 0;
  return found.length !== before.length || found.some((instance, index) => instance !== before[index]);
}

/** Ignores the order of keys: the API server sorts the labels. */
const same = (a: unknown, b: unknown): boolean => Bun.deepEquals(a, b);

/** Kubelets update the status of their Node constantly, and almost none of these updates concern the node controller. */
export function isRelevantChange(before: Node | undefined, after: Node | undefined): boolean {
  if (before === undefined || after === undefined) return true;
  return !(
    before.metadata.uid === after.metadata.uid &&
    before.metadata.deletionTimestamp === after.metadata.deletionTimestamp &&
    before.spec.providerID === after.spec.providerID &&
    same(before.spec.taints, after.spec.taints) &&
    same(before.metadata.labels, after.metadata.labels) &&
    same(before.metadata.annotations, after.metadata.annotations) &&
    same(before.status.addresses, after.status.addresses) &&
    before.status.nodeInfo?.systemUUID === after.status.nodeInfo?.systemUUID &&
    same(cloudConditionOf(before), cloudConditionOf(after))
  );
}
