// The state of the node-lifecycle controller across leadership sessions: the hold of the mass limit, reported findings, announced
// deletions, and when Nodes got their provider id. Counts the deletions of Nodes by any client towards the mass limit.

import type { Node } from "../../kube/objects.ts";
import { type FormerLeaders, noticesOtherLeaders } from "../former-leaders.ts";
import type { AccountWitness } from "../kernel/account-proof.ts";
import { Board } from "../kernel/board.ts";
import { HoldMemory } from "../kernel/removal-limit.ts";
import type { RemovalMemory } from "../kernel/removal-memory.ts";
import { isManagedBy, type NodeDeps } from "../node-deps.ts";
import { identityOf, isReady, providerIDOf } from "../node-facts.ts";
import { type NodeEvidence, noEvidence } from "./observe.ts";
import { isAnnouncedAsLeaving } from "./plan.ts";

export type LifecycleHistoryOptions = Pick<NodeDeps, "nodes" | "inventory" | "clock" | "isSelected"> & {
  readonly removals: RemovalMemory;
  readonly formerLeaders: FormerLeaders;
};

export class LifecycleHistory {
  readonly board = new Board<"hold">();
  readonly limit: HoldMemory = new HoldMemory();
  readonly outOfServiceLimit: HoldMemory = new HoldMemory();
  readonly #options: LifecycleHistoryOptions;
  /**
   * The resource versions of Nodes whose deletion was announced and then sent, by uid. The API server deletes no other version.
   * The watch may show the deletion in a later session.
   */
  readonly #announced = new Map<string, string>();
  /** When Nodes got their provider id (monotonic), by uid. */
  readonly #identifiedAt = new Map<string, number>();
  #judge: ((node: Node) => boolean) | undefined;
  readonly #hasOtherLed: () => boolean;

  /** Follows the Nodes for the life of the process, because deletions count even while another replica leads. */
  constructor(options: LifecycleHistoryOptions) {
    this.#options = options;
    this.#hasOtherLed = noticesOtherLeaders(options.formerLeaders);
    const { nodes, removals, clock } = options;
    removals.account.follow(this.#witness);
    nodes.subscribe(({ before, after }) => {
      if (after !== undefined && isReady(after)) removals.endRelease("nodes", after.metadata.uid);
      if (before !== undefined && after !== undefined && providerIDOf(before) !== providerIDOf(after))
        this.#identifiedAt.set(after.metadata.uid, clock.monotonic());
      if (before !== undefined && before.metadata.uid !== after?.metadata.uid) this.#noteDeletion(before);
    });
  }

  /** Called when a leadership session begins. This process's holds from before another process led have no meaning. */
  beginSession(): void {
    if (!this.#hasOtherLed()) return;
    this.limit.forget();
    this.outOfServiceLimit.forget();
  }

  /** During a session, the controller's evidence decides which deletions count. Returns a function that ends this. */
  judgeBy(judge: (node: Node) => boolean): () => void {
    this.#judge = judge;
    return () => {
      this.#judge = undefined;
    };
  }

  /** The deletion of this Node is being sent, and does not count. */
  announce({ metadata: { uid, resourceVersion } }: Node): void {
    this.#announced.set(uid, resourceVersion);
  }

  /** Whether a deletion of the Node was announced, confirmed or released, and does not count towards the mass limit. */
  isAnnounced(node: Node, evidence: NodeEvidence): boolean {
    const { uid, resourceVersion } = node.metadata;
    const isKnown =
      this.#announced.get(uid) === resourceVersion || this.#options.removals.isReleased("nodes", uid);
    return isKnown || isAnnouncedAsLeaving(node, evidence);
  }

  /** Whether the deletion of this Node, by any client, counts towards the mass limit. */
  countsDeletion(node: Node, evidence = noEvidence(0)): boolean {
    return !isReady(node) && isManagedBy(this.#options, node) && !this.isAnnounced(node, evidence);
  }

  #noteDeletion(node: Node): void {
    const { removals } = this.#options;
    const { uid } = node.metadata;
    if (this.#judge?.(node) ?? this.countsDeletion(node)) removals.note("nodes", [uid]);
    removals.endHold("nodes", uid);
    this.#identifiedAt.delete(uid);
    this.#announced.delete(uid);
  }

  /**
   * A renamed machine counts as shown. If instances are never requested, Nodes prove nothing about the account. The same applies
   * to a machine that was found by its Node's name while the account was doubted, because machines of several projects may have
   * the same name.
   */
  readonly #witness: AccountWitness = (since, recordedBy) => {
    const { nodes, inventory } = this.#options;
    if (!inventory.isNeeded) return undefined;
    const isOlder = ({ metadata: { uid } }: Node) =>
      (this.#identifiedAt.get(uid) ?? recordedBy) <= recordedBy;
    const recorded = nodes
      .list()
      .filter(
        (node) => isManagedBy(this.#options, node) && providerIDOf(node) !== undefined && isOlder(node),
      );
    const answers = recorded.map((node) => inventory.check(identityOf(node)));
    const newer = answers.filter((answer) => "asOf" in answer && answer.asOf > since);
    if (newer.some((answer) => answer.kind !== "gone" || answer.renamed !== undefined)) return "shown";
    if (newer.length < answers.length) return "unknown";
    return answers.length > 0 ? "absent" : undefined;
  };
}
