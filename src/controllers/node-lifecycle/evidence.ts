// Collects what the cloud answers about the instance of a Node that is not Ready. An observation of the instance discards the proofs
// that it is gone. Pure.

import type { Answer } from "../../cloud/inventory.ts";
import { seconds } from "../../core/brand.ts";
import { addProof, type Proof } from "../absence/proof.ts";

export interface NodeEvidence {
  /** When this process first saw the Node not Ready. A proof must be newer. Monotonic, like all times here. */
  readonly since: number;
  /** Since when this process has seen the Node without interruption; its instance may have existed since. */
  readonly firstSeen: number;
  /** An observation may be as old as this: a joining Node is not Ready yet, and its instance was observed a moment ago. */
  readonly seenSince: number;
  readonly proofs: readonly Proof[];
  /** The cloud has reported the instance as terminating. */
  readonly wasTerminating: boolean;
}

export function noEvidence(since: number, seenSince = since): NodeEvidence {
  return { firstSeen: since, since, seenSince, proofs: [], wasTerminating: false };
}

/** An answer that was requested before the Node was not Ready proves nothing. */
export function addGone(
  evidence: NodeEvidence,
  { proof: kind, asOf: beganAt }: Extract<Answer, { kind: "gone" }>,
  knownAt = beganAt,
): NodeEvidence {
  if (beganAt < evidence.since) return evidence;
  return { ...evidence, proofs: addProof(evidence.proofs, { kind, beganAt, knownAt }) };
}

/** An observed instance is not gone: earlier proofs are discarded. */
export function addObservation(
  evidence: NodeEvidence,
  observed: Extract<Answer, { kind: "exists" | "unconfirmed" | "ambiguous" }>,
): NodeEvidence {
  return {
    ...evidence,
    proofs: observed.asOf < evidence.since ? evidence.proofs : [],
    wasTerminating:
      evidence.wasTerminating || (observed.kind === "exists" && observed.instance.state === "terminating"),
  };
}

export function addAnswer(evidence: NodeEvidence, answer: Answer, knownAt: number): NodeEvidence {
  switch (answer.kind) {
    case "gone":
      return addGone(evidence, answer, knownAt);
    case "exists":
    case "unconfirmed":
    case "ambiguous":
      return addObservation(evidence, answer);
    case "foreign":
    case "unknown":
      return evidence;
  }
}

/** Whether the newest proof is recent. A deletion may have waited, held or fenced, and must be proved again then. */
export function isRecent({ proofs }: NodeEvidence, now: number): boolean {
  return proofs.some(({ knownAt }) => now - knownAt <= seconds(30));
}
