// The rules for changes that follow from an absent Node or route: how they count for doubt, and the verdict
// on each: ready, held, unlisted or unproved. Pure.

import type { Cidr } from "../../../core/brand.ts";
import type { DesiredRoute } from "../../../provider/routes.ts";
import type { Counted, Standing } from "../../kernel/doubt.ts";
import type { Survey } from "../plan/plan.ts";
import type { HeldRoute } from "../texts.ts";

/** A change that is planned because an object is absent. */
export interface CandidateChange extends HeldRoute {
  readonly id: string;
  /** The route to create; undefined for a removal. */
  readonly route?: DesiredRoute;
  /** Whether the change counts: not if nothing proves that the route ever existed. */
  readonly isCounted: boolean;
  /** True if the change is in the history of removals, stored or not. */
  readonly isRecorded: boolean;
  /** True if an operator released the held change. */
  readonly isReleased: boolean;
  /** How often the route was created, if no listing showed it and it must not be created again. */
  readonly unlisted?: number | undefined;
}

/**
 * `held`: by the mass limit, and proved now or in an earlier session. `unlisted`: proved and within the
 * limit, but created earlier without any listing showing the route. `ready`: may be sent once it is recorded.
 */
export type Verdict = "ready" | "held" | "unlisted" | "unproved";

export interface JudgedChange extends CandidateChange {
  readonly verdict: Verdict;
}

interface CountedWith {
  /** Absent routes that indicate an incorrect listing, whether or not a change to them is planned. */
  readonly unplanned: ReadonlySet<Cidr>;
  /** The ranges of all Nodes that this manager manages. */
  readonly managed: ReadonlySet<Cidr>;
}

/** The objects that a listing lacks, and how they count for doubt. */
export interface RouteCensus {
  /** By range, or by id for a removal. */
  readonly counted: ReadonlyMap<string, Counted>;
  /** Routes to create again. */
  readonly lost: readonly Cidr[];
  /** Routes that the listing lacks. In doubt, the listing is not trusted. */
  readonly lacking: ReadonlySet<Cidr>;
}

export function censusOf(
  candidates: readonly CandidateChange[],
  { unplanned, managed }: CountedWith,
): RouteCensus {
  // All other candidates are new: nothing proves that the routes of these Nodes ever existed.
  const judged = candidates.filter(
    ({ isCounted, isRecorded, isReleased }) => isCounted || isRecorded || isReleased,
  );
  const lost = judged.flatMap(({ absent, destination, isCounted, isRecorded, isReleased }) =>
    absent === "route" && isCounted && !isRecorded && !isReleased ? destination : [],
  );
  // Includes a route that was recreated and is absent again. Such routes prove nothing about vanished Nodes.
  const isRouteAbsent = candidates.some(({ absent, isReleased }) => absent === "route" && !isReleased);
  const others = isRouteAbsent
    ? unplanned.difference(new Set(judged.map(({ destination }) => destination)))
    : new Set<Cidr>();
  const changed = new Set(candidates.map(({ destination }) => destination));
  const standingOf = ({ absent, isCounted }: CandidateChange): Standing =>
    !isCounted ? "present" : absent === "route" ? "absent" : "vanished";
  const counted = new Map<string, Counted>();
  for (const range of managed)
    if (!changed.has(range)) counted.set(range, { id: range, standing: "present" });
  for (const one of candidates) {
    const key = one.absent === "route" ? one.destination : one.id;
    counted.set(key, { id: one.id, standing: standingOf(one) });
  }
  for (const range of others) counted.set(range, { id: range, standing: "absent" });
  return { counted, lost, lacking: new Set([...lost, ...others]) };
}

interface JudgedBy {
  readonly isProved: boolean;
  /** The last survey's result. A hold outlives the session in which it was proved. */
  readonly wasHeld: boolean;
  readonly isHeld: boolean;
  /** True if the listing is trusted although objects are held. */
  readonly isListingBelieved: boolean;
}

/** Call this with the doubt's verdict on the counted routes, and with the proof afterwards. */
export function verdictOn(
  { isCounted, isReleased, unlisted }: CandidateChange,
  { isProved, wasHeld, isHeld, isListingBelieved }: JudgedBy,
): Verdict {
  const ready = isProved ? "ready" : "unproved";
  if (isReleased || !(isProved || wasHeld)) return ready;
  // Changes that do not count only need a listing that can be trusted.
  if (isHeld && (isCounted || !isListingBelieved)) return "held";
  return unlisted === undefined ? ready : "unlisted";
}

/** Blocked routes count as undecided, so that the conditions of their Nodes stay unchanged. */
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
