// Whether the Nodes in the API server can be all Nodes of this cluster. With an incorrect kubeconfig, or after a restore of etcd,
// few or no Nodes exist, and no deletion of the missing Nodes was seen. Load balancers then keep their targets.

import type { Node } from "../../../kube/objects.ts";
import type { Change } from "../../../kube/watch/store.ts";
import { removalWindow } from "../../kernel/removal-kinds.ts";
import { decideHold, type HoldState } from "../../kernel/removal-limit.ts";
import { isLeaving } from "../../node-facts.ts";
import type { ServiceHistoryDeps } from "../deps.ts";
import { isExcluded } from "./candidate-targets.ts";

type VanishedNodesDeps = Pick<ServiceHistoryDeps, "nodes" | "isSelected" | "clock" | "removalLimit">;

export class VanishedNodes {
  readonly #deps: VanishedNodesDeps;
  /** When each Node was missing from a list without a seen deletion (monotonic), oldest first. */
  readonly #vanished = new Map<string, number>();
  /** The Nodes that can be targets. */
  readonly #candidates = new Set<string>();
  /** The maximum number of candidates since the start, even on a standby replica: they explain the targets of load balancers. */
  #most = 0;
  /** The number of candidates before the first of these Nodes vanished. */
  #total = 0;
  #hold: HoldState = {};

  /** Follows the Nodes for the life of the process. */
  constructor(deps: VanishedNodesDeps) {
    this.#deps = deps;
    deps.nodes.subscribe((change) => this.#note(change));
  }

  /**
   * Whether a load balancer may lose this many targets. At most as many as there are Nodes are kept, so this allows a loss of
   * about half.
   */
  allowRemovalOf(targets: number): boolean {
    const isOff = this.#deps.removalLimit() === "off";
    return targets === 0 || isOff || (!this.#isHeld() && targets <= this.#most);
  }

  /** An operator confirmed that these are all Nodes. */
  believe(): void {
    this.#vanished.clear();
    this.#most = Number.POSITIVE_INFINITY;
  }

  #isHeld(): boolean {
    const { clock, removalLimit } = this.#deps;
    const now = clock.monotonic();
    const isHolding = this.#hold.totalAtStart !== undefined;
    for (const [name, at] of this.#vanished)
      if (!isHolding && at < now - removalWindow) this.#vanished.delete(name);
    const [total, vanished] = [this.#total, this.#vanished.size];
    const counts = { total, vanished, absent: 0, recent: 0, most: Math.floor(total / 2) };
    const { isHeld, state } = decideHold(counts, removalLimit(), this.#hold, now);
    this.#hold = state;
    return isHeld;
  }

  #note({ key, before, after, isFromList }: Change<Node>): void {
    const { isSelected, clock } = this.#deps;
    const isCandidate = (node: Node | undefined): boolean =>
      node !== undefined && isSelected(node) && !isExcluded(node);
    const { size } = this.#candidates;
    if (isCandidate(after)) this.#candidates.add(key);
    else this.#candidates.delete(key);
    this.#most = Math.max(this.#most, this.#candidates.size);
    this.#vanished.delete(key);
    const isUnseen = before !== undefined && after === undefined && isFromList === true && !isLeaving(before);
    if (!isUnseen || !isCandidate(before)) return;
    if (this.#vanished.size === 0) this.#total = size;
    this.#vanished.set(key, clock.monotonic());
    // Starts the hold now, whenever a load balancer is planned.
    this.#isHeld();
  }
}
