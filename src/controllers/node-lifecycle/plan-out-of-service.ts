// Decides whether a Node gets the out-of-service taint: several answers prove that its machine is stopped or gone, and the cloud
// can be trusted. The taint evicts pods, so it needs at least the proof for a deletion. Pure.

import type { Answer } from "../../cloud/inventory/instances.ts";
import { type Milliseconds, milliseconds, minutes } from "../../core/brand.ts";
import type { Problem } from "../../core/problem.ts";
import type { Node } from "../../kube/objects.ts";
import { isEarly, type Verdict } from "../kernel/doubt.ts";
import { awaited, judge, type NextProof, type Proof, type ProofKind } from "../kernel/proof.ts";
import { isUninitialized, outOfServiceOf, providerIDOf } from "../node-facts.ts";
import { isRecent, type NodeEvidence } from "./observe.ts";
import type { LifecycleSettings } from "./settings.ts";
import { outOfServiceHeld, outOfServiceObserved } from "./texts.ts";

export type OutOfServicePlan =
  | { readonly kind: "set" }
  /** Another answer is needed, possibly of a specific kind. */
  | { readonly kind: "prove"; readonly next: NextProof }
  | { readonly kind: "hold"; readonly problem: Problem };

export interface OutOfServiceInput {
  readonly node: Node;
  readonly answer: Answer;
  readonly evidence: NodeEvidence;
  /** The kinds of proof that are available for this Node. */
  readonly proofKinds: readonly ProofKind[];
  /** The doubt that counts stopped machines. */
  readonly outOfServiceDoubt: () => Verdict;
  /** True if an operator released this Node. The mass limit then does not apply to it. */
  readonly isReleased: boolean;
  readonly settings: LifecycleSettings;
  /** Monotonic. */
  readonly now: number;
}

/** A stopped machine may be started at any time, so an answer expires if its confirmation is later than this. */
const validity: Milliseconds = minutes(1);

const free: Verdict = { held: undefined, restartedAt: undefined };

/** Undefined if the Node must not get the taint, or already has it. The Node is known to be not Ready. */
export function planOutOfService(input: OutOfServiceInput): OutOfServicePlan | undefined {
  const { node, answer, evidence, settings, now } = input;
  if (settings.outOfService === "off" || !isIdentified(node) || outOfServiceOf(node) !== undefined)
    return undefined;
  // Where names decide, the Node counts as gone, but its machine still exists and may run.
  if (answer.kind === "gone" && answer.renamed !== undefined) return undefined;
  const kinds = answer.kind === "gone" ? input.proofKinds : kindsOfStop(evidence, input.proofKinds);
  // A single answer is never enough to evict pods, although it may be enough to delete a Node.
  const confirmAfter = milliseconds(Math.max(1, settings.confirmAfter));
  // In observe mode, the proof is not repeated because it has no consequence.
  const isCurrent = ({ knownAt }: Proof): boolean =>
    settings.outOfService === "observe" || now - knownAt <= confirmAfter + validity;
  const proofs = answer.kind === "gone" ? evidence.proofs : evidence.stops.filter(isCurrent);
  const missing = (restartedAt?: number): NextProof | undefined =>
    awaited(judge({ certainty: "exists", proofs }, { confirmAfter, kinds, restartedAt }));
  const next = missing();
  if (proofs.length === 0) return { kind: "prove", next: next ?? {} };
  const { held, restartedAt } = input.isReleased ? free : input.outOfServiceDoubt();
  const problem = held && !isEarly(held, next === undefined) ? outOfServiceHeld(held) : undefined;
  if (problem !== undefined) return { kind: "hold", problem };
  const awaitedProof = next ?? missing(restartedAt);
  if (awaitedProof !== undefined) return { kind: "prove", next: awaitedProof };
  if (settings.outOfService === "observe") return { kind: "hold", problem: outOfServiceObserved(node) };
  if (!isRecent({ proofs }, now)) return { kind: "prove", next: {} };
  return { kind: "set" };
}

/** The machine was found by its provider id. A machine that only has the same name may belong to another cluster. */
function isIdentified(node: Node): boolean {
  return providerIDOf(node) !== undefined && !isUninitialized(node);
}

/** Listings without states prove nothing about an existing machine. */
function kindsOfStop(
  { isUnlisted }: Pick<NodeEvidence, "isUnlisted">,
  kinds: readonly ProofKind[],
): readonly Proof["kind"][] {
  return isUnlisted ? kinds.filter((kind) => kind !== "listing") : kinds;
}
