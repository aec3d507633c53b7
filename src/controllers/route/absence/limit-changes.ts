// Decides which changes of a plan may be sent. Changes that follow from something absent, a Node or a route, need proof and count
// towards the mass limit; all others may always be sent. Pure.

import type { Cidr } from "../../../core/brand.ts";
import { defined } from "../../../core/defined.ts";
import { decideHold, type RemovalLimitSetting } from "../../absence/limit.ts";
import type { HeldRoute, RouteCounts } from "../events.ts";

/** A change that is planned because something is absent. */
export interface Candidate extends HeldRoute {
  readonly id: string;
  readonly isProved: boolean;
  /** Whether it counts: not if nothing shows that the route was ever there. */
  readonly isCounted: boolean;
  /** In the history of removals, stored or not. */
  readonly isRecorded: boolean;
  /** An operator released it. */
  readonly isReleased: boolean;
  /** How often it was created, if no listing showed it and it must not be created again. */
  readonly unlisted?: number | undefined;
}

export interface LimitedChanges {
  /** These may be sent once they are recorded. */
  readonly ready: readonly Candidate[];
  /** Held by the mass limit, and proved. */
  readonly held: readonly Candidate[];
  /** Proved and within the limit, but created before, and no listing showed it. */
  readonly unlisted: readonly Candidate[];
  /** Not sent now: held, unlisted, or waiting for a proof. */
  readonly blocked: readonly Candidate[];
  /** What the listing lacks, if it lacks too much to be believed. */
  readonly doubted: ReadonlySet<Cidr>;
  readonly counts: RouteCounts;
  readonly allowed: number;
  /** The total when the hold began; undefined without a hold. */
  readonly totalAtStart: number | undefined;
}

export function limitChanges(
  candidates: readonly Candidate[],
  {
    recent,
    unplanned,
    needed,
    totalAtStart,
  }: {
    readonly recent: number;
    /** Absent routes of which no change is planned. */
    readonly unplanned: ReadonlySet<Cidr>;
    readonly needed: ReadonlySet<Cidr>;
    /** That of the last decision. */
    readonly totalAtStart: number | undefined;
  },
  limit: RemovalLimitSetting,
): LimitedChanges {
  const recorded = candidates.filter(({ isRecorded }) => isRecorded).length;
  const unneeded = candidates.filter(({ destination }) => !needed.has(destination)).length;
  const counted = candidates.filter(
    ({ isCounted, isRecorded, isReleased }) => isCounted && !isRecorded && !isReleased,
  );
  const absent = counted.filter((candidate) => candidate.absent === "route");
  const isUncertain = candidates.some(({ isCounted, isReleased }) => !isCounted && !isReleased);
  // They say nothing about Nodes that vanished.
  const others = absent.length > 0 || isUncertain ? unplanned : new Set<Cidr>();
  const affected = counted.length + others.size;
  const counts = { recent, affected, managed: needed.size + unneeded + recent - recorded };
  const { isHeld, allowed, state } = decideHold(
    { recent, affected, total: counts.managed },
    limit,
    defined({ totalAtStart }),
    0,
  );
  const decision = { allowed, totalAtStart: state.totalAtStart };
  // What does not count needs only a listing that can be believed.
  const isListingDoubted = isHeld && absent.length + others.size > 0;
  const isLimited = ({ isCounted, isReleased }: Candidate): boolean =>
    !isReleased && (isCounted ? isHeld : isListingDoubted);
  const isUnlisted = ({ unlisted, isReleased }: Candidate): boolean => unlisted !== undefined && !isReleased;
  const mayGo = (candidate: Candidate): boolean =>
    candidate.isProved && !isLimited(candidate) && !isUnlisted(candidate);
  return {
    ready: candidates.filter(mayGo),
    held: candidates.filter((candidate) => candidate.isProved && isLimited(candidate)),
    unlisted: candidates.filter(
      (candidate) => candidate.isProved && !isLimited(candidate) && isUnlisted(candidate),
    ),
    blocked: candidates.filter((candidate) => !mayGo(candidate)),
    doubted: new Set(
      isListingDoubted && absent.length > 0
        ? [...absent.map(({ destination }) => destination), ...others]
        : [],
    ),
    counts,
    ...decision,
  };
}
