// Decides whether a volume may be detached from a machine: its kubelet has unmounted it, an administrator has confirmed that the
// machine is down, or the cloud proves that the machine is gone or stopped. Pure.

import type { Answer } from "../../cloud/inventory/instances.ts";
import {
  addProof,
  awaited,
  type Evidence,
  judge,
  type NextProof,
  type ProofKind,
} from "../../controllers/kernel/proof.ts";
import { isReady, outOfServiceOf } from "../../controllers/node-facts.ts";
import type { Milliseconds } from "../../core/brand.ts";
import type { Node } from "../../kube/objects.ts";

/** The attachment, and the name of its volume in the status of the Node. */
export interface AttachedTo {
  readonly nodeName: string;
  readonly inUse: string;
  readonly isSameMachine: boolean;
  /** The time by the API server's clock. */
  readonly createdAt: string;
}

/** Why the machine may still write to the volume; undefined if its kubelet reports that it does not use it. */
export function writerOf(
  node: Node | undefined,
  { nodeName, inUse, isSameMachine, createdAt }: AttachedTo,
): string | undefined {
  if (node === undefined) return `The Node ${nodeName} no longer exists`;
  if (isSameMachine && outOfServiceOf(node) !== undefined) return undefined;
  if (!isSameMachine) return `The Node ${nodeName} has a different machine now`;
  // A kubelet that has not reported the volume yet may have mounted it.
  if (createdAt < (node.metadata.creationTimestamp ?? "") && !isReady(node))
    return `The Node ${nodeName} was created again after the volume was attached, and is not Ready`;
  return node.status.volumesInUse?.includes(inUse) === true
    ? `The kubelet of the Node ${nodeName} has not reported that the volume is unmounted`
    : undefined;
}

/** Answers that the machine is gone or stopped, since it was last seen running. */
export interface StoppedEvidence extends Evidence {
  /** Earlier answers prove nothing. All times are monotonic. */
  readonly since: number;
  /** Whether the last answer contained no such machine. */
  readonly isGone: boolean;
}

export function noEvidence(since: number): StoppedEvidence {
  return { certainty: "exists", since, proofs: [], isGone: false };
}

export function addAnswer(evidence: StoppedEvidence, answer: Answer, knownAt: number): StoppedEvidence {
  if (!("asOf" in answer) || answer.asOf < evidence.since) return evidence;
  const isGone = answer.kind === "gone";
  const isStopped = answer.kind === "exists" && answer.instance.state === "stopped";
  if (!isGone && !isStopped) return noEvidence(evidence.since);
  const proof = { kind: "proof" in answer ? answer.proof : "lookup", beganAt: answer.asOf, knownAt } as const;
  // A machine that was stopped and is gone now is proved to be gone from the first answer.
  const before = isGone === evidence.isGone ? evidence.proofs : [];
  return { ...evidence, proofs: addProof(before, proof), isGone };
}

/** The proof that is still needed; undefined once it is proved that the machine can no longer write. */
export function missingProof(
  evidence: StoppedEvidence,
  confirmAfter: Milliseconds,
  kinds: readonly ProofKind[],
): NextProof | undefined {
  return awaited(judge(evidence, { confirmAfter, kinds }));
}
