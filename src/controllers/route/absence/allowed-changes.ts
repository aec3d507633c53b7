// Decides which changes of a plan may be sent. Changes that follow from something absent, a Node or a route, need proof and count
// towards the mass limit; all others may always be sent. Pure.

import type { Cidr } from "../../../core/brand.ts";
import { cidrFamily } from "../../../core/cidr.ts";
import type { LimitedCounts } from "../../absence/mass-limit.ts";
import type { TableOptions } from "../deps.ts";
import { isInsideCluster } from "../desired/cluster-cidrs.ts";
import { type DesiredRoutes, podRangesOf } from "../desired/plan-desired.ts";
import type { HeldRoute, RouteCounts } from "../events.ts";
import { hadRoutes } from "./route-evidence.ts";

/** A change that is planned because something is absent. */
export interface Candidate extends HeldRoute {
  readonly id: string;
  /** Whether it counts: not if nothing shows that the route was ever there. */
  readonly isCounted: boolean;
  /** In the history of removals, stored or not. */
  readonly isRecorded: boolean;
  /** An operator released it. */
  readonly isReleased: boolean;
  /** How often it was created, if no listing showed it and it must not be created again. */
  readonly unlisted?: number | undefined;
}

/** What the mass limit compares. */
export interface CountedChanges {
  readonly counts: LimitedCounts;
  /** What the listing lacks. If it lacks too much, it is not believed. */
  readonly lacking: ReadonlySet<Cidr>;
  /** Those among them for which a change is planned. */
  readonly planned: ReadonlySet<Cidr>;
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
}

/**
 * Absent routes of which no change is planned: of Nodes without a known instance, and of paused Nodes. They show that the listing is wrong:
 * an account that shows nothing lacks instances and routes. With several tables, the condition of the Node does not say which ones had
 * its routes.
 */
export function absentOfUnchanged(
  desired: Pick<DesiredRoutes, "waiting" | "paused">,
  listed: ReadonlySet<Cidr>,
  { routes, clusterCIDRs }: Pick<TableOptions, "routes" | "clusterCIDRs">,
): readonly Cidr[] {
  const isAbsent = (range: Cidr): boolean =>
    routes.families.includes(cidrFamily(range)) && isInsideCluster(clusterCIDRs, range) && !listed.has(range);
  const nodes = [...desired.waiting, ...desired.paused].filter(hadRoutes);
  return nodes.flatMap(podRangesOf).filter(isAbsent);
}

export function countChanges(
  candidates: readonly Candidate[],
  {
    recent,
    unplanned,
    needed,
  }: {
    readonly recent: number;
    /** Absent routes that say the listing is wrong, whether or not a change of them is planned. */
    readonly unplanned: ReadonlySet<Cidr>;
    readonly needed: ReadonlySet<Cidr>;
  },
): CountedChanges {
  const recorded = candidates.filter(({ isRecorded }) => isRecorded).length;
  const unneeded = candidates.filter(({ destination }) => !needed.has(destination)).length;
  const counted = candidates.filter(
    ({ isCounted, isRecorded, isReleased }) => isCounted && !isRecorded && !isReleased,
  );
  const absent = counted.flatMap(({ absent: what, destination }) => (what === "route" ? destination : []));
  // The others are new: nothing shows that the routes of these Nodes were ever there.
  const judged = new Set(
    candidates.flatMap(({ destination, isCounted, isRecorded, isReleased }) =>
      isCounted || isRecorded || isReleased ? destination : [],
    ),
  );
  // Also one that was created again, and is absent once more. They say nothing about Nodes that vanished.
  const isRouteAbsent = candidates.some(({ absent: what, isReleased }) => what === "route" && !isReleased);
  const others = isRouteAbsent ? unplanned.difference(judged) : new Set<Cidr>();
  const total = needed.size + unneeded + recent - recorded;
  // Fewer Nodes than routes without a Node: that is another cluster, or one that was restored empty, however small it is.
  const most = counted.some(({ absent: what }) => what === "node") ? Math.floor(total / 2) : undefined;
  return {
    counts: { recent, affected: counted.length + others.size, total, most },
    lacking: new Set([...absent, ...others]),
    planned: new Set(absent),
  };
}

/** Call it with the decision of the mass limit about what was counted, and with the proofs as they are after it. */
export function limitChanges(
  candidates: readonly Candidate[],
  { counts, lacking, planned }: CountedChanges,
  { isHeld, allowed }: { readonly isHeld: boolean; readonly allowed: number },
  isProved: (candidate: Candidate) => boolean,
): LimitedChanges {
  // What does not count needs only a listing that can be believed.
  const isListingDoubted = isHeld && lacking.size > 0;
  const sort = (candidate: Candidate): "ready" | "held" | "unlisted" | "unproved" => {
    const { isCounted, isReleased, unlisted } = candidate;
    if (!isProved(candidate)) return "unproved";
    if (isReleased) return "ready";
    if (isCounted ? isHeld : isListingDoubted) return "held";
    return unlisted === undefined ? "ready" : "unlisted";
  };
  const { ready = [], held = [], unlisted = [], unproved = [] } = Object.groupBy(candidates, sort);
  return {
    ready,
    held,
    unlisted,
    blocked: [...held, ...unlisted, ...unproved],
    doubted: isListingDoubted && planned.size > 0 ? lacking : new Set(),
    counts,
    allowed,
  };
}
