// Counts what the mass limit of Nodes compares: how many have no instance now, and how many were deleted recently. Unannounced
// deletions count together with Nodes that are about to be deleted.

import type { Node } from "../../kube/objects.ts";
import { MassLimit } from "../absence/mass-limit.ts";
import type { RemovalHistory } from "../absence/removal-history.ts";
import type { NodeDeps } from "../node-deps.ts";
import { identityOf, isReady } from "../node-facts.ts";
import type { Candidates } from "./candidates.ts";
import { massDeletionHeld } from "./events.ts";
import { isAnnouncedAsLeaving, isDeletionForbidden, type MassDecision } from "./plan.ts";
import type { LifecycleSettings } from "./settings.ts";

type MassCountOptions = Pick<NodeDeps, "nodes" | "inventory" | "clock" | "note"> & {
  readonly removals: RemovalHistory;
  readonly settings: LifecycleSettings;
};

/** What one Node adds to the count. */
interface Share {
  readonly isManaged: boolean;
  readonly isMissing: boolean;
  /** In the history of removals, but not deleted yet. */
  readonly isRecorded: boolean;
}

const maxCountAge = 1000;

/**
 * A decision costs as much as what has changed since the last one, because during a hold every Node without an
 * instance needs a decision. All Nodes are counted again after a listing, and for a decision on a count that is
 * older than a second.
 */
export class MassCount {
  readonly #options: MassCountOptions;
  readonly #candidates: Candidates;
  /** No listing contains the instances of other accounts, so their Nodes do not count. */
  readonly #isManaged: (node: Node) => boolean;
  readonly #shares = new Map<string, Share>();
  #managed = 0;
  #missing = 0;
  #recorded = 0;
  /** Nodes to count again at the next decision. */
  readonly #changed = new Set<string>();
  /** When all Nodes were counted; undefined when they must be counted again. */
  #countedAt: number | undefined;
  readonly #limit: MassLimit;

  constructor(options: MassCountOptions, candidates: Candidates, isManaged: (node: Node) => boolean) {
    const { settings, removals, clock } = options;
    this.#options = options;
    this.#limit = new MassLimit({ kind: "nodes", settings, removals, clock });
    this.#candidates = candidates;
    this.#isManaged = isManaged;
  }

  /** Follows the Nodes for the life of the process: deletions by any client count. */
  follow(): void {
    this.#candidates.subscribe((name) => this.noteChange(name));
    const { nodes, removals } = this.#options;
    nodes.subscribe(({ key, before, after }) => {
      if (after !== undefined && isReady(after)) removals.endRelease("nodes", after.metadata.uid);
      this.noteChange(key);
      if (before === undefined || before.metadata.uid === after?.metadata.uid) return;
      const { uid } = before.metadata;
      removals.endHold("nodes", uid);
      if (isReady(before) || !this.#isManaged(before) || this.#isAnnounced(before)) return;
      removals.note("nodes", [uid]);
    });
  }

  /** Another replica may have led since. */
  begin(): void {
    this.#limit.begin();
  }

  /** The inventory has a new listing: all Nodes are counted again at the next decision. */
  invalidate(): void {
    this.#countedAt = undefined;
    this.#changed.clear();
  }

  /** After a listing: notes the end of a hold even if no Node asks. */
  refresh(): void {
    this.invalidate();
    if (this.#limit.isHolding) this.decide();
  }

  /** The Node, or what is known about its instance, may have changed. */
  noteChange(name: string): void {
    if (this.#options.nodes.get(name) === undefined) {
      this.#changed.delete(name);
      this.#count(name);
    } else if (this.#countedAt === undefined) {
      return;
    } else if (this.#isOutdated(this.#countedAt)) {
      this.invalidate();
    } else {
      this.#changed.add(name);
    }
  }

  decide(): MassDecision {
    const { clock, removals, note } = this.#options;
    const now = clock.monotonic();
    const wasHolding = this.isHolding;
    if (this.#countedAt === undefined || this.#isOutdated(this.#countedAt)) this.#countAll(now);
    for (const name of this.#changed) this.#count(name);
    this.#changed.clear();
    const recent = removals.count("nodes");
    const counts = { recent, affected: this.#missing, total: this.#managed + recent - this.#recorded };
    const { isHeld, allowed, state } = this.#limit.decide(counts);
    if (wasHolding && !this.isHolding) note("The mass limit no longer holds Nodes", {});
    if (!isHeld) return { mayDelete: true, restartedAt: state.endedAt };
    return { mayDelete: false, event: massDeletionHeld(counts, allowed, removals.howToRelease("nodes")) };
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

  #isOutdated(countedAt: number): boolean {
    return this.#options.clock.monotonic() - countedAt > maxCountAge;
  }

  #countAll(now: number): void {
    this.#shares.clear();
    this.#managed = 0;
    this.#missing = 0;
    this.#recorded = 0;
    for (const { metadata } of this.#options.nodes.list()) this.#count(metadata.name);
    this.#changed.clear();
    this.#countedAt = now;
  }

  #count(name: string): void {
    const before = this.#shares.get(name);
    const node = this.#options.nodes.get(name);
    const after = node && this.#shareOf(node);
    if (after === undefined) this.#shares.delete(name);
    else this.#shares.set(name, after);
    this.#managed += Number(after?.isManaged ?? false) - Number(before?.isManaged ?? false);
    this.#missing += Number(after?.isMissing ?? false) - Number(before?.isMissing ?? false);
    this.#recorded += Number(after?.isRecorded ?? false) - Number(before?.isRecorded ?? false);
  }

  /** Ready Nodes are included: a listing that misses many instances is wrong, even if most of these Nodes are Ready. */
  #shareOf(node: Node): Share {
    const isManaged = this.#isManaged(node);
    const isExempt = isDeletionForbidden(node) || this.#isAnnounced(node);
    const isAbsent = !isExempt && (this.#hasProof(node) || (isManaged && this.#isGone(node)));
    const isRecorded = this.#options.removals.has("nodes", node.metadata.uid);
    // A recorded Node counts as deleted, not as a candidate as well.
    return { isManaged, isMissing: isAbsent && !isRecorded, isRecorded: isManaged && isRecorded };
  }

  #hasProof({ metadata: { name } }: Node): boolean {
    return this.#candidates.evidenceOf(name).proofs.length > 0;
  }

  #isGone(node: Node): boolean {
    const identity = identityOf(node);
    // The instance of a Node without provider id may not be visible yet.
    return identity.providerID !== undefined && this.#options.inventory.check(identity).kind === "gone";
  }

  #isAnnounced(node: Node): boolean {
    const { name, uid } = node.metadata;
    const isReleased = this.#options.removals.isReleased("nodes", uid);
    return isReleased || isAnnouncedAsLeaving(node, this.#candidates.evidenceOf(name));
  }
}
