// Finds the machines of Nodes that wait for a route, by asking the inventory and nobody else: the table of routes is not
// listed for it. A machine the cloud does not show yet is asked for again after rests that grow.

import { minutes } from "../../../core/brand.ts";
import type { Node } from "../../../kube/objects.ts";
import { backoff, together } from "../../../runtime/backoff.ts";
import { again, type Outcome, settled, waiting } from "../../../runtime/workers.ts";
import { identityOf, isPaused } from "../../node-facts.ts";
import { Questions } from "../../pending-lookups.ts";
import { describeMissingMachine } from "../status/describe-failure.ts";
import type { Wanted } from "./plan-desired.ts";
import type { RouteControllerOptions } from "../deps.ts";

export interface MachineSearchOptions
  extends Pick<
    RouteControllerOptions,
    "nodes" | "isSelected" | "inventory" | "clock" | "random" | "settings" | "tell"
  > {
  /** The machine of this Node is to be looked for. */
  readonly wake: (name: string) => void;
  /** The machine of a Node that waited for it is known now. */
  readonly onFound: () => void;
}

const attemptsBeforeEvent = 3;

export class MachineSearch {
  readonly #options: MachineSearchOptions;
  readonly #questions: Questions;
  readonly #attempts = new Map<string, number>();

  constructor(options: MachineSearchOptions) {
    this.#options = options;
    this.#questions = new Questions(options.inventory, options.clock);
  }

  /** Those that wait for their machine are looked for from now on, those that have it no more. */
  follow({ routes, waiting: nodes }: Wanted): void {
    for (const { target } of routes) this.#end(target.node);
    for (const { metadata } of nodes) {
      if (this.#attempts.has(metadata.name)) continue;
      this.#attempts.set(metadata.name, 0);
      this.#options.wake(metadata.name);
    }
  }

  /** The inventory knows something new. */
  onNews(): void {
    for (const name of this.#questions.keys) this.#options.wake(name);
  }

  /** One step of the search; throws what went wrong with the question. */
  look(name: string): Outcome {
    const { nodes, inventory, isSelected, onFound } = this.#options;
    const node = nodes.get(name);
    if (node === undefined || isPaused(node) || !isSelected(node) || !this.#attempts.has(name)) {
      this.#end(name);
      return settled;
    }
    const answer = inventory.look(identityOf(node));
    if (answer.kind === "exists" || answer.kind === "foreign") {
      this.#end(name);
      if (answer.kind === "exists") onFound();
      return settled;
    }
    if (!("asOf" in answer) || !this.#questions.isAnsweredBy(name, answer.asOf)) {
      this.#questions.ask(name, identityOf(node), { urgency: "new-node" }, minutes(1));
      return waiting;
    }
    this.#questions.forget(name);
    return this.#notShown(node);
  }

  #notShown(node: Node): Outcome {
    const { clock, random, settings, tell } = this.#options;
    const { name } = node.metadata;
    const attempts = (this.#attempts.get(name) ?? 0) + 1;
    this.#attempts.set(name, attempts);
    if (attempts === attemptsBeforeEvent) tell(node, describeMissingMachine(name));
    const rest = backoff(attempts, settings.notVisibleRest, random);
    return again(together(clock.monotonic(), rest), "its machine to show up");
  }

  #end(name: string): void {
    this.#questions.forget(name);
    this.#attempts.delete(name);
  }
}
