// Decides whether something that the cloud no longer shows is absent: a machine, a load balancer or a route. A single answer may be
// wrong, so the proof requires several answers over a minimum time. Pure.

import { type Milliseconds, milliseconds, minutes } from "../../core/brand.ts";
import { defined } from "../../core/defined.ts";

export type ProofKind = "listing" | "lookup";

/** A cloud answer without the object. All times are monotonic. */
export interface Proof {
  readonly kind: ProofKind;
  /** When the request began. */
  readonly beganAt: number;
  /** When the answer arrived. The cloud may have found the object absent at any moment in between. */
  readonly knownAt: number;
}

/**
 * `exists`: the object was shown, created or recorded. `possible`: only a request with an unknown outcome, by Fairlead or a
 * former leader, may have created it.
 */
export type Certainty = "exists" | "possible";

export interface Evidence {
  /** Undefined if nothing shows that the object ever existed, or if it is proved to be gone. */
  readonly certainty?: Certainty | undefined;
  /** The proofs since the last answer that showed the object, in the order in which they became known. */
  readonly proofs: readonly Proof[];
  /** When Fairlead last created or changed the object. The cloud may show the result later. */
  readonly changedAt?: number | undefined;
  /** The start of the last lookup that did not find the object long enough after any change. */
  readonly notFoundAt?: number | undefined;
  /** When Fairlead removed the object, as a cloud answer proved. A read may still show it. */
  readonly removedAt?: number | undefined;
  /** When Kubernetes last showed traces of the object: a former leader may have sent requests until then. */
  readonly expectedAt?: number | undefined;
}

/** The requirements for a proof of absence. */
export interface ProofRule {
  /** The time from the first answer to the start of the last request. With zero, one answer is a proof. */
  readonly confirmAfter: Milliseconds;
  /** The kinds of answers that the proof requires. */
  readonly kinds: readonly ProofKind[];
  /**
   * When the last hold of the mass limit ended; undefined if the hold did not concern the object. Earlier answers may be
   * incorrect for the same reason, because clouds recover step by step.
   */
  readonly restartedAt?: number | undefined;
}

export interface NextProof {
  /**
   * The earliest start of a request that may complete the proof; undefined if there is no answer yet, so that any request is the
   * first. It depends only on answers: a time that moves while it is awaited would never come.
   */
  readonly at?: number;
  /** The kind of answer that is still needed; undefined if any kind will do. */
  readonly kind?: ProofKind;
}

/** The verdict about an object that the last answer lacked. */
export type Absence =
  /** Nothing shows that the object ever existed, so it needs no proof and does not count. */
  | { readonly kind: "new" }
  /** The object may have existed, and does not count. Without `next`, answers prove its absence. */
  | { readonly kind: "uncertain"; readonly next?: NextProof }
  | { readonly kind: "unproved"; readonly next: NextProof }
  | { readonly kind: "proved" };

/**
 * After this time, a former leader's request has either taken effect or never will. Without this limit, doubt about other objects
 * would hold a new object forever.
 */
const lateEffectOfOthers: Milliseconds = minutes(10);
/** The number of answers that are kept in addition to the first. */
const maxLater = 7;
const never = Number.NEGATIVE_INFINITY;

export function addProof(proofs: readonly Proof[], proof: Proof): readonly Proof[] {
  if (proofs.some(({ kind, beganAt }) => kind === proof.kind && beganAt === proof.beganAt)) return proofs;
  const [first, ...later] = [...proofs, proof];
  // The first answer is kept, because the confirmation time counts from it, however long the object is absent.
  return first === undefined ? [] : [first, ...later.slice(-maxLater)];
}

export function judge(evidence: Evidence, rule: ProofRule): Absence {
  const { certainty, proofs, notFoundAt = never, removedAt, expectedAt } = evidence;
  if (certainty === undefined) return { kind: "new" };
  // A definite lookup, and a removal that a read contradicts, need no second answer. After a hold, lookups also recover step by
  // step.
  const isDefinite = notFoundAt > never && notFoundAt - (rule.restartedAt ?? never) >= rule.confirmAfter;
  const isJustRemoved = isJustChanged({ changedAt: removedAt, proofs }, rule.confirmAfter);
  const confirmAfter = isJustRemoved ? milliseconds(0) : rule.confirmAfter;
  const next = isDefinite ? undefined : nextProof(proofs, { ...rule, confirmAfter });
  if (certainty === "exists") return next === undefined ? { kind: "proved" } : { kind: "unproved", next };
  const isOnlyExpected =
    expectedAt !== undefined && !isJustChanged({ changedAt: expectedAt, proofs }, lateEffectOfOthers);
  return next === undefined && isOnlyExpected ? { kind: "new" } : { kind: "uncertain", ...defined({ next }) };
}

/**
 * Whether the object was created or changed so recently that answers may not show it yet. Compares with the last answer that
 * lacked it, because the deciding answer may be on its way.
 */
export function isJustChanged(
  { changedAt, proofs }: Pick<Evidence, "changedAt" | "proofs">,
  confirmAfter: Milliseconds,
  answeredAt = Number.POSITIVE_INFINITY,
): boolean {
  return changedAt !== undefined && (proofs.at(-1)?.beganAt ?? answeredAt) - changedAt < confirmAfter;
}

/** The answer that is still needed before the absence has consequences; undefined if there are enough. */
export function awaited(absence: Absence): NextProof | undefined {
  return "next" in absence ? absence.next : undefined;
}

/** True if the object existed. It then counts towards the mass limit. */
export function isLost({ kind }: Absence): boolean {
  return kind === "unproved" || kind === "proved";
}

function nextProof(
  proofs: readonly Proof[],
  { confirmAfter, kinds, restartedAt = never }: ProofRule,
): NextProof | undefined {
  const [first] = proofs;
  if (first === undefined) return {};
  const isOneEnough = confirmAfter === 0;
  // The first answer may have found the object absent as late as it was known, the last one as early as it was requested.
  const at = isOneEnough ? restartedAt : Math.max(first.knownAt, restartedAt) + confirmAfter;
  const isKnown = (kind: ProofKind): boolean =>
    proofs.some((proof) => proof.kind === kind && proof.knownAt >= restartedAt);
  const kind = isOneEnough ? undefined : kinds.find((required) => !isKnown(required));
  if (kind === undefined && proofs.some(({ beganAt }) => beganAt >= at)) return undefined;
  return { at, ...defined({ kind }) };
}
