// Decides whether the inventory's answer about a joining Node is fresh enough to act on, and requests a newer one if not.

import type { Answer } from "../../cloud/inventory.ts";
import { milliseconds } from "../../core/brand.ts";
import type { Node } from "../../kube/objects.ts";
import type { NodeDeps } from "../node-deps.ts";
import { identityOf, providerIDOf } from "../node-facts.ts";
import { PendingLookups } from "../pending-lookups.ts";
import type { NodeSettings } from "./settings.ts";
import { UsedNames } from "./used-names.ts";

type InstanceLookupOptions = Pick<NodeDeps, "nodes" | "inventory" | "clock"> & {
  readonly settings: Pick<NodeSettings, "maxObservationAge">;
};

export class InstanceLookup {
  readonly pending: PendingLookups;
  readonly #options: InstanceLookupOptions;
  readonly #usedNames: UsedNames;

  constructor(options: InstanceLookupOptions) {
    const { nodes, inventory, clock } = options;
    this.#options = options;
    this.pending = new PendingLookups(inventory, clock);
    this.#usedNames = new UsedNames(clock);
    this.#usedNames.follow(nodes, (name) => this.pending.forget(name));
  }

  /** An answer with the instance may be a minute old; any other must be newer than the lookup. */
  isFresh(node: Node, answer: Answer): boolean {
    const { settings, clock } = this.#options;
    if (!("asOf" in answer)) return answer.kind === "foreign";
    if (answer.kind === "exists") {
      if (answer.asOf < this.#countsFrom(node)) return false;
      if (clock.monotonic() - answer.asOf <= settings.maxObservationAge) return true;
    }
    return this.pending.isAnsweredBy(node.metadata.name, answer.asOf);
  }

  /** Requests an answer that is newer than this one. Throws the error with which the last request failed. */
  request(node: Node, answer: Answer): void {
    const { settings, clock } = this.#options;
    const { name } = node.metadata;
    // The answer was fresh when it arrived, but became too old while the Node waited in the queue.
    if (answer.kind === "exists" && this.pending.isUsedUpBy(name, answer.asOf)) this.pending.forget(name);
    const maxAge = Math.min(settings.maxObservationAge, clock.monotonic() - this.#countsFrom(node));
    this.pending.ask(name, identityOf(node), { urgency: "new-node" }, milliseconds(maxAge));
  }

  forget(name: string): void {
    this.pending.forget(name);
  }

  /** A Node that is identified by its name may have had a predecessor with another instance. */
  #countsFrom(node: Node): number {
    return providerIDOf(node) === undefined
      ? this.#usedNames.countsFrom(node.metadata.name)
      : Number.NEGATIVE_INFINITY;
  }
}
