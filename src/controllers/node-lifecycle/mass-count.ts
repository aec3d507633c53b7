// Counts what the mass limit of Nodes compares: how many have no instance now, and how many were deleted recently. Unannounced
// deletions count together with Nodes that are about to be deleted.

import type { Node } from "../../kube/objects.ts";
import type { AccountWitness } from "../absence/account-proof.ts";
import { MassLimit, type Share, Tally } from "../absence/mass-limit.ts";
import type { RemovalHistory } from "../absence/removal-history.ts";
import type { NodeDeps } from "../node-deps.ts";
import { identityOf, isReady, providerIDOf } from "../node-facts.ts";
import type { Candidates } from "./candidates.ts";
import { massDeletionHeld } from "./events.ts";
import { isAnnouncedAsLeaving, isConfirmed, isDeletionForbidden, type MassDecision } from "./plan.ts";
import type { LifecycleSettings } from "./settings.ts";

type MassCountOptions = Pick<NodeDeps, "nodes" | "inventory" | "clock" | "note"> & {
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
  /** No listing contains the instances of other accounts, so their Nodes do not count. */
  readonly #isManaged: (node: Node) => boolean;
  readonly #tally: Tally<Counted>;
  readonly #limit: MassLimit;
  /** The uids of Nodes that the present hold has counted. */
  readonly #heldUids = new Set<string>();
  /** When Nodes got their provider id, by uid. Monotonic. */
  readonly #identifiedAt = new Map<string, number>();

  constructor(options: MassCountOptions, candidates: Candidates, isManaged: (node: Node) => boolean) {
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
    this.#limit = new MassLimit({ kind: "nodes", settings, removals, clock });
    this.#candidates = candidates;
    this.#isManaged = isManaged;
  }

  /** Follows the Nodes for the life of the process: deletions by any client count. */
  follow(): void {
    this.#candidates.subscribe((name) => this.noteChange(name));
    const { nodes, removals, inventory, clock } = this.#options;
    removals.account.follow(this.#witness, inventory);
    nodes.subscribe(({ key, before, after }) => {
      if (after !== undefined && isReady(after)) removals.endRelease("nodes", after.metadata.uid);
      this.noteChange(key);
      if (before !== undefined && after !== undefined && providerIDOf(before) !== providerIDOf(after))
        this.#identifiedAt.set(after.metadata.uid, clock.monotonic());
      if (before === undefined || before.metadata.uid === after?.metadata.uid) return;
      const { uid } = before.metadata;
      this.#identifiedAt.delete(uid);
      removals.endHold("nodes", uid);
      const isCounted = !isReady(before) && this.#isManaged(before) && !this.#isAnnounced(before);
      if (isCounted || this.#isInHold(before)) removals.note("nodes", [uid]);
    });
  }

  /** Another replica may have led since. */
  begin(): void {
    this.#limit.begin();
    this.#heldUids.clear();
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

  /** `isProved`: the proof of absence is complete. */
  decide(isProved = true): MassDecision {
    const { removals, note } = this.#options;
    const wasHolding = this.isHolding;
    const { managed, missing, doubted, recorded } = this.#tally.sums;
    const recent = removals.count("nodes");
    // Those that are exempt by now are no reason for a hold if no other Node is missing.
    const affected = missing === 0 ? 0 : missing + doubted;
    const counts = { recent, affected, total: managed + recent - recorded };
    const { isHeld, state, ...limit } = this.#limit.decide(counts);
    if (this.isHolding !== wasHolding) this.invalidate();
    if (wasHolding && !this.isHolding) {
      this.#heldUids.clear();
      note("The mass limit no longer holds Nodes", {});
    }
    const isEarly = limit.doubt === "unanswered" && !isProved;
    if (!isHeld || isEarly) return { mayDelete: true, restartedAt: state.endedAt };
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

  /**
   * A renamed machine counts as shown. A machine that this connection found by the name of its Node proves nothing about the account,
   * because machines of several projects may have the same name.
   */
  readonly #witness: AccountWitness = (since) => {
    const { nodes, inventory } = this.#options;
    const isOlder = ({ metadata: { uid } }: Node) => (this.#identifiedAt.get(uid) ?? since) <= since;
    const recorded = nodes
      .list()
      .filter((node) => this.#isManaged(node) && providerIDOf(node) !== undefined && isOlder(node));
    const answers = recorded.map((node) => inventory.check(identityOf(node)));
    const newer = answers.filter((answer) => "asOf" in answer && answer.asOf > since);
    if (newer.some((answer) => answer.kind !== "gone" || answer.renamed !== undefined)) return "shown";
    if (newer.length < answers.length) return "unknown";
    return answers.length > 0 ? "absent" : undefined;
  };

  /** Ready Nodes are included: a listing that misses many instances is wrong, even if most of these Nodes are Ready. */
  #shareOf(node: Node): Share<Counted> {
    const isManaged = this.#isManaged(node);
    // A recorded Node counts as deleted, not as a candidate as well.
    const isRecorded = this.#options.removals.has("nodes", node.metadata.uid);
    const isExempt = isDeletionForbidden(node) || this.#isAnnounced(node);
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
    return this.#hasProof(node) || (this.#isManaged(node) && this.#isGone(node));
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
