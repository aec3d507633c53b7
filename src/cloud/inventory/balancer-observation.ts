// The observation of a load balancer: its age, its outdated parts, and the parts that must be read before a plan that rests on
// them is trusted. An old observation can only prove that nothing needs to change. Pure.

import { type Milliseconds, minutes } from "../../core/brand.ts";
import type { Problem } from "../../core/problem.ts";
import type { ObservedLoadBalancer } from "../../provider/load-balancers.ts";
import type { Step } from "../../provider/plan.ts";

/** The names of parts, as in `Step.restsOn`. */
export type Parts = readonly string[];

/** Stands for the whole load balancer, whatever its parts are. */
export const allParts = "all";
/** The existence of the load balancer, and its mark. */
export const markPart = "mark";
/** Other load balancers, which only a listing shows. */
export const listingPart = "listing";

/** All times are monotonic. */
export interface Observation {
  /**
   * The listed object of the Service, if there is exactly one and it was not changed later. An object that a later listing
   * repeats has not changed.
   */
  readonly listed: ObservedLoadBalancer | undefined;
  /** The observed load balancer. Undefined if the provider cannot reread parts of it. */
  readonly balancer: ObservedLoadBalancer | undefined;
  /** When the request that showed the load balancer began: a listing, or a read of its mark. */
  readonly seenAt: number;
  /** The start of the oldest combined read, and until when the reads may prove that nothing needs to change. */
  readonly readAt: number;
  readonly until: number;
  /** Earlier reads are outdated, because a user has changed the Service. */
  readonly notBefore?: number | undefined;
  /** The parts that steps have changed since then. */
  readonly outdated: Parts;
  /** Since when the load balancer has been complete. */
  readonly completeAt?: number | undefined;
}

/**
 * How long a read may prove that nothing needs to change. Some reads expire earlier, so that they are not all repeated at the
 * same time.
 */
const lasts: Milliseconds = minutes(60);

const never = Number.NEGATIVE_INFINITY;

/** True if the listing lacks the load balancer or parts of it, so that providers with `observe` look it up before a plan. */
export function needsLookup(
  listed: Pick<ObservedLoadBalancer, "shallow"> | undefined,
  desired: unknown,
): boolean {
  // Without a Service and a listed object, there is nothing to look up.
  return listed === undefined ? desired !== undefined : listed.shallow === true;
}

/** The age of the latest listing. */
export interface ListingAge {
  readonly beganAt: number;
  /** True if the listing is recent enough to show the other load balancers. */
  readonly isRecent: boolean;
  /** True if, in addition, this load balancer was not changed later. */
  readonly isFresh: boolean;
}

/** The parts of the previous observation that are read again. */
export interface Rereading {
  readonly parts: Parts;
  /** The parts on which a plan may then rely. */
  readonly read: Parts;
}

/** Undefined if everything is read, starting from the listing. `needs`: the facts that the last plan lacked. */
export function rereadingOf(
  { seenAt, readAt, until, notBefore = never, outdated }: Observation,
  needs: Parts,
  { beganAt, isRecent, isFresh }: ListingAge,
  /** The current time, and the time since when a read is recent enough for steps. */
  { now, recent }: { readonly now: number; readonly recent: number },
): Rereading | undefined {
  const isListed = needs.includes(listingPart);
  const isAll = isListed || needs.includes(allParts) || readAt < notBefore || until <= now;
  if ((isListed && !isRecent) || (isAll && isFresh && beganAt > notBefore)) return undefined;
  const isSeen = isFresh || seenAt >= recent;
  const changed = [...outdated, ...(isAll ? [allParts] : needs)];
  const parts = changed.length === 0 || isSeen ? changed : [...changed, markPart];
  const isReadRecently = isAll || (isSeen && readAt >= recent);
  const read = [...parts, ...(isReadRecently ? [allParts] : []), ...(isRecent ? [listingPart] : [])];
  return { parts, read };
}

/**
 * `again`: the parts of the previous observation that were reread, and when. Without it, everything is as old as the listing.
 * `random`: a fraction.
 */
export function observationOf(
  shown: Pick<Observation, "listed" | "balancer">,
  { beganAt, isFresh }: ListingAge,
  random: () => number,
  again?: { readonly before: Observation; readonly parts: Parts; readonly at: number },
): Observation {
  const { before, parts = [], at = beganAt } = again ?? {};
  const seenAt = Math.max(
    before?.seenAt ?? never,
    isFresh ? beganAt : never,
    parts.includes(markPart) ? at : never,
  );
  const now = { ...shown, seenAt, outdated: [] };
  if (before !== undefined && !parts.includes(allParts))
    return { ...now, readAt: before.readAt, until: before.until };
  const until = shown.balancer === undefined ? Number.POSITIVE_INFINITY : at + lasts * (1 - random() / 3);
  return { ...now, readAt: at, until };
}

/** Undefined if only a listing shows the effect of the steps, for example when they remove a load balancer. */
export function afterSteps<O extends Pick<Observation, "outdated">>(
  observation: O | undefined,
  { isLeaving, steps }: { readonly isLeaving: boolean; readonly steps: readonly Pick<Step, "restsOn">[] },
): O | undefined {
  const outdated = partsOf(steps);
  const isListed = outdated.includes(allParts) || outdated.includes(listingPart);
  return observation === undefined || isLeaving || isListed ? undefined : { ...observation, outdated };
}

/** A step that names no parts rests on all parts. */
const partsOf = (steps: readonly Pick<Step, "restsOn">[]): Parts => [
  ...new Set(steps.flatMap(({ restsOn = [allParts] }) => restsOn)),
];

interface NeedyPlan {
  readonly steps: readonly Pick<Step, "restsOn">[];
  readonly problems?: readonly Pick<Problem, "severity">[] | undefined;
}

/** The parts that must be read before this plan is trusted. Undefined if all necessary parts were read. */
export function needsOf({ steps, problems = [] }: NeedyPlan, read: Parts): Parts | undefined {
  const wanted = partsOf(steps);
  const isAll = read.includes(allParts);
  if (wanted.includes(listingPart) && !(isAll && read.includes(listingPart))) return [listingPart];
  if (isAll) return undefined;
  // A cause that prevents all changes may have been fixed in the cloud.
  if (problems.some(({ severity }) => severity === "error")) return [allParts];
  // Steps that name no part still rest on parts that are not known.
  if (steps.length > 0 && wanted.length === 0) return [allParts];
  if (wanted.every((part) => read.includes(part))) return undefined;
  const isSecond = read.some((part) => part !== listingPart);
  return isSecond || wanted.includes(allParts) ? [allParts] : wanted;
}
