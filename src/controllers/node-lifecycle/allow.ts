// How Nodes count for doubt. A Node is absent if the cloud shows no instance for it, unless its removal was announced.
// Ready Nodes count, because a listing that lacks many instances is wrong even if most of these Nodes are
// Ready. A listing without the machine of a Ready Node is incomplete, for example because the user lost permissions.

import type { Node } from "../../kube/objects.ts";
import type { Census, Counted, Standing } from "../kernel/doubt.ts";
import { isManagedBy, type NodeDeps } from "../node-deps.ts";
import { identityOf, isReady, outOfServiceOf } from "../node-facts.ts";
import { isPaused } from "../pause.ts";
import type { Candidates } from "./candidates.ts";
import type { LifecycleHistory } from "./history.ts";
import type { NodeEvidence } from "./observe.ts";
import { isConfirmed, isDeletionForbidden } from "./plan.ts";

type CensusDeps = Pick<NodeDeps, "nodes" | "inventory" | "isSelected">;

export class NodeCensus implements Census {
  readonly #deps: CensusDeps;
  readonly #candidates: Pick<Candidates, "evidenceOf">;
  readonly #history: LifecycleHistory;
  readonly #includesStopped: boolean;

  /** `includesStopped`: a stopped machine counts as absent, unless an administrator has decided about its Node. */
  constructor(
    deps: CensusDeps,
    candidates: Pick<Candidates, "evidenceOf">,
    history: LifecycleHistory,
    includesStopped = false,
  ) {
    this.#deps = deps;
    this.#candidates = candidates;
    this.#history = history;
    this.#includesStopped = includesStopped;
  }

  *keys(): Iterable<string> {
    for (const { metadata } of this.#deps.nodes.list()) yield metadata.name;
  }

  of(name: string): Counted | undefined {
    const node = this.#deps.nodes.get(name);
    const standing = node && this.#standingOf(node);
    return node && standing && { id: node.metadata.uid, standing };
  }

  #standingOf(node: Node): Standing | undefined {
    const isAbsent = this.#isAbsent(node);
    // No listing contains the instances of other accounts.
    if (!isAbsent && !(this.#includesStopped && this.#isStopped(node)))
      return isManagedBy(this.#deps, node) ? "present" : undefined;
    // An operator's decision ends the doubt.
    if (isConfirmed(node)) return "present";
    const isAnnounced = this.#history.isAnnounced(node, this.#evidenceOf(node));
    // This Node is not deleted, but may get the out-of-service taint.
    const isKept = isDeletionForbidden(node) && !this.#includesStopped;
    if (isAnnounced || isKept || isPaused(node)) return "announced";
    return isAbsent && isReady(node) && !this.#isReplaced(node) ? "contradicted" : "absent";
  }

  #isAbsent(node: Node): boolean {
    return this.#evidenceOf(node).proofs.length > 0 || (isManagedBy(this.#deps, node) && this.#isGone(node));
  }

  /** The kubelet runs on a different machine, and the Node still has the provider id of its predecessor. */
  #isReplaced(node: Node): boolean {
    const { providerID: _, ...others } = identityOf(node);
    return this.#deps.inventory.check(others).kind !== "gone";
  }

  #isStopped(node: Node): boolean {
    if (!isManagedBy(this.#deps, node) || outOfServiceOf(node) === "another client's") return false;
    const answer = this.#deps.inventory.check(identityOf(node));
    return answer.kind === "exists" && answer.instance.state === "stopped";
  }

  #evidenceOf({ metadata: { name } }: Node): NodeEvidence {
    return this.#candidates.evidenceOf(name);
  }

  #isGone(node: Node): boolean {
    const identity = identityOf(node);
    // The instance of a Node without a provider id may not be visible yet.
    return identity.providerID !== undefined && this.#deps.inventory.check(identity).kind === "gone";
  }
}
