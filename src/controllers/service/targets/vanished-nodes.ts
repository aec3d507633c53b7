// Whether the Nodes of the API server can be all Nodes of this cluster. With the wrong kubeconfig, or beside an etcd that was restored,
// there are few or none, and no deletion of the others was seen: then load balancers keep their targets.

import type { Node } from "../../../kube/objects.ts";
import type { Change } from "../../../kube/watch/store.ts";
import { removalWindow } from "../../kernel/removal-history.ts";
import { isLeaving } from "../../node-facts.ts";
import type { ServiceHistoryDeps } from "../deps.ts";
import { isExcluded } from "./candidate-targets.ts";

type VanishedNodesDeps = Pick<ServiceHistoryDeps, "nodes" | "isSelected" | "clock">;

export class VanishedNodes {
  readonly #deps: VanishedNodesDeps;
  /** When each Node was missing from a list, although its deletion was not seen; monotonic, oldest first. */
  readonly #vanished = new Map<string, number>();
  /** More Nodes have vanished than are left. */
  #haveMostVanished = false;
  /** The Nodes that can be targets. */
  readonly #candidates = new Set<string>();
  /** The most candidates at once since the start, on a standby replica too: they explain the targets of load balancers. */
  #most = 0;

  /** Follows the Nodes for the life of the process. */
  constructor(deps: VanishedNodesDeps) {
    this.#deps = deps;
    deps.nodes.subscribe((change) => this.#note(change));
  }

  /** Whether a load balancer may lose this many targets. It keeps no more than there are Nodes, so this allows at most about half. */
  allowRemovalOf(targets: number): boolean {
    return targets === 0 || (!this.#haveMostVanished && targets <= this.#most);
  }

  /** An operator confirmed that these are all Nodes. */
  believe(): void {
    this.#vanished.clear();
    this.#haveMostVanished = false;
    this.#most = Number.POSITIVE_INFINITY;
  }

  #note({ key, before, after, isFromList }: Change<Node>): void {
    const { clock, nodes, isSelected } = this.#deps;
    const now = clock.monotonic();
    if (after !== undefined && isSelected(after) && !isExcluded(after)) this.#candidates.add(key);
    else this.#candidates.delete(key);
    this.#most = Math.max(this.#most, this.#candidates.size);
    this.#vanished.delete(key);
    if (before !== undefined && after === undefined && isFromList === true && !isLeaving(before)) {
      this.#vanished.set(key, now);
      if (this.#vanished.size > nodes.size) this.#haveMostVanished = true;
    }
    if (this.#vanished.size <= nodes.size) this.#haveMostVanished = false;
    if (this.#haveMostVanished) return;
    for (const [name, at] of this.#vanished) if (at < now - removalWindow) this.#vanished.delete(name);
  }
}
