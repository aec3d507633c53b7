// Decides whether a load balancer that a listing does not show is really absent. One that existed, or may exist, is absent only
// after a second complete listing without it, or after a lookup. Pure.

import { type Milliseconds, seconds } from "../../../core/brand.ts";
import type { OwnerEvidence } from "../state/balancer-evidence.ts";

export type Absence =
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
  readonly now: number;
}

/** A new load balancer is listed again after this time, then after twice the time, and so on. */
const firstCheck: Milliseconds = seconds(2);

export function absenceOf({ owners, confirmAfter, now }: AbsenceInput): Absence {
  const unproved = owners.filter((owner) => !isProved(owner, confirmAfter));
  if (unproved.length === 0) return { kind: "certain" };
  const isExpected = unproved.every(
    // By the last listing without it: the one that decides may be under way.
    ({ certainty, changedAt, missing }) =>
      certainty === "possible" ||
      (changedAt !== undefined && (missing?.last ?? now) - changedAt < confirmAfter),
  );
  const decidedAt = Math.max(...unproved.map(({ missing }) => (missing?.first ?? now) + confirmAfter));
  const checks = unproved.map(({ missing }) => nextCheck(missing ?? { first: now, last: now }));
  // In whole seconds, so that groups that are due together share one listing.
  const checkAt = isExpected ? Math.min(decidedAt, toSecond(Math.max(...checks))) : decidedAt;
  return { kind: "unproved", checkAt, decidedAt, isExpected };
}

function isProved({ missing, isNotFound, removedAt }: OwnerEvidence, confirmAfter: Milliseconds): boolean {
  if (isNotFound === true) return true;
  if (missing === undefined) return false;
  // Reads that lag showed it once more after Fairlead removed it.
  const isOwnRemoval = removedAt !== undefined && missing.last - removedAt < confirmAfter;
  return isOwnRemoval || missing.last - missing.first >= confirmAfter;
}

function nextCheck({ first, last }: NonNullable<OwnerEvidence["missing"]>): number {
  return first + Math.max(firstCheck, 2 * (last - first));
}

const toSecond = (time: number): number => Math.ceil(time / 1000) * 1000;
