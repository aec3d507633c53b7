// Who of a group is planned with, and whether anybody may be: holds back those of whom nobody knows what is meant, and a
// whole group rather than touch what somebody else still uses. Pure.

import type { ServiceUID } from "../../../core/brand.ts";
import type { ObservedLoadBalancer } from "../../../provider/load-balancers.ts";
import { isRefused, type Member } from "./member.ts";

export interface GroupAtHand {
  readonly all: readonly Member[];
  readonly observed: ObservedLoadBalancer | undefined;
  /** Owners that are gone, and may have left something. */
  readonly owed: readonly ServiceUID[];
  /** Gone, and nobody knows what was to become of what it has. */
  readonly isHeld: (gone: ServiceUID) => boolean;
  /** Whether a Service that lives still uses what is there, besides these that are gone. */
  readonly isStillUsed: (gone: readonly ServiceUID[]) => boolean;
}

export type TakingPart =
  | {
      readonly kind: "plan";
      readonly members: readonly Member[];
      /** Owners that are gone, whose things may be taken down. */
      readonly gone: readonly ServiceUID[];
    }
  /** Nothing there may change while nobody knows what is meant; what these have is shown all the same. */
  | { readonly kind: "only show"; readonly members: readonly Member[] }
  /** Nobody can be asked any more what was to become of this: it is an orphan, which is told. */
  | { readonly kind: "orphan"; readonly owed: readonly ServiceUID[] }
  | { readonly kind: "nobody" };

export function selectMembers({ all, observed, owed, isHeld, isStillUsed }: GroupAtHand): TakingPart {
  const members = all.filter((member) => !member.isHeld && !isRefused(member, observed));
  const gone = owed.filter((uid) => !isHeld(uid));
  if (all.length > 0 && members.length === 0 && gone.length === 0) return { kind: "nobody" };
  if (members.length === 0 && isStillUsed(gone)) return { kind: "nobody" };
  if (all.length === 0 && gone.length < owed.length) return { kind: "orphan", owed };
  if (members.some(({ isBlocked }) => isBlocked)) {
    return { kind: "only show", members: members.filter(({ desired }) => desired.ending === undefined) };
  }
  return { kind: "plan", members, gone };
}
