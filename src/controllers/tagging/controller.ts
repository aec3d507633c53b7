// The tagging controller, for clouds that have one: gives the machines of Nodes the tags of the operator, several in one request, and
// takes them off when the Node is deleted. It is off by default.

import { type Milliseconds, minutes, seconds } from "../../core/brand.ts";
import { inBatches } from "../../core/in-batches.ts";
import type { Node } from "../../kube/objects.ts";
import { guardedNodePatch } from "../../kube/patches/node-patch.ts";
import type { Change } from "../../kube/watch/store.ts";
import type { Call } from "../../provider/call.ts";
import { CloudError } from "../../provider/errors.ts";
import type { MachineTags } from "../../provider/machine-tags.ts";
import { WorkQueue } from "../../runtime/work-queue.ts";
import { type Outcome, requeue, runWorkers, settled } from "../../runtime/workers.ts";
import { delayAfterError, describeError } from "../classify-error.ts";
import type { NodeDeps } from "../node-deps.ts";
import { identityOf } from "../node-facts.ts";
import { isPaused } from "../pause.ts";
import type { ObjectEvent } from "../reporter.ts";
import type { JournalledSend } from "../writes/journalled-send.ts";

export interface TaggingDeps extends NodeDeps {
  readonly tags: MachineTags;
  readonly send: JournalledSend;
  /** Reports what concerns no single Node. */
  readonly reportTags: (event: ObjectEvent) => void;
}

/** All Nodes are one key: their machines are tagged together. */
const key = "tags";
/** Nodes often join together. */
const collectFor: Milliseconds = seconds(1);
/** A machine that is younger may be unknown to the part of the cloud that tags. */
const grace: Milliseconds = minutes(5);
const checkAgain: Milliseconds = seconds(30);

/** A Node that disappeared from a listing was not seen to be deleted. */
const isDeletion = ({ before, after, isFromList }: Change<Node>): boolean =>
  before !== undefined && after === undefined && isFromList !== true;

export class TaggingController {
  readonly queue: WorkQueue;
  readonly #deps: TaggingDeps;
  /** The machines of deleted Nodes, by key, with the name of the Node. */
  readonly #left = new Map<string, string>();
  /** Nodes whose machine does not exist, by uid: they are not tried again. */
  readonly #missing = new Set<string>();
  /** The last error. */
  #reported: string | undefined;

  constructor(deps: TaggingDeps) {
    this.#deps = deps;
    this.queue = new WorkQueue(deps.clock);
  }

  /** Runs for one leadership session. */
  async run(signal: AbortSignal): Promise<void> {
    const { nodes, clock } = this.#deps;
    const stop = nodes.subscribe((change) => {
      const { before, after } = change;
      if (before !== undefined && isDeletion(change)) this.#leave(before);
      if (this.#left.size > 0 || (after !== undefined && this.#needsTags(after)))
        this.queue.add(key, { delay: collectFor });
    });
    const worker = {
      queue: this.queue,
      count: () => 1,
      reconcile: (_: string, end: AbortSignal) => this.#reconcile(end),
      onError: (_: string, error: unknown, failures: number) => this.#onError(error, failures),
      clock,
    };
    try {
      this.queue.add(key);
      await runWorkers(worker, signal);
    } finally {
      stop();
      this.#left.clear();
      this.#missing.clear();
    }
  }

  /** The settings may have changed. */
  reconsider(): void {
    this.queue.add(key);
  }

  #machineOf(node: Node): string | undefined {
    const { inventory } = this.#deps;
    const machine = inventory.machineOf(identityOf(node));
    const isReadable = inventory.sources.some(({ source }) => source.name === machine?.source);
    return isReadable ? machine?.key : undefined;
  }

  #needsTags(node: Node): boolean {
    const { tags, isSelected } = this.#deps;
    const { labels, deletionTimestamp, uid } = node.metadata;
    if (deletionTimestamp !== undefined || isPaused(node) || !isSelected(node)) return false;
    return labels?.[tags.label.key] !== tags.label.value && !this.#missing.has(uid);
  }

  #leave(node: Node): void {
    const machine = this.#deps.isSelected(node) && !isPaused(node) ? this.#machineOf(node) : undefined;
    if (machine !== undefined) this.#left.set(machine, node.metadata.name);
  }

  async #reconcile(signal: AbortSignal): Promise<Outcome> {
    const { nodes, tags, send } = this.#deps;
    const call: Call = { signal, urgency: "refresh" };
    const present = new Map(
      nodes.list().flatMap((node) => {
        const machine = this.#machineOf(node);
        return machine === undefined ? [] : [[machine, node] as const];
      }),
    );
    // The Node is there again.
    for (const machine of this.#left.keys()) if (present.has(machine)) this.#left.delete(machine);
    const wanted = [...present].filter(([, node]) => this.#needsTags(node));
    let isWaiting = false;
    await this.#inBatches(
      wanted.map(([machine]) => machine),
      async (machines) => {
        const why = "--tags names tags that the machine of the Node must have";
        const changes = machines.map((machine) => ({
          action: "add tags",
          object: `machine/${machine}`,
          why,
        }));
        if ((await send(changes, () => tags.add(machines, call))) === "observed") return;
        for (const machine of machines) await this.#mark(present.get(machine), signal);
      },
      (machine) => {
        const node = present.get(machine);
        if (node === undefined) return;
        if (this.#deps.clock.now() - Date.parse(node.metadata.creationTimestamp ?? "") < grace)
          isWaiting = true;
        else this.#missing.add(node.metadata.uid);
      },
    );
    await this.#inBatches(
      [...this.#left.keys()],
      async (machines) => {
        const why = "its Node was deleted";
        const changes = machines.map((machine) => ({
          action: "remove tags",
          object: `machine/${machine}`,
          why,
        }));
        await send(changes, () => tags.remove(machines, call));
        for (const machine of machines) this.#left.delete(machine);
      },
      (machine) => this.#left.delete(machine),
    );
    this.#reported = undefined;
    return isWaiting ? requeue(checkAgain, "machines that the cloud does not know yet") : settled;
  }

  /** One machine that does not exist fails a request for many, so those are halved until it is alone. */
  async #inBatches(
    machines: readonly string[],
    change: (machines: readonly string[]) => Promise<void>,
    onMissing: (machine: string) => void,
  ): Promise<void> {
    for (const batch of inBatches(machines, this.#deps.tags.limit))
      await this.#halved(batch, change, onMissing);
  }

  async #halved(
    machines: readonly string[],
    change: (machines: readonly string[]) => Promise<void>,
    onMissing: (machine: string) => void,
  ): Promise<void> {
    try {
      await change(machines);
    } catch (error) {
      if (!CloudError.is(error) || error.kind !== "not-found") throw error;
      const [first = "", ...others] = machines;
      if (others.length === 0) return onMissing(first);
      const half = Math.ceil(machines.length / 2);
      await this.#halved(machines.slice(0, half), change, onMissing);
      await this.#halved(machines.slice(half), change, onMissing);
    }
  }

  async #mark(seen: Node | undefined, signal: AbortSignal): Promise<void> {
    const { nodes, writes, tags } = this.#deps;
    const node = seen && nodes.get(seen.metadata.name);
    if (node === undefined || node.metadata.uid !== seen?.metadata.uid) return;
    const patch = guardedNodePatch({ node, labels: { [tags.label.key]: tags.label.value } });
    if (patch !== undefined) await writes.patch(node, patch, "its machine has the tags", signal);
  }

  #onError(error: unknown, failures: number): Outcome {
    const problem = describeError(error);
    const isNew = problem !== undefined && problem.text !== this.#reported;
    this.#reported = problem?.text;
    if (isNew) {
      const message = `The tags of machines are not complete: ${problem.text}`;
      this.#deps.reportTags({ type: "Warning", reason: problem.reason, message });
    }
    return requeue(delayAfterError(error, failures, this.#deps), "an error");
  }
}
