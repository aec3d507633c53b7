// What speaks for a machine being gone: which proofs there are and how far they lie apart. Pure; a Node that was seen
// alive in between starts again with nothing.

import type { Answer } from "../../cloud/inventory.ts";
import { type Milliseconds, milliseconds, seconds } from "../../core/brand.ts";
import type { LifecycleSettings } from "./settings.ts";

export type ProofKind = "listing" | "lookup";

export interface Proof {
  readonly kind: ProofKind;
  /** When the request began. */
  readonly asOf: number;
  /** When its answer was here: the cloud may have said it at any moment in between. */
  readonly knownAt: number;
}

export interface Evidence {
  /** When the Node was first seen not Ready by this process; a proof must be newer. Monotonic, as all times here. */
  readonly since: number;
  /** A sighting may be older than that, down to this: a Node that joins is not Ready yet, and its machine was just seen. */
  readonly seenSince: number;
  /** What was proved, in the order in which it became known. */
  readonly proofs: readonly Proof[];
  /** The cloud itself said that the machine was on its way out. */
  readonly wasTerminating: boolean;
}

export function noEvidence(since: number, seenSince = since): Evidence {
  return {
    since,
    seenSince,
    proofs: [],
    wasTerminating: false,
  };
}

const mostLater = 7;

export function addProof(
  evidence: Evidence,
  gone: Extract<Answer, { kind: "gone" }>,
  knownAt = gone.asOf,
): Evidence {
  const isKnown = evidence.proofs.some(({ asOf, kind }) => asOf === gone.asOf && kind === gone.proof);
  if (gone.asOf < evidence.since || isKnown) return evidence;
  const [first, ...later] = [...evidence.proofs, { kind: gone.proof, asOf: gone.asOf, knownAt }];
  // The time that they cover counts from the first one, however long something else holds the Node.
  return { ...evidence, proofs: [...(first === undefined ? [] : [first]), ...later.slice(-mostLater)] };
}

/** A machine that was seen is not gone, whatever was said before. */
export function addObservation(
  evidence: Evidence,
  seen: Extract<Answer, { kind: "exists" | "ambiguous" }>,
): Evidence {
  return {
    ...evidence,
    proofs: seen.asOf < evidence.since ? evidence.proofs : [],
    wasTerminating:
      evidence.wasTerminating || (seen.kind === "exists" && seen.instance.state === "terminating"),
  };
}

/** With what this answer says, known since then. */
export function addAnswer(evidence: Evidence, answer: Answer, knownAt: number): Evidence {
  switch (answer.kind) {
    case "gone":
      return addProof(evidence, answer, knownAt);
    case "exists":
    case "ambiguous":
      return addObservation(evidence, answer);
    case "foreign":
    case "unknown":
      return evidence;
  }
}

/** A deletion may have waited: held, fenced or refused. What was proved before that is to be proved again. */
export function isRecent({ proofs }: Evidence, now: number): boolean {
  return proofs.some(({ knownAt }) => now - knownAt <= seconds(30));
}

/** What is still missing for a deletion. */
export type Decision =
  | { readonly kind: "proved" }
  /** Ask again, after this time, in this way where one is demanded. */
  | { readonly kind: "more"; readonly after: Milliseconds; readonly way?: ProofKind };

export function judge(
  evidence: Evidence,
  /** Ways that exist for this Node: where there are two, both must agree. */
  ways: readonly ProofKind[],
  settings: Pick<LifecycleSettings, "proofs" | "confirmAfter">,
  now: number,
): Decision {
  const [first] = evidence.proofs;
  if (first === undefined) return { kind: "more", after: milliseconds(0) };
  if (settings.proofs === 1) return { kind: "proved" };
  const isLate = ({ asOf }: { asOf: number }) => asOf - first.knownAt >= settings.confirmAfter;
  const missing = ways.find((way) => !evidence.proofs.some(({ kind }) => kind === way));
  const late = evidence.proofs.filter(isLate);
  if (late.length > 0 && missing === undefined) return { kind: "proved" };
  const wait = Math.max(0, first.knownAt + settings.confirmAfter - now);
  return { kind: "more", after: milliseconds(wait), ...(missing !== undefined && { way: missing }) };
}
