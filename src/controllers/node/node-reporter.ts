// What is said on a Node: each problem once while it stays true, as an event; what goes on for several attempts as a
// condition, for those who look at it later, until nothing is wrong any more.

import type { Problem } from "../../core/problem.ts";
import type { Node } from "../../kube/objects.ts";
import { nodeConditionsPatch, nodeConditionsRemovalPatch } from "../../kube/patches/node-patch.ts";
import type { NodeDeps } from "../node-deps.ts";
import { cloudCondition } from "../well-known.ts";
import { conditionOf, problemCondition } from "./problem-condition.ts";
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

  problems(node: Node, problems: readonly Problem[]): void {
    for (const { reason, text } of this.#problems.news(node.metadata.name, problems)) {
      this.#options.report(node, { type: "Warning", reason, message: text });
    }
  }

  /** An attempt has failed; says how many in a row did. */
  nodeProblem(node: Node, problem: Problem): number {
    const { count } = this.#problems.add(node.metadata.name, problem);
    this.problems(node, [problem]);
    return count;
  }

  async showLasting(node: Node, signal: AbortSignal): Promise<void> {
    const { writes, clock, settings } = this.#options;
    const nodeProblem = this.#problems.all.get(node.metadata.name);
    if (nodeProblem === undefined || nodeProblem.count < settings.failuresBeforeCondition) return;
    const shown = conditionOf(node);
    const condition = problemCondition(nodeProblem.problem, clock.now());
    if (shown?.reason === condition.reason && shown?.message === condition.message) return;
    await writes.patch(node, nodeConditionsPatch(node, [condition]), nodeProblem.problem.reason, signal);
  }

  async allIsFine(node: Node, signal: AbortSignal): Promise<void> {
    this.#problems.clear(node.metadata.name);
    if (conditionOf(node) === undefined) return;
    const removal = nodeConditionsRemovalPatch(node, [cloudCondition]);
    await this.#options.writes.patch(node, removal, "nothing is wrong any more", signal);
  }
}
