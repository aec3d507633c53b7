// Decides whether a load balancer that a listing does not show is really absent. One that existed, or may exist, is absent only
// after a second complete listing without it, or after a lookup. Pure.

import { type Milliseconds, milliseconds, seconds } from "../../../core/brand.ts";
import { awaited, judge } from "../../kernel/proof.ts";
import type { Existence } from "../state/balancer-evidence.ts";

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
  /** Undefined: it never existed, or it is certain that it is gone. */
  readonly known: Existence | undefined;
  readonly confirmAfter: Milliseconds;
  /** When a hold ended that concerned it (monotonic). */
  readonly restartedAt?: number | undefined;
  /** When the last listing without it was known (monotonic). */
  readonly listedAt: number;
}

/** A new load balancer is listed again after this time, then after twice the time, and so on. */
const firstCheck: Milliseconds = seconds(2);

export function absenceOf({ known, confirmAfter, restartedAt, listedAt }: AbsenceInput): BalancerAbsence {
  if (known === undefined) return { kind: "certain" };
  // A definite lookup, and a removal by Fairlead, need no second answer, but one from after the hold.
  if (known.notFoundAt !== undefined && known.notFoundAt >= (restartedAt ?? known.notFoundAt))
    return { kind: "certain" };
  const isRemoved = isOwnRemoval(known, confirmAfter);
  const rule = {
    confirmAfter: isRemoved ? milliseconds(0) : confirmAfter,
    kinds: ["listing"],
    restartedAt,
  } as const;
  const next = awaited(judge(known, rule));
  if (next === undefined) return { kind: "certain" };
  // Without any answer about this one, that of the last listing is the first.
  const decidedAt = next.at ?? listedAt + confirmAfter;
  const isExpected = known.certainty === "possible" || isJustChanged(known, confirmAfter, listedAt);
  // In whole seconds, so that Services that are due together share one listing.
  const checkAt = isExpected ? Math.min(decidedAt, toSecond(nextCheck(known, listedAt))) : decidedAt;
  return { kind: "unproved", checkAt, decidedAt, isExpected };
}

/**
 * Whether Fairlead created or changed the load balancer so recently that listings may not show it yet. Compares with the last listing
 * without it, because the deciding listing may still be running.
 */
export function isJustChanged(
  { changedAt, proofs }: Pick<Existence, "changedAt" | "proofs">,
  confirmAfter: Milliseconds,
  listedAt = Number.POSITIVE_INFINITY,
): boolean {
  return changedAt !== undefined && (proofs.at(-1)?.beganAt ?? listedAt) - changedAt < confirmAfter;
}

/** A read showed it once more after Fairlead removed it. */
function isOwnRemoval({ removedAt, proofs }: Existence, confirmAfter: Milliseconds): boolean {
  const last = proofs.at(-1);
  return removedAt !== undefined && last !== undefined && last.beganAt - removedAt < confirmAfter;
}

function nextCheck({ proofs }: Existence, listedAt: number): number {
  const [first = listedAt, last = first] = [proofs[0]?.beganAt, proofs.at(-1)?.beganAt];
  return first + Math.max(firstCheck, 2 * (last - first));
}

const toSecond = (time: number): number => Math.ceil(time / 1000) * 1000;
