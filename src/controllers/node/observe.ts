// Decides whether the inventory's answer about a joining Node is fresh and certain enough, and requests a newer answer if not.

import type { Answer, Inventory, UnansweredSource } from "../../cloud/inventory/instances.ts";
import { ofSource } from "../../cloud/inventory/source-inventory.ts";
import { type Milliseconds, milliseconds } from "../../core/brand.ts";
import type { Problem } from "../../core/problem.ts";
import type { Node } from "../../kube/objects.ts";
import type { Instance } from "../../provider/instances.ts";
import { problemOfError } from "../classify-error.ts";
import type { NodeDeps } from "../node-deps.ts";
import { identityOf, providerIDOf } from "../node-facts.ts";
import { PendingLookups } from "../pending-lookups.ts";
import { providedNodeIP } from "../well-known.ts";
import type { NodeSettings } from "./settings.ts";
import type { UsedNames } from "./used-names.ts";

type InstanceLookupOptions = Pick<NodeDeps, "nodes" | "inventory" | "clock"> & {
  readonly settings: Pick<NodeSettings, "maxObservationAge" | "matchTimeout">;
};

export type InstanceMatch = Extract<Answer, { kind: "exists" | "unconfirmed" }>;

/** A match of a Node without a provider id, while other sources may contain another match. */
export interface UncertainMatch {
  readonly match: InstanceMatch;
  readonly waitsFor: readonly UnansweredSource[];
  readonly waitedFor: Milliseconds;
}

interface JoiningNode {
  readonly uid: string;
  /** When this session first reconciled the Node, which is later than the start of its machine. */
  readonly seenAt: number;
  /** When the last answer was used, or when its request failed. */
  completedAt?: number;
  /** Since when a single match has waited for other sources. */
  uncertainSince?: number | undefined;
  /** The instance prevented the initialization. Only a newer observation or a different --node-ip can change that. */
  rejected?: { readonly at: number; readonly nodeIP: string | undefined };
}

export class NodeInstanceLookup {
  readonly pending: PendingLookups;
  readonly #options: InstanceLookupOptions;
  readonly #usedNames: UsedNames;
  readonly #joining = new Map<string, JoiningNode>();

  constructor(options: InstanceLookupOptions, usedNames: UsedNames) {
    const { inventory, clock } = options;
    this.#options = options;
    this.pending = new PendingLookups(inventory, clock);
    this.#usedNames = usedNames;
  }

  /** An answer with an instance may be a minute old; any other answer must be newer than the lookup. */
  isFresh(node: Node, answer: Answer): boolean {
    const { settings, clock } = this.#options;
    if (!("asOf" in answer)) return answer.kind === "foreign";
    if (answer.kind === "exists" || answer.kind === "unconfirmed") {
      if (answer.asOf < this.#countsFrom(node) || this.#mustWait(node, answer)) return false;
      if (clock.monotonic() - answer.asOf <= settings.maxObservationAge) return true;
    }
    return this.pending.isAnsweredBy(node.metadata.name, answer.asOf);
  }

  /** Requests an answer that is newer than the current one. Throws the last failed request's error. */
  request(node: Node, answer: Answer): void {
    const { settings, clock } = this.#options;
    const { name } = node.metadata;
    if (this.#needsNewLookup(node, answer)) this.pending.forget(name);
    const newest = clock.monotonic() - this.#countsFrom(node);
    // One of two matches may be outdated, so both sources are queried again.
    const maxAge = answer.kind === "ambiguous" ? 0 : Math.min(settings.maxObservationAge, newest);
    this.pending.ask(name, identityOf(node), { urgency: "new-node" }, milliseconds(maxAge));
  }

  /** Undefined if the answer is not a match, or if no other source can have one. */
  uncertainMatch(node: Node, answer: Answer): UncertainMatch | undefined {
    const joining = this.#joiningNode(node);
    if (!isMatch(answer) || this.#isCertain(node, answer)) {
      joining.uncertainSince = undefined;
      return undefined;
    }
    const { inventory, clock } = this.#options;
    const now = clock.monotonic();
    joining.uncertainSince ??= now;
    return {
      match: answer,
      waitsFor: inventory.unanswered(identityOf(node), joining.seenAt, answer.source),
      waitedFor: milliseconds(now - joining.uncertainSince),
    };
  }

  /** The instance prevents the initialization, so the next attempt needs a newer observation of it. */
  reject(node: Node): void {
    const at = this.#options.clock.monotonic();
    this.#joiningNode(node).rejected = { at, nodeIP: nodeIPOf(node) };
  }

  /** The answer arrived, or its request failed. */
  complete(name: string): void {
    this.pending.forget(name);
    const joining = this.#joining.get(name);
    if (joining !== undefined) joining.completedAt = this.#options.clock.monotonic();
  }

  /** Nodes without a pending lookup whose instance was found for another request, for example by the route controller. */
  *foundMeanwhile(): Iterable<string> {
    const { nodes, inventory } = this.#options;
    for (const [name, { completedAt = 0 }] of this.#joining) {
      const node = this.pending.has(name) ? undefined : nodes.get(name);
      const answer = node && inventory.check(identityOf(node));
      if (node === undefined || answer === undefined || !isMatch(answer)) continue;
      if (answer.asOf >= completedAt && this.isFresh(node, answer)) yield name;
    }
  }

  /** Called when the Node is no longer joining. */
  forget(name: string): void {
    this.pending.forget(name);
    this.#joining.delete(name);
  }

  /** The pending lookup gets no newer answer, because it accepted this answer. */
  #needsNewLookup(node: Node, answer: Answer): boolean {
    const isAccepted = "asOf" in answer && this.pending.isUsedUpBy(node.metadata.name, answer.asOf);
    if (!isAccepted) return false;
    // The answer was fresh when it arrived, but became too old while the Node waited in the queue.
    return answer.kind === "ambiguous" || (isMatch(answer) && !this.#mustWait(node, answer));
  }

  #mustWait(node: Node, match: InstanceMatch): boolean {
    const { matchTimeout } = this.#options.settings;
    const uncertain = this.uncertainMatch(node, match);
    return uncertain !== undefined && (matchTimeout === undefined || uncertain.waitedFor < matchTimeout);
  }

  /**
   * True if every other source is proved not to have the machine: their answers began after the Node was seen, and a machine is
   * older than its Node.
   */
  #isCertain(node: Node, match: InstanceMatch): boolean {
    return match.kind === "exists" && match.othersAsOf >= this.#joiningNode(node).seenAt;
  }

  #joiningNode({ metadata: { name, uid } }: Node): JoiningNode {
    const known = this.#joining.get(name);
    if (known?.uid === uid) return known;
    const joining = { uid, seenAt: this.#options.clock.monotonic() };
    this.#joining.set(name, joining);
    return joining;
  }

  /** A Node that is identified by its name may have had a predecessor with a different instance. */
  #countsFrom(node: Node): number {
    const { rejected } = this.#joiningNode(node);
    const isRejected = rejected !== undefined && rejected.nodeIP === nodeIPOf(node);
    return Math.max(
      isRejected ? rejected.at : Number.NEGATIVE_INFINITY,
      providerIDOf(node) === undefined
        ? this.#usedNames.countsFrom(node.metadata.name)
        : Number.NEGATIVE_INFINITY,
    );
  }
}

const nodeIPOf = ({ metadata }: Node): string | undefined => metadata.annotations?.[providedNodeIP];

function isMatch(answer: Answer): answer is InstanceMatch {
  return answer.kind === "exists" || answer.kind === "unconfirmed";
}

/** The instances to compare the Node with: a single match, all matches, or none. */
export function instancesIn(answer: Answer): readonly Instance[] {
  switch (answer.kind) {
    case "exists":
      return [answer.instance];
    case "ambiguous":
      return answer.candidates.map(({ instance }) => instance);
    case "gone":
      // A renamed machine counts as a change, so that its Node is warned.
      return answer.renamed === undefined ? [] : [answer.renamed];
    default:
      return [];
  }
}

/**
 * Describes an error as a problem of a joining Node. If the cloud has several sources, the text names the failed source.
 * Undefined for errors that need no action.
 */
export function describeSourceError(error: unknown, { sources }: Inventory): Problem | undefined {
  const problem = problemOfError(error);
  const failed = sources.find(({ failure }) => failure?.error === error);
  if (problem === undefined || failed === undefined) return problem;
  return { ...problem, text: ofSource(problem.text, failed.source.name, sources) };
}
