// The rules for changes that follow from something absent, a Node or a route: which count towards the mass limit, and the verdict on each:
// ready, held, unlisted or unproved. Pure.

import type { Cidr } from "../../../core/brand.ts";
import type { DesiredRoute } from "../../../provider/routes.ts";
import type { LimitedCounts } from "../../kernel/mass-limit.ts";
import type { HeldRoute } from "../events.ts";
import type { Survey } from "../plan/plan.ts";

/** A change that is planned because something is absent. */
export interface CandidateChange extends HeldRoute {
  readonly id: string;
  /** The route to create; undefined for a removal. */
  readonly route?: DesiredRoute;
  /** Whether it counts: not if nothing shows that the route was ever there. */
  readonly isCounted: boolean;
  /** In the history of removals, stored or not. */
  readonly isRecorded: boolean;
  /** An operator released it. */
  readonly isReleased: boolean;
  /** How often it was created, if no listing showed it and it must not be created again. */
  readonly unlisted?: number | undefined;
}

/**
 * `held`: by the mass limit, and proved now or in an earlier session. `unlisted`: proved and within the limit, but created before, and no listing showed it. `ready`:
 * may be sent once it is recorded.
 */
export type Verdict = "ready" | "held" | "unlisted" | "unproved";

export interface JudgedChange extends CandidateChange {
  readonly verdict: Verdict;
}

interface CountedWith {
  /** Removed or created again within the window. */
  readonly recent: number;
  /** Absent routes that say the listing is wrong, whether or not a change of them is planned. */
  readonly unplanned: ReadonlySet<Cidr>;
  /** The ranges of all Nodes that this manager manages. */
  readonly managed: ReadonlySet<Cidr>;
}

/** `lost`: routes to create again. `lacking`: routes that the listing lacks; if there are too many, the listing is not believed. */
export function countChanges(
  candidates: readonly CandidateChange[],
  { recent, unplanned, managed }: CountedWith,
): { readonly counts: LimitedCounts; readonly lost: readonly Cidr[]; readonly lacking: ReadonlySet<Cidr> } {
  const recorded = candidates.filter(({ isRecorded }) => isRecorded).length;
  const unneeded = candidates.filter(({ destination }) => !managed.has(destination)).length;
  const counted = candidates.filter(
    ({ isCounted, isRecorded, isReleased }) => isCounted && !isRecorded && !isReleased,
  );
  const lost = counted.flatMap(({ absent, destination }) => (absent === "route" ? destination : []));
  // The others are new: nothing shows that the routes of these Nodes were ever there.
  const judged = new Set(
    candidates.flatMap(({ destination, isCounted, isRecorded, isReleased }) =>
      isCounted || isRecorded || isReleased ? destination : [],
    ),
  );
  // Also one that was created again, and is absent once more. They say nothing about Nodes that vanished.
  const isRouteAbsent = candidates.some(({ absent, isReleased }) => absent === "route" && !isReleased);
  const others = isRouteAbsent ? unplanned.difference(judged) : new Set<Cidr>();
  const total = managed.size + unneeded + recent - recorded;
  // Fewer Nodes than routes without a Node: that is another cluster, or one that was restored empty, however small it is.
  const most = counted.some(({ absent }) => absent === "node") ? Math.floor(total / 2) : undefined;
  return {
    counts: { recent, affected: counted.length + others.size, total, most },
    lost,
    lacking: new Set([...lost, ...others]),
  };
}

interface JudgedBy {
  readonly isProved: boolean;
  /** By the last survey: a hold outlives the session in which it was proved. */
  readonly wasHeld: boolean;
  readonly isHeld: boolean;
  readonly isListingDoubted: boolean;
}

/** Call it with the decision of the mass limit about what was counted, and with the proof as it is after that decision. */
export function verdictOn(
  { isCounted, isReleased, unlisted }: CandidateChange,
  { isProved, wasHeld, isHeld, isListingDoubted }: JudgedBy,
): Verdict {
  const ready = isProved ? "ready" : "unproved";
  if (isReleased || !(isProved || wasHeld)) return ready;
  // What does not count needs only a listing that can be believed.
  if (isCounted ? isHeld : isListingDoubted) return "held";
  return unlisted === undefined ? ready : "unlisted";
}

/** Blocked routes count as undecided, so that the conditions of their Nodes stay as they are. */
export function withoutBlocked(survey: Survey, judged: readonly JudgedChange[]): Survey {
  const blocked = new Set(
    judged.flatMap(({ destination, verdict }) => (verdict === "ready" ? [] : destination)),
  );
  if (blocked.size === 0) return survey;
  const { plan } = survey;
  const maySend = ({ destination }: { readonly destination: Cidr }): boolean => !blocked.has(destination);
  return {
    ...survey,
    plan: {
      ...plan,
      remove: plan.remove.filter(maySend),
      create: plan.create.filter(maySend),
      undecided: [...plan.undecided, ...plan.create.filter((route) => !maySend(route))],
    },
  };
}
