// Finds the machines of Nodes that wait for a route, by asking the inventory and nobody else: the table of routes is not
// listed for it. A machine the cloud does not show yet is asked for again after rests that grow.

import type { Inventory } from "../../cloud/inventory.ts";
import { minutes } from "../../core/brand.ts";
import type { Node } from "../../kube/objects.ts";
import { backoff, together } from "../../runtime/backoff.ts";
import { again, type Outcome, settled, waiting } from "../../runtime/workers.ts";
import type { Clock } from "../../seams/clock.ts";
import type { Random } from "../../seams/random.ts";
import { identityOf } from "../node-facts.ts";
import { Questions } from "../questions.ts";
import type { MachineAnswer } from "./plan-wanted.ts";
import type { RouteSettings } from "./settings.ts";

export interface MachineSearchOptions {
  readonly inventory: Inventory;
  readonly clock: Clock;
  readonly random: Random;
  readonly settings: RouteSettings;
  /** The machine of a Node that waited for it is known now. */
  readonly onFound: () => void;
  /** The cloud has said several times that there is none. */
  readonly onMissing: (node: Node) => void;
}

const attemptsBeforeEvent = 3;

export class MachineSearch {
  readonly #options: MachineSearchOptions;
  readonly #asked: Questions;
  readonly #attempts = new Map<string, number>();

  constructor(options: MachineSearchOptions) {
    this.#options = options;
    this.#asked = new Questions(options.inventory, options.clock);
  }

  /** What is known now, without asking. */
  machineOf(node: Node): MachineAnswer {
    const answer = this.#options.inventory.look(identityOf(node));
    if (answer.kind === "foreign") return { kind: "foreign" };
    if (answer.kind !== "exists") return { kind: "unknown" };
    const { key, handles } = answer.instance;
    return {
      kind: "found",
      machine: { source: answer.source, key, ...(handles !== undefined && { handles }) },
    };
  }

  /** Its key, by its provider id alone, in every source that knows such ids. */
  keysOf(node: Node): readonly string[] {
    const { providerID } = node.spec;
    if (providerID === undefined || providerID === "") return [];
    return this.#options.inventory.sources.flatMap(({ source }) => source.keyOf(providerID) ?? []);
  }

  isSearching(name: string): boolean {
    return this.#attempts.has(name);
  }

  begin(name: string): void {
    this.#attempts.set(name, 0);
  }

  /** Whose question the inventory is about to answer. */
  get waiting(): Iterable<string> {
    return this.#asked.keys;
  }

  end(name: string): void {
    this.#asked.forget(name);
    this.#attempts.delete(name);
  }

  /** One step of the search; throws what went wrong with the question. */
  look(node: Node): Outcome {
    const { inventory, clock, random, settings, onFound, onMissing } = this.#options;
    const { name } = node.metadata;
    const { kind } = this.machineOf(node);
    if (kind !== "unknown" || !this.isSearching(name)) {
      const isNews = kind === "found" && this.isSearching(name);
      this.end(name);
      if (isNews) onFound();
      return settled;
    }
    const answer = inventory.look(identityOf(node));
    if (!("asOf" in answer) || !this.#asked.isAnsweredBy(name, answer.asOf)) {
      this.#asked.ask(name, identityOf(node), { urgency: "new-node" }, minutes(1));
      return waiting;
    }
    this.#asked.forget(name);
    const attempts = (this.#attempts.get(name) ?? 0) + 1;
    this.#attempts.set(name, attempts);
    if (attempts === attemptsBeforeEvent) onMissing(node);
    const rest = backoff(attempts, settings.notVisibleRest, random);
    return again(together(clock.monotonic(), rest), "its machine to show up");
  }
}
