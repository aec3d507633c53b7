// Decides whether a load balancer that a listing does not show is really absent. One that existed, or may exist, is absent only
// after a second complete listing without it, or after a lookup. Pure.

import { type Milliseconds, milliseconds, seconds } from "../../../core/brand.ts";
import { awaited, judge } from "../../absence/proof.ts";
import type { OwnerEvidence } from "../state/balancer-evidence.ts";

export type BalancerAbsence =
  | { readonly kind: "certain" }
  | {
      readonly kind: "unproved";
      /** When to request the next listing (monotonic). */
      readonly checkAt: number;
      /** A listing that begins then, and still does not show it, proves that it is absent (monotonic). */
      readonly decidedAt: number;
      /** It was created or changed so recently, or so uncertainly, that the cloud may only be late to show it. */
      readonly isExpected: boolean;
    };

export interface AbsenceInput {
  /** The owners whose load balancer is not shown. */
  readonly owners: readonly OwnerEvidence[];
  readonly confirmAfter: Milliseconds;
  /** When a hold ended that concerned them (monotonic). */
  readonly restartedAt?: number | undefined;
  /** When the last listing without it was known (monotonic). */
  readonly listedAt: number;
}

/** A new load balancer is listed again after this time, then after twice the time, and so on. */
const firstCheck: Milliseconds = seconds(2);

export function absenceOf({ owners, confirmAfter, restartedAt, listedAt }: AbsenceInput): BalancerAbsence {
  const unproved = owners.flatMap((owner) => {
    // A definite lookup, and a removal by Fairlead, need no second answer, but one from after the hold.
    if (owner.notFoundAt !== undefined && owner.notFoundAt >= (restartedAt ?? owner.notFoundAt)) return [];
    const isRemoved = isOwnRemoval(owner, confirmAfter);
    const rule = {
      confirmAfter: isRemoved ? milliseconds(0) : confirmAfter,
      kinds: ["listing"],
      restartedAt,
    } as const;
    const next = awaited(judge(owner, rule));
    // Without any answer about this owner, that of the last listing is the first.
    return next === undefined ? [] : { ...owner, decidedAt: next.at ?? listedAt + confirmAfter };
  });
  if (unproved.length === 0) return { kind: "certain" };
  const isExpected = unproved.every(
    (owner) => owner.certainty === "possible" || isJustChanged(owner, confirmAfter, listedAt),
  );
  const decidedAt = Math.max(...unproved.map((owner) => owner.decidedAt));
  // In whole seconds, so that groups that are due together share one listing.
  const checkAt = isExpected
    ? Math.min(decidedAt, toSecond(Math.max(...unproved.map((owner) => nextCheck(owner, listedAt)))))
    : decidedAt;
  return { kind: "unproved", checkAt, decidedAt, isExpected };
}

/**
 * Whether Fairlead created or changed the load balancer so recently that listings may not show it yet. Compares with the last listing
 * without it, because the deciding listing may still be running.
 */
export function isJustChanged(
  { changedAt, proofs }: Pick<OwnerEvidence, "changedAt" | "proofs">,
  confirmAfter: Milliseconds,
  listedAt = Number.POSITIVE_INFINITY,
): boolean {
  return changedAt !== undefined && (proofs.at(-1)?.beganAt ?? listedAt) - changedAt < confirmAfter;
}

/** Reads that lag showed it once more after Fairlead removed it. */
function isOwnRemoval({ removedAt, proofs }: OwnerEvidence, confirmAfter: Milliseconds): boolean {
  const last = proofs.at(-1);
  return removedAt !== undefined && last !== undefined && last.beganAt - removedAt < confirmAfter;
}

function nextCheck({ proofs }: OwnerEvidence, listedAt: number): number {
  const [first = listedAt, last = first] = [proofs[0]?.beganAt, proofs.at(-1)?.beganAt];
  return first + Math.max(firstCheck, 2 * (last - first));
}

const toSecond = (time: number): number => Math.ceil(time / 1000) * 1000;
