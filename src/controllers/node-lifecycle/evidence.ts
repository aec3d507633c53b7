// Collects what the cloud answers about the instance of a Node that is not Ready. An observation of the instance discards the proofs
// that it is gone. Pure.

import type { Answer } from "../../cloud/inventory/instances.ts";
import { seconds } from "../../core/brand.ts";
import type { InstanceState } from "../../provider/instances.ts";
import { addProof, type Proof } from "../kernel/proof.ts";

export interface NodeEvidence {
  /** When this process first saw the Node not Ready. A proof must be newer. Monotonic, like all times here. */
  readonly since: number;
  /** Since when this process has seen the Node without interruption; its instance may have existed since. */
  readonly firstSeen: number;
  /** An observation may be as old as this: a joining Node is not Ready yet, and its instance was observed a moment ago. */
  readonly seenSince: number;
  readonly proofs: readonly Proof[];
  /** The last state that the cloud reported. */
  readonly state: InstanceState | undefined;
  /** The cloud has reported the instance as terminating. */
  readonly wasTerminating: boolean;
}

export function noEvidence(since: number, seenSince = since): NodeEvidence {
  return { firstSeen: since, since, seenSince, proofs: [], state: undefined, wasTerminating: false };
}

/**
 * An answer that was requested before the Node was not Ready proves nothing, and neither does one beside a machine whose name is not
 * known.
 */
export function addGone(
  evidence: NodeEvidence,
  { proof: kind, asOf: beganAt, undescribed }: Extract<Answer, { kind: "gone" }>,
  knownAt = beganAt,
): NodeEvidence {
  if (undescribed !== undefined) return { ...evidence, proofs: [] };
  if (beganAt < evidence.since) return evidence;
  return { ...evidence, proofs: addProof(evidence.proofs, { kind, beganAt, knownAt }) };
}

/** An observed instance is not gone: earlier proofs are discarded. */
export function addObservation(
  evidence: NodeEvidence,
  observed: Extract<Answer, { kind: "exists" | "unconfirmed" | "ambiguous" }>,
): NodeEvidence {
  const state = observed.kind === "exists" ? observed.instance.state : undefined;
  return {
    ...evidence,
    proofs: observed.asOf < evidence.since ? evidence.proofs : [],
    state: state ?? evidence.state,
    wasTerminating: evidence.wasTerminating || state === "terminating",
  };
}

/** Whether the cloud shows something that the evidence lacks: the instance is missing, or has another state. */
export function isNews(evidence: NodeEvidence, answer: Answer): boolean {
  if (answer.kind === "gone") return evidence.proofs.length === 0 && answer.asOf >= evidence.since;
  if (answer.kind !== "exists" || answer.instance.state === undefined) return false;
  return answer.asOf >= evidence.seenSince && answer.instance.state !== evidence.state;
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
