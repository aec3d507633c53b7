// Counts what the mass limit of Nodes compares during a leadership session: how many have no instance now, and how many were deleted
// recently. Unannounced deletions count together with Nodes that are about to be deleted.

import type { Node } from "../../kube/objects.ts";
import { type LimitedCounts, MassLimit, type Share, Tally } from "../kernel/mass-limit.ts";
import type { RemovalHistory } from "../kernel/removal-history.ts";
import { isManagedBy, type NodeDeps } from "../node-deps.ts";
import { identityOf } from "../node-facts.ts";
import type { Candidates } from "./candidates.ts";
import { massDeletionHeld } from "./events.ts";
import type { NodeEvidence } from "./evidence.ts";
import type { LifecycleHistory } from "./history.ts";
import { isConfirmed, isDeletionForbidden, type MassDecision } from "./plan.ts";
import type { LifecycleSettings } from "./settings.ts";

type MassCountOptions = Pick<NodeDeps, "nodes" | "inventory" | "clock" | "note" | "isSelected"> & {
  readonly removals: RemovalHistory;
  readonly settings: LifecycleSettings;
};

/**
 * `recorded`: in the history of removals, but not deleted yet. `doubted`: the hold counted it, and it is exempt only since: that says
 * nothing about the cloud.
 */
type Counted = "managed" | "missing" | "doubted" | "recorded";

export class MassCount {
  readonly #options: MassCountOptions;
  readonly #candidates: Candidates;
  readonly #history: LifecycleHistory;
  readonly #tally: Tally<Counted>;
  readonly #limit: MassLimit;
  /** The uids of Nodes that the present hold has counted. */
  readonly #heldUids = new Set<string>();

  constructor(options: MassCountOptions, candidates: Candidates, history: LifecycleHistory) {
    const { settings, removals, clock, nodes } = options;
    this.#options = options;
    this.#tally = new Tally<Counted>({
      clock,
      zero: { managed: 0, missing: 0, doubted: 0, recorded: 0 },
      keys: () => nodes.list().map(({ metadata }) => metadata.name),
      shareOf: (name) => {
        const node = nodes.get(name);
        return node && this.#shareOf(node);
      },
    });
    this.#limit = new MassLimit({ kind: "nodes", settings, removals, clock, memory: history.limit });
    this.#candidates = candidates;
    this.#history = history;
  }

  /** Follows the Nodes and what is known about them. Returns how to stop. */
  follow(): () => void {
    this.#candidates.subscribe((name) => this.noteChange(name));
    const stopNodes = this.#options.nodes.subscribe(({ key }) => this.noteChange(key));
    const stopJudging = this.#history.judgeBy(
      (node) => this.#history.countsDeletion(node, this.#evidenceOf(node)) || this.#isInHold(node),
    );
    return () => {
      stopNodes();
      stopJudging();
    };
  }

  /** All Nodes are counted again at the next decision. */
  invalidate(): void {
    this.#tally.invalidate();
  }

  /** After a listing: notes the end of a hold even if no Node asks. */
  refresh(): void {
    this.invalidate();
    if (this.#limit.isHolding) this.decide();
  }

  /** The Node, or what is known about its instance, may have changed. */
  noteChange(name: string): void {
    this.#tally.noteChange(name);
  }

  get counts(): LimitedCounts {
    const { managed, missing, doubted, recorded } = this.#tally.sums;
    const recent = this.#options.removals.count("nodes");
    // Those that are exempt by now are no reason for a hold if no other Node is missing.
    const affected = missing === 0 ? 0 : missing + doubted;
    return { recent, affected, total: managed + recent - recorded };
  }

  /** `isProved`: the proof of absence is complete. */
  decide(isProved = true): MassDecision {
    const { removals, note } = this.#options;
    const wasHolding = this.isHolding;
    const { counts } = this;
    const { isHeld, restartedAt, ...limit } = this.#limit.decide(counts);
    if (this.isHolding !== wasHolding) this.invalidate();
    if (wasHolding && !this.isHolding) {
      this.#heldUids.clear();
      note("The mass limit no longer holds Nodes", {});
    }
    const isEarly = limit.doubt === "unanswered" && !isProved;
    if (!isHeld || isEarly) return { mayDelete: true, restartedAt };
    return { mayDelete: false, event: massDeletionHeld(counts, limit, removals.howToRelease("nodes")) };
  }

  /** Stores that the Node is about to be deleted, before it is: the next leader must count it too. */
  async record(node: Node): Promise<"recorded" | "decide again"> {
    const recorded = this.#limit.record([node.metadata.uid]);
    // It counts as deleted at once. A decision during the write must not count it as missing too, which could be a hold.
    this.noteChange(node.metadata.name);
    return await recorded;
  }

  /** Whether the last decision was a hold. */
  get isHolding(): boolean {
    return this.#limit.isHolding;
  }

  /** Ready Nodes are included: a listing that misses many instances is wrong, even if most of these Nodes are Ready. */
  #shareOf(node: Node): Share<Counted> {
    const isManaged = this.#isManaged(node);
    // A recorded Node counts as deleted, not as a candidate as well.
    const isRecorded = this.#options.removals.has("nodes", node.metadata.uid);
    const isExempt = isDeletionForbidden(node) || this.#history.isAnnounced(node, this.#evidenceOf(node));
    const isMissing = !isRecorded && !isExempt && this.#isAbsent(node);
    if (isMissing && this.isHolding) this.#heldUids.add(node.metadata.uid);
    return {
      managed: Number(isManaged),
      missing: Number(isMissing),
      doubted: Number(!isRecorded && isExempt && this.#isInHold(node)),
      recorded: Number(isManaged && isRecorded),
    };
  }

  /** The present hold has counted the Node, and its instance is still absent. What an operator decided is no longer in doubt. */
  #isInHold(node: Node): boolean {
    const { uid } = node.metadata;
    const isDecided = this.#options.removals.isReleased("nodes", uid) || isConfirmed(node);
    return this.#heldUids.has(uid) && !isDecided && this.#isAbsent(node);
  }

  #isAbsent(node: Node): boolean {
    return this.#evidenceOf(node).proofs.length > 0 || (this.#isManaged(node) && this.#isGone(node));
  }

  /** No listing contains the instances of other accounts, so their Nodes do not count. */
  #isManaged(node: Node): boolean {
    return isManagedBy(this.#options, node);
  }

  #evidenceOf({ metadata: { name } }: Node): NodeEvidence {
    return this.#candidates.evidenceOf(name);
  }

  #isGone(node: Node): boolean {
    const identity = identityOf(node);
    // The instance of a Node without provider id may not be visible yet.
    return identity.providerID !== undefined && this.#options.inventory.check(identity).kind === "gone";
  }
}
