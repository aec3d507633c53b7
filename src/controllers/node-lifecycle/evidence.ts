// Collects the proofs that an instance is gone, and decides whether they are sufficient to delete its Node. An
// observation of the instance in between discards them. Pure.

import type { Answer } from "../../cloud/inventory.ts";
import { type Milliseconds, milliseconds, seconds } from "../../core/brand.ts";
import { defined } from "../../core/defined.ts";
import type { LifecycleSettings } from "./settings.ts";

export type ProofKind = "listing" | "lookup";

export interface Proof {
  readonly kind: ProofKind;
  /** When the request began. */
  readonly asOf: number;
  /** When the answer arrived. The cloud may have found the instance gone at any moment in between. */
  readonly knownAt: number;
}

export interface Evidence {
  /** When this process first saw the Node not Ready. A proof must be newer. Monotonic, like all times here. */
  readonly since: number;
  /** An observation may be as old as this: a joining Node is not Ready yet, and its instance was observed a moment ago. */
  readonly seenSince: number;
  /** In the order in which they became known. */
  readonly proofs: readonly Proof[];
  /** The cloud has reported the instance as terminating. */
  readonly wasTerminating: boolean;
}

export function noEvidence(since: number, seenSince = since): Evidence {
  return { since, seenSince, proofs: [], wasTerminating: false };
}

/** Proofs that are kept besides the first. */
const maxLaterProofs = 7;

export function addProof(
  evidence: Evidence,
  gone: Extract<Answer, { kind: "gone" }>,
  knownAt = gone.asOf,
): Evidence {
  const isKnown = evidence.proofs.some(({ asOf, kind }) => asOf === gone.asOf && kind === gone.proof);
  if (gone.asOf < evidence.since || isKnown) return evidence;
  const [first, ...later] = [...evidence.proofs, { kind: gone.proof, asOf: gone.asOf, knownAt }];
  // The first proof is always kept: the confirmation time counts from it, however long the deletion is held.
  return { ...evidence, proofs: [...(first === undefined ? [] : [first]), ...later.slice(-maxLaterProofs)] };
}

/** An observed instance is not gone: earlier proofs are discarded. */
export function addObservation(
  evidence: Evidence,
  observed: Extract<Answer, { kind: "exists" | "unconfirmed" | "ambiguous" }>,
): Evidence {
  return {
    ...evidence,
    proofs: observed.asOf < evidence.since ? evidence.proofs : [],
    wasTerminating:
      evidence.wasTerminating || (observed.kind === "exists" && observed.instance.state === "terminating"),
  };
}

export function addAnswer(evidence: Evidence, answer: Answer, knownAt: number): Evidence {
  switch (answer.kind) {
    case "gone":
      return addProof(evidence, answer, knownAt);
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
export function isRecent({ proofs }: Evidence, now: number): boolean {
  return proofs.some(({ knownAt }) => now - knownAt <= seconds(30));
}

/** Clocks and requests are not exact. */
const lagMargin: Milliseconds = seconds(5);

/** The time between two proofs, where the cloud may show an earlier state for so long. */
export function longerThanLag(
  { confirmAfter }: Pick<LifecycleSettings, "confirmAfter">,
  readsLag: Milliseconds | undefined,
): Milliseconds {
  return readsLag === undefined ? confirmAfter : milliseconds(Math.max(confirmAfter, readsLag + lagMargin));
}

/** Whether the proofs are enough for a deletion. */
export type Judgement =
  | { readonly kind: "proved" }
  /** Another proof is needed after this time, by this method if one is set. */
  | { readonly kind: "more"; readonly after: Milliseconds; readonly method?: ProofKind };

export function judge(
  evidence: Evidence,
  /** The kinds of proof that exist for this Node. Where there are two, both are required. */
  proofKinds: readonly ProofKind[],
  settings: Pick<LifecycleSettings, "proofs" | "confirmAfter">,
  now: number,
): Judgement {
  const [first] = evidence.proofs;
  if (first === undefined) return { kind: "more", after: milliseconds(0) };
  if (settings.proofs === 1) return { kind: "proved" };
  const isLate = ({ asOf }: { asOf: number }) => asOf - first.knownAt >= settings.confirmAfter;
  const missing = proofKinds.find((proofKind) => !evidence.proofs.some(({ kind }) => kind === proofKind));
  const late = evidence.proofs.filter(isLate);
  if (late.length > 0 && missing === undefined) return { kind: "proved" };
  const wait = Math.max(0, first.knownAt + settings.confirmAfter - now);
  return { kind: "more", after: milliseconds(wait), ...defined({ method: missing }) };
}
