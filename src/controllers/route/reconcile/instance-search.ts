// Looks up the instances of Nodes that wait for a route, without listing the route table. Lookups of instances
// that the cloud does not return yet are repeated with increasing delays.

import { minutes, seconds } from "../../../core/brand.ts";
import type { Node } from "../../../kube/objects.ts";
import { alignToGrid, backoff } from "../../../runtime/backoff.ts";
import { type Outcome, requeue, settled, waiting } from "../../../runtime/workers.ts";
import { hadRoutes, identityOf } from "../../node-facts.ts";
import { PendingLookups } from "../../pending-lookups.ts";
import type { RouteControllerOptions } from "../deps.ts";
import { type DesiredRoutes, isLeftAlone } from "../desired/plan-desired.ts";
import type { NodeProblems } from "../status/route-reporter.ts";
import { instanceNotVisible } from "../texts.ts";

const attemptsBeforeEvent = 3;

/** The delays between lookups of an instance that is not visible yet. */
const notVisibleBackoff = { first: seconds(5), cap: minutes(5) };

export class InstanceSearch {
  readonly #options: RouteControllerOptions;
  readonly #nodeProblems: NodeProblems;
  /** Called with every Node whose instance must be looked up. */
  readonly #enqueue: (name: string) => void;
  /** Called when the instance of a waiting Node is known. */
  readonly #onFound: () => void;
  readonly #pendingLookups: PendingLookups;
  readonly #attempts = new Map<string, number>();

  constructor(
    options: RouteControllerOptions,
    nodeProblems: NodeProblems,
    enqueue: (name: string) => void,
    onFound: () => void,
  ) {
    this.#options = options;
    this.#nodeProblems = nodeProblems;
    this.#enqueue = enqueue;
    this.#onFound = onFound;
    this.#pendingLookups = new PendingLookups(options.inventory, options.clock);
  }

  /** Starts the search for Nodes that wait for their instance, and ends it for Nodes whose instance is known. */
  follow({ routes, waiting: nodes }: DesiredRoutes): void {
    for (const { target } of routes) this.#forget(target.node);
    for (const { metadata } of nodes) {
      if (this.#attempts.has(metadata.name)) continue;
      this.#attempts.set(metadata.name, 0);
      this.#enqueue(metadata.name);
    }
  }

  /** Handles the answer of a pending lookup, or an instance that another request has found. */
  onInventoryNews(): void {
    const { nodes, inventory } = this.#options;
    for (const name of this.#attempts.keys()) {
      const node = nodes.get(name);
      const isFound = node !== undefined && inventory.check(identityOf(node)).kind === "exists";
      if (isFound || this.#pendingLookups.has(name)) this.#enqueue(name);
    }
  }

  /** Performs one step of the search. Throws a failed lookup's error. */
  check(name: string): Outcome {
    const { nodes, inventory, isSelected } = this.#options;
    const node = nodes.get(name);
    if (node === undefined || isLeftAlone(node, isSelected) || !this.#attempts.has(name)) {
      this.#forget(name);
      return settled;
    }
    const answer = inventory.check(identityOf(node));
    if (answer.kind === "exists" || answer.kind === "foreign") {
      this.#forget(name);
      if (answer.kind === "exists") this.#onFound();
      return settled;
    }
    const isUnanswered = !("asOf" in answer) || answer.kind === "unconfirmed";
    if (isUnanswered || !this.#pendingLookups.isAnsweredBy(name, answer.asOf)) {
      this.#pendingLookups.ask(name, identityOf(node), { urgency: "new-node" }, minutes(1));
      return waiting;
    }
    this.#pendingLookups.forget(name);
    return this.#retryLater(node);
  }

  #retryLater(node: Node): Outcome {
    const { clock, random } = this.#options;
    const { name } = node.metadata;
    const attempts = (this.#attempts.get(name) ?? 0) + 1;
    this.#attempts.set(name, attempts);
    // An existing Node with routes keeps them.
    if (attempts === attemptsBeforeEvent && !hadRoutes(node))
      this.#nodeProblems.reportInstance(node, instanceNotVisible(name));
    const delay = backoff(attempts, notVisibleBackoff, random);
    return requeue(alignToGrid(clock.monotonic(), delay), "the instance is not visible yet");
  }

  #forget(name: string): void {
    const node = this.#options.nodes.get(name);
    if (node !== undefined) this.#nodeProblems.reportInstance(node);
    this.#pendingLookups.forget(name);
    this.#attempts.delete(name);
  }
}
