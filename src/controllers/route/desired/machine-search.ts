// Finds the machines of Nodes that wait for a route, by asking the inventory and nobody else: the table of routes is not
// listed for it. A machine the cloud does not show yet is asked for again after rests that grow.

import { minutes } from "../../../core/brand.ts";
import type { Node } from "../../../kube/objects.ts";
import { alignToGrid, backoff } from "../../../runtime/backoff.ts";
import { type Outcome, requeue, settled, waiting } from "../../../runtime/workers.ts";
import { identityOf, isPaused } from "../../node-facts.ts";
import { PendingLookups } from "../../pending-lookups.ts";
import type { RouteControllerOptions } from "../deps.ts";
import { describeMissingMachine } from "../status/describe-failure.ts";
import type { Wanted } from "./plan-desired.ts";

export interface MachineSearchOptions
  extends Pick<
    RouteControllerOptions,
    "nodes" | "isSelected" | "inventory" | "clock" | "random" | "settings" | "report"
  > {
  /** The machine of this Node is to be looked for. */
  readonly enqueue: (name: string) => void;
  /** The machine of a Node that waited for it is known now. */
  readonly onFound: () => void;
}

const attemptsBeforeEvent = 3;

export class MachineSearch {
  readonly #options: MachineSearchOptions;
  readonly #pending: PendingLookups;
  readonly #attempts = new Map<string, number>();

  constructor(options: MachineSearchOptions) {
    this.#options = options;
    this.#pending = new PendingLookups(options.inventory, options.clock);
  }

  /** Those that wait for their machine are looked for from now on, those that have it no more. */
  follow({ routes, waiting: nodes }: Wanted): void {
    for (const { target } of routes) this.#end(target.node);
    for (const { metadata } of nodes) {
      if (this.#attempts.has(metadata.name)) continue;
      this.#attempts.set(metadata.name, 0);
      this.#options.enqueue(metadata.name);
    }
  }

  /** The inventory knows something new. */
  onNews(): void {
    for (const name of this.#pending.keys) this.#options.enqueue(name);
  }

  /** One step of the search; throws what went wrong with the question. */
  check(name: string): Outcome {
    const { nodes, inventory, isSelected, onFound } = this.#options;
    const node = nodes.get(name);
    if (node === undefined || isPaused(node) || !isSelected(node) || !this.#attempts.has(name)) {
      this.#end(name);
      return settled;
    }
    const answer = inventory.check(identityOf(node));
    if (answer.kind === "exists" || answer.kind === "foreign") {
      this.#end(name);
      if (answer.kind === "exists") onFound();
      return settled;
    }
    if (!("asOf" in answer) || !this.#pending.isAnsweredBy(name, answer.asOf)) {
      this.#pending.ask(name, identityOf(node), { urgency: "new-node" }, minutes(1));
      return waiting;
    }
    this.#pending.forget(name);
    return this.#notShown(node);
  }

  #notShown(node: Node): Outcome {
    const { clock, random, settings, report } = this.#options;
    const { name } = node.metadata;
    const attempts = (this.#attempts.get(name) ?? 0) + 1;
    this.#attempts.set(name, attempts);
    if (attempts === attemptsBeforeEvent) report(node, describeMissingMachine(name));
    const rest = backoff(attempts, settings.notVisibleBackoff, random);
    return requeue(alignToGrid(clock.monotonic(), rest), "its machine to show up");
  }

  #end(name: string): void {
    this.#pending.forget(name);
    this.#attempts.delete(name);
  }
}
