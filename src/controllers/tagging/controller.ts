// The tagging controller, for clouds that support it: adds the operator's tags to the machines of Nodes, several in one request,
// and removes them when the Node is deleted. Off by default.

import { type Milliseconds, minutes, seconds } from "../../core/brand.ts";
import { inBatches } from "../../core/in-batches.ts";
import type { Problem } from "../../core/problem.ts";
import type { Node } from "../../kube/objects.ts";
import { guardedNodePatch } from "../../kube/patches/node-patch.ts";
import type { Call } from "../../provider/call.ts";
import { CloudError } from "../../provider/errors.ts";
import type { MachineTags } from "../../provider/machine-tags.ts";
import { WorkQueue } from "../../runtime/work-queue.ts";
import { type Outcome, requeue, settled } from "../../runtime/workers.ts";
import { problemOfError } from "../classify-error.ts";
import type { JournalledSend } from "../kernel/journalled-send.ts";
import { type Reconciler, runController, type Subscriptions } from "../kernel/run-controller.ts";
import type { NodeDeps } from "../node-deps.ts";
import { isPaused } from "../pause.ts";
import { machineOf, type TaggingHistory } from "./history.ts";

export interface TaggingDeps extends Omit<NodeDeps, "concurrency" | "note" | "report"> {
  readonly tags: MachineTags;
  readonly send: JournalledSend;
  /** Reports a problem that does not concern a single Node. */
  readonly reportTags: (problem: Problem) => void;
}

/** A single key for all Nodes, because their machines are tagged together. */
const key = "tags";
/** Nodes often join together. */
const collectFor: Milliseconds = seconds(1);
/** The part of the cloud that manages tags may not know a younger machine yet. */
const grace: Milliseconds = minutes(5);
const checkAgain: Milliseconds = seconds(30);

/** The controller, composed again for each leadership session. */
export class TaggingController implements Reconciler {
  readonly queue: WorkQueue;
  readonly #deps: TaggingDeps;
  readonly #history: TaggingHistory;
  /** Nodes whose machine does not exist, by uid. They are not retried. */
  readonly #missing = new Set<string>();

  constructor(deps: TaggingDeps, history: TaggingHistory) {
    this.#deps = deps;
    this.#history = history;
    this.queue = new WorkQueue(deps.clock);
  }

  /** Called at most once. */
  run(signal: AbortSignal): Promise<void> {
    return runController(this, { ...this.#deps, concurrency: 1 }, signal);
  }

  *begin(): Subscriptions {
    yield this.#history.begin();
    yield this.#deps.nodes.subscribe(({ after }) => {
      if (this.#history.left.size > 0 || (after !== undefined && this.#needsTags(after)))
        this.queue.add(key, { delay: collectFor });
    });
    this.queue.add(key);
  }

  #needsTags(node: Node): boolean {
    const { tags, isSelected } = this.#deps;
    const { labels, deletionTimestamp, uid } = node.metadata;
    if (deletionTimestamp !== undefined || isPaused(node) || !isSelected(node)) return false;
    return labels?.[tags.label.key] !== tags.label.value && !this.#missing.has(uid);
  }

  async reconcile(_: string, signal: AbortSignal): Promise<Outcome> {
    const { nodes, tags, send } = this.#deps;
    const { left } = this.#history;
    const call: Call = { signal, urgency: "refresh" };
    const present = new Map(
      nodes.list().flatMap((node) => {
        const machine = machineOf(this.#deps.inventory, node);
        return machine === undefined ? [] : [[machine, node] as const];
      }),
    );
    // The Node exists again.
    for (const machine of left.keys()) if (present.has(machine)) left.delete(machine);
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
      [...left.keys()],
      async (machines) => {
        const why = "its Node was deleted";
        const changes = machines.map((machine) => ({
          action: "remove tags",
          object: `machine/${machine}`,
          why,
        }));
        await send(changes, () => tags.remove(machines, call));
        for (const machine of machines) left.delete(machine);
      },
      (machine) => left.delete(machine),
    );
    this.#history.board.put("tags", []);
    return isWaiting ? requeue(checkAgain, "machines that the cloud does not know yet") : settled;
  }

  /** A single missing machine fails a batch request, so batches are halved until it is isolated. */
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

  onError(_: string, error: unknown): undefined {
    const problem = problemOfError(error);
    const text = `The tags of machines are not complete: ${problem?.text}`;
    const news = this.#history.board.put("tags", problem === undefined ? [] : [{ ...problem, text }]);
    for (const each of news) this.#deps.reportTags(each);
  }
}
