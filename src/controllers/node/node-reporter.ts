// Reports problems on Nodes: once as an event while the problem lasts, and after several failed attempts as the CloudReady
// condition, which exists only while there is a problem between the Node and the cloud.

import { messageIn, type Problem } from "../../core/problem.ts";
import { type Condition, type Node, toTime } from "../../kube/objects.ts";
import { nodeConditionsPatch, nodeConditionsRemovalPatch } from "../../kube/patches/node-patch.ts";
import { type Board, Reporter } from "../kernel/board.ts";
import type { NodeDeps } from "../node-deps.ts";
import { cloudCondition } from "../well-known.ts";
import type { NodeSettings } from "./settings.ts";

type NodeReporterOptions = Pick<NodeDeps, "writes" | "clock" | "report"> & {
  readonly settings: NodeSettings;
};

/**
 * `differences`: values of the instance that the Node cannot get; they stay reported during failures, so that they are not
 * reported again afterwards. `failure`: why the Node waits, or why the last attempt failed.
 */
export type NodeTopic = "failure" | "differences" | "notices";

export class NodeReporter {
  readonly #options: NodeReporterOptions;
  readonly #board: Board<NodeTopic>;
  readonly #reporter: Reporter<Node, NodeTopic>;
  /** The number of consecutive failed attempts in this session, by Node name. Valid while the topic `failure` is reported. */
  readonly #attempts = new Map<string, number>();

  constructor(options: NodeReporterOptions, board: Board<NodeTopic>) {
    this.#options = options;
    this.#board = board;
    this.#reporter = new Reporter(options.report, board);
  }

  reportNotices(node: Node, notices: readonly Problem[]): void {
    this.#reporter.report(node, "notices", notices);
  }

  reportProblems(node: Node, problems: readonly Problem[]): void {
    const before = this.#board.of(node, "differences");
    const isSame = problems.every(({ reason }) => before.some((known) => known.reason === reason));
    const since = (isSame ? before[0]?.since : undefined) ?? this.#options.clock.monotonic();
    this.#reporter.report(
      node,
      "differences",
      problems.map((problem) => ({ ...problem, since })),
    );
  }

  /** Reports why the Node waits. Unlike a failure, waiting does not set the condition. */
  reportWait(node: Node, problem: Problem): void {
    this.#reportFailure(node, problem, 0);
  }

  /** Returns the number of consecutive failed attempts. */
  reportFailure(node: Node, problem: Problem): number {
    return this.#reportFailure(node, problem, 1);
  }

  #reportFailure(node: Node, problem: Problem, added: number): number {
    const [before] = this.#board.of(node, "failure");
    const attempts = this.#attemptsOf(node) + added;
    this.#attempts.set(node.metadata.name, attempts);
    const earlier = before?.reason === problem.reason ? before.since : undefined;
    const since = earlier ?? this.#options.clock.monotonic();
    this.#reporter.report(node, "failure", [{ ...problem, attempts, since }]);
    return attempts;
  }

  /** Returns zero for a new Node that reuses a name. */
  #attemptsOf(node: Node): number {
    const isFailing = this.#board.of(node, "failure").length > 0;
    return isFailing ? (this.#attempts.get(node.metadata.name) ?? 0) : 0;
  }

  /** Called when the last attempt did not fail, or the Node is ignored. */
  endFailure(name: string): void {
    this.#attempts.delete(name);
    this.#board.forget(name, "failure");
  }

  forget(name: string): void {
    this.#attempts.delete(name);
    this.#board.forget(name);
  }

  /** Writes the condition if the problem has lasted long enough. */
  async writeCondition(node: Node, signal: AbortSignal): Promise<void> {
    const { writes, clock, settings } = this.#options;
    const [problem] = this.#board.of(node, "failure");
    if (problem === undefined || this.#attemptsOf(node) < settings.failuresBeforeCondition) return;
    const present = cloudConditionOf(node);
    const condition = toCloudCondition(problem, clock.now());
    if (present?.reason === condition.reason && present?.message === condition.message) return;
    const why = `the Node is not initialized (${problem.reason}): ${messageIn(problem)}`;
    await writes.patch(node, nodeConditionsPatch(node, [condition]), why, signal);
  }

  async endProblem(node: Node, signal: AbortSignal): Promise<void> {
    this.endFailure(node.metadata.name);
    if (cloudConditionOf(node) === undefined) return;
    const removal = nodeConditionsRemovalPatch(node, [cloudCondition]);
    await this.#options.writes.patch(node, removal, "the problem is fixed", signal);
  }
}

/** The watch cache truncates longer messages, so they could not be compared with the Node's message. */
const maxMessageLength = 256;

/**
 * Contains neither a retry time nor a counter, because every change would cause a write. The heartbeat is the time of this write,
 * because kubectl would otherwise show the year 1.
 */
function toCloudCondition(
  { reason, ...problem }: Problem,
  now: number,
): Condition & { readonly lastHeartbeatTime: string } {
  const message = messageIn(problem);
  const time = toTime(now);
  return {
    type: cloudCondition,
    status: "False",
    reason,
    message: message.length > maxMessageLength ? `${message.slice(0, maxMessageLength - 1)}…` : message,
    lastTransitionTime: time,
    lastHeartbeatTime: time,
  };
}

export function cloudConditionOf(node: Node): Condition | undefined {
  return node.status.conditions?.find(({ type }) => type === cloudCondition);
}
