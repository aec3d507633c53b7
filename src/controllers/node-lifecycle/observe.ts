// Collects the cloud's answers about the instance of a Node that is not Ready. An observation of the instance discards the proofs
// that it is gone. Pure.

import type { Answer } from "../../cloud/inventory/instances.ts";
import { seconds } from "../../core/brand.ts";
import type { InstanceState } from "../../provider/instances.ts";
import { addProof, type Evidence, type Proof } from "../kernel/proof.ts";

export interface NodeEvidence extends Evidence {
  /** When this process first saw the Node not Ready. A proof must be newer. All times here are monotonic. */
  readonly since: number;
  /** Since when this process has seen the Node without interruption. Its instance may exist since then. */
  readonly firstSeen: number;
  /** The maximum age of an observation: a joining Node is not Ready yet, and its instance was observed recently. */
  readonly seenSince: number;
  /** Answers that the machine is stopped, since the cloud last showed a different state or no machine. */
  readonly stops: readonly Proof[];
  /** True if the last listing contained no state. Only lookups then show whether the machine is stopped. */
  readonly isUnlisted: boolean;
  /** The last state that the cloud reported. */
  readonly state: InstanceState | undefined;
  /** True if the cloud has reported the instance as terminating. */
  readonly wasTerminating: boolean;
}

export function noEvidence(since: number, seenSince = since): NodeEvidence {
  const nothing = { proofs: [], stops: [], isUnlisted: false, state: undefined, wasTerminating: false };
  return { certainty: "exists", firstSeen: since, since, seenSince, ...nothing };
}

/**
 * An answer that was requested before the Node became NotReady proves nothing, and neither does an answer without a machine's
 * name. An observed instance is not gone, so earlier proofs are discarded.
 */
export function addAnswer(evidence: NodeEvidence, answer: Answer, knownAt?: number): NodeEvidence {
  if (answer.kind === "foreign" || answer.kind === "unknown") return evidence;
  if (answer.kind === "gone") {
    const { proof: kind, asOf: beganAt, undescribed } = answer;
    if (undescribed !== undefined) return { ...evidence, proofs: [], stops: [] };
    if (beganAt < evidence.since) return { ...evidence, stops: [] };
    const proof = { kind, beganAt, knownAt: knownAt ?? beganAt };
    return { ...evidence, proofs: addProof(evidence.proofs, proof), stops: [] };
  }
  const state = answer.kind === "exists" ? answer.instance.state : undefined;
  return {
    ...evidence,
    proofs: answer.asOf < evidence.since ? evidence.proofs : [],
    stops: addStop(evidence, answer, knownAt),
    isUnlisted:
      answer.kind === "exists" && answer.proof === "listing" ? state === undefined : evidence.isUnlisted,
    state: state ?? evidence.state,
    wasTerminating: evidence.wasTerminating || state === "terminating",
  };
}

function addStop({ stops, since }: NodeEvidence, answer: Answer, knownAt?: number): readonly Proof[] {
  if (answer.kind !== "exists") return [];
  const { proof: kind, asOf: beganAt } = answer;
  const { state } = answer.instance;
  if (state !== undefined && state !== "stopped") return [];
  if (state === undefined || beganAt < since) return stops;
  return addProof(stops, { kind, beganAt, knownAt: knownAt ?? beganAt });
}

/** Whether the answer adds to the evidence: the instance is missing, or its state has changed. */
export function isNews(evidence: NodeEvidence, answer: Answer): boolean {
  if (answer.kind === "gone") return evidence.proofs.length === 0 && answer.asOf >= evidence.since;
  if (answer.kind !== "exists" || answer.instance.state === undefined) return false;
  return answer.asOf >= evidence.seenSince && answer.instance.state !== evidence.state;
}

/** Whether the newest proof is recent. Its consequence may have waited, and then needs a new proof. */
export function isRecent({ proofs }: Pick<Evidence, "proofs">, now: number): boolean {
  return proofs.some(({ knownAt }) => now - knownAt <= seconds(30));
}
