// Counts what the mass limit compares: how many Nodes have no instance now, and how many were deleted recently.

import type { Node } from "../../kube/objects.ts";
import type { NodeDeps } from "../node-deps.ts";
import { identityOf, isReady } from "../node-facts.ts";
import type { Candidates } from "./candidates.ts";
import { type MassDecision, massLimit, RecentDeletions } from "./mass-limit.ts";
import { isAnnouncedAsLeaving, isKept } from "./plan.ts";
import type { LifecycleSettings } from "./settings.ts";

type MassCountOptions = Pick<NodeDeps, "nodes" | "inventory" | "clock"> & {
  readonly settings: LifecycleSettings;
};

interface Count {
  readonly managed: number;
  readonly missing: ReadonlySet<string>;
  readonly at: number;
}

const maxCountAge = 1000;

export class MassCount {
  readonly #options: MassCountOptions;
  readonly #candidates: Candidates;
  /** Instances of Nodes of other accounts are in none of our listings, so those Nodes do not count. */
  readonly #isManaged: (node: Node) => boolean;
  readonly #deletions = new RecentDeletions();
  #count: Count | undefined;

  constructor(options: MassCountOptions, candidates: Candidates, isManaged: (node: Node) => boolean) {
    this.#options = options;
    this.#candidates = candidates;
    this.#isManaged = isManaged;
  }

  /** Follows the Nodes for the life of the process: deletions count no matter what made them. */
  follow(): void {
    this.#options.nodes.subscribe(({ before, after }) => {
      if (before === undefined || before.metadata.uid === after?.metadata.uid || isReady(before)) return;
      if (this.#isManaged(before) && !this.#isAnnounced(before)) this.addDeletion(before.metadata.uid);
    });
  }

  /** Records the deletion of a Node that was not announced as leaving. */
  addDeletion(uid: string): void {
    this.#deletions.add(this.#options.clock.monotonic(), uid);
  }

  /** The inventory has new answers: the Nodes are counted again at the next decision. */
  invalidate(): void {
    this.#count = undefined;
  }

  decide(): MassDecision {
    const { nodes, clock, settings } = this.#options;
    const now = clock.monotonic();
    if (this.#count === undefined || now - this.#count.at > maxCountAge) this.#count = this.#countNodes(now);
    const missing = new Set(this.#count.missing);
    for (const [name, { evidence }] of this.#candidates.all) {
      if (evidence !== undefined && evidence.proofs.length > 0) missing.add(name);
    }
    let candidates = 0;
    for (const name of missing) {
      const node = nodes.get(name);
      if (node !== undefined && !isKept(node) && !this.#isAnnounced(node)) candidates += 1;
    }
    const window = settings.massLimit === "off" ? 0 : settings.massLimit.window;
    const recent = this.#deletions.within(window, now);
    return massLimit({ recent, candidates, managed: this.#count.managed + recent }, settings.massLimit);
  }

  #isAnnounced(node: Node): boolean {
    return isAnnouncedAsLeaving(node, this.#candidates.evidenceOf(node.metadata.name));
  }

  /** Ready Nodes are included: a listing that misses many instances is wrong, even if most of these Nodes are Ready. */
  #countNodes(now: number): Count {
    const { nodes, inventory } = this.#options;
    const missing = new Set<string>();
    let managed = 0;
    for (const node of nodes.list()) {
      if (!this.#isManaged(node)) continue;
      const identity = identityOf(node);
      managed += 1;
      // The instance of a Node without provider id may not be visible yet.
      if (identity.providerID === undefined) continue;
      if (inventory.check(identity).kind === "gone") missing.add(node.metadata.name);
    }
    return { managed, missing, at: now };
  }
}
