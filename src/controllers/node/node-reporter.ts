// Reports problems on Nodes: each as an event, once while it lasts, and after several failed attempts as the CloudReady condition,
// which a Node has only while something is wrong between it and the cloud.

import { defined } from "../../core/defined.ts";
import type { Problem } from "../../core/problem.ts";
import { type Condition, type Node, toTime } from "../../kube/objects.ts";
import { nodeConditionsPatch, nodeConditionsRemovalPatch } from "../../kube/patches/node-patch.ts";
import type { NodeDeps, NodeEvent } from "../node-deps.ts";
import { cloudCondition } from "../well-known.ts";
import type { ProblemTracker } from "./problems.ts";
import type { NodeSettings } from "./settings.ts";

type NodeReporterOptions = Pick<NodeDeps, "writes" | "clock" | "report"> & {
  readonly settings: NodeSettings;
};

export class NodeReporter {
  readonly #options: NodeReporterOptions;
  readonly #problems: ProblemTracker;

  constructor(options: NodeReporterOptions, problems: ProblemTracker) {
    this.#options = options;
    this.#problems = problems;
  }

  reportNotices(node: Node, notices: readonly NodeEvent[]): void {
    for (const notice of this.#problems.newNotices(node.metadata.name, notices)) {
      this.#options.report(node, notice);
    }
  }

  reportProblems(node: Node, problems: readonly Problem[]): void {
    for (const problem of this.#problems.news(node.metadata.name, problems)) this.#report(node, problem);
  }

  /** Reports why the Node waits. Unlike a failure, waiting does not lead to the condition. */
  reportWait(node: Node, problem: Problem): void {
    this.#problems.note(node.metadata.name, problem);
    if (this.#problems.isNewFailure(node.metadata.name, problem)) this.#report(node, problem);
  }

  /** Returns how many attempts in a row have failed. `quiet`: one log line for all Nodes is written elsewhere. */
  reportFailure(node: Node, problem: Problem, quiet?: true): number {
    const { count } = this.#problems.add(node.metadata.name, problem);
    if (this.#problems.isNewFailure(node.metadata.name, problem)) this.#report(node, problem, quiet);
    return count;
  }

  #report(node: Node, { reason, text }: Problem, quiet?: true): void {
    this.#options.report(node, defined({ type: "Warning" as const, reason, message: text, quiet }));
  }

  /** Writes the condition if the Node's problem lasts long enough. */
  async writeCondition(node: Node, signal: AbortSignal): Promise<void> {
    const { writes, clock, settings } = this.#options;
    const nodeProblem = this.#problems.all.get(node.metadata.name);
    if (nodeProblem === undefined || nodeProblem.count < settings.failuresBeforeCondition) return;
    const present = cloudConditionOf(node);
    const condition = toCloudCondition(nodeProblem.problem, clock.now());
    if (present?.reason === condition.reason && present?.message === condition.message) return;
    const { reason, text } = nodeProblem.problem;
    const why = `the Node is not initialized (${reason}): ${text}`;
    await writes.patch(node, nodeConditionsPatch(node, [condition]), why, signal);
  }

  async clearProblem(node: Node, signal: AbortSignal): Promise<void> {
    this.#problems.clear(node.metadata.name);
    if (cloudConditionOf(node) === undefined) return;
    const removal = nodeConditionsRemovalPatch(node, [cloudCondition]);
    await this.#options.writes.patch(node, removal, "the problem is fixed", signal);
  }
}

/** The watch cache truncates longer messages, so they could not be compared with the Node's. */
const maxMessageLength = 256;

/**
 * Contains neither a retry time nor a counter, because every change would cause a write. The heartbeat is the time of this
 * write: without one, kubectl shows the year 1.
 */
export function toCloudCondition(
  { reason, text }: Problem,
  now: number,
): Condition & { readonly lastHeartbeatTime: string } {
  const time = toTime(now);
  return {
    type: cloudCondition,
    status: "False",
    reason,
    message: text.length > maxMessageLength ? `${text.slice(0, maxMessageLength - 1)}…` : text,
    lastTransitionTime: time,
    lastHeartbeatTime: time,
  };
}

export function cloudConditionOf(node: Node): Condition | undefined {
  return node.status.conditions?.find(({ type }) => type === cloudCondition);
}
