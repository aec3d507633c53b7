// What is said on a Node: each problem once while it stays true, as an event; what goes on for several attempts as a
// condition, for those who look at it later, until nothing is wrong any more.

import type { Problem } from "../../core/problem.ts";
import { nodeConditionsPatch, nodeConditionsRemovalPatch } from "../../kube/patches/node-patch.ts";
import type { Node } from "../../kube/objects.ts";
import type { NodePorts } from "../node-deps.ts";
import { cloudCondition } from "../well-known.ts";
import type { NodeSettings } from "./settings.ts";
import { conditionOf, troubleCondition } from "./problem-condition.ts";
import type { Troubles } from "./problems.ts";

type NodeTellerOptions = Pick<NodePorts, "writes" | "clock" | "tell"> & { readonly settings: NodeSettings };

export class NodeTeller {
  readonly #options: NodeTellerOptions;
  readonly #troubles: Troubles;

  constructor(options: NodeTellerOptions, troubles: Troubles) {
    this.#options = options;
    this.#troubles = troubles;
  }

  problems(node: Node, problems: readonly Problem[]): void {
    for (const { reason, text } of this.#troubles.news(node.metadata.name, problems)) {
      this.#options.tell(node, { type: "Warning", reason, message: text });
    }
  }

  /** An attempt has failed; says how many in a row did. */
  trouble(node: Node, problem: Problem): number {
    const { count } = this.#troubles.add(node.metadata.name, problem);
    this.problems(node, [problem]);
    return count;
  }

  async showLasting(node: Node, signal: AbortSignal): Promise<void> {
    const { writes, clock, settings } = this.#options;
    const trouble = this.#troubles.all.get(node.metadata.name);
    if (trouble === undefined || trouble.count < settings.failuresBeforeCondition) return;
    const shown = conditionOf(node);
    const condition = troubleCondition(trouble.problem, clock.now());
    if (shown?.reason === condition.reason && shown?.message === condition.message) return;
    await writes.patch(node, nodeConditionsPatch(node, [condition]), trouble.problem.reason, signal);
  }

  async allIsFine(node: Node, signal: AbortSignal): Promise<void> {
    this.#troubles.clear(node.metadata.name);
    if (conditionOf(node) === undefined) return;
    const removal = nodeConditionsRemovalPatch(node, [cloudCondition]);
    await this.#options.writes.patch(node, removal, "nothing is wrong any more", signal);
  }
}
