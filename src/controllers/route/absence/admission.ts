// Decides which changes of a plan may be sent. Changes that follow from something absent, a Node or a route, need proof and count
// towards the mass limit; all others may always be sent. Pure.

import type { Cidr } from "../../../core/brand.ts";
import { allowedRemovals, type RemovalLimitSetting } from "../../removal-limit.ts";
import type { HeldRoute, RouteCounts } from "../events.ts";

/** A change that is planned because something is absent. */
export interface Suspect extends HeldRoute {
  readonly id: string;
  readonly isProved: boolean;
  /** In the history of removals, stored or not. */
  readonly isRecorded: boolean;
  /** An operator released it. */
  readonly isReleased: boolean;
}

export interface Admission {
  /** These may be sent once they are recorded. */
  readonly admitted: readonly Suspect[];
  /** Held by the mass limit, and proved. */
  readonly held: readonly Suspect[];
  /** Not sent now: held, or waiting for a proof. */
  readonly blocked: readonly Suspect[];
  readonly counts: RouteCounts;
  readonly allowed: number;
}

export function admit(
  suspects: readonly Suspect[],
  { recent, needed }: { readonly recent: number; readonly needed: ReadonlySet<Cidr> },
  limit: RemovalLimitSetting,
): Admission {
  const recorded = suspects.filter(({ isRecorded }) => isRecorded).length;
  const others = suspects.filter(({ destination }) => !needed.has(destination)).length;
  const candidates = suspects.filter(({ isRecorded, isReleased }) => !isRecorded && !isReleased).length;
  const counts = { recent, candidates, managed: needed.size + others + recent - recorded };
  const allowed = limit === "off" ? Number.POSITIVE_INFINITY : allowedRemovals(limit, counts.managed);
  const isHeld = recent + candidates > allowed;
  const mayGo = ({ isProved, isReleased }: Suspect): boolean => isProved && (!isHeld || isReleased);
  return {
    admitted: suspects.filter(mayGo),
    held: isHeld ? suspects.filter(({ isProved, isReleased }) => isProved && !isReleased) : [],
    blocked: suspects.filter((suspect) => !mayGo(suspect)),
    counts,
    allowed,
  };
}
