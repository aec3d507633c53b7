// How many changes may follow from absence: the setting --removal-limit, and whether a count is above it. Pure.

import { defined } from "../../core/defined.ts";

export interface RemovalLimit {
  /** The share of all managed objects of this kind, from 0 to 1. */
  readonly share: number;
  /** Allowed in any case, however small the share is. */
  readonly min: number;
  /** The most that is allowed, however large the share is. */
  readonly max: number;
}

/** `off`: no limit. */
export type RemovalLimitSetting = RemovalLimit | "off";

export const defaultRemovalLimit: RemovalLimit = { share: 0.2, min: 2, max: Number.POSITIVE_INFINITY };

export const removalLimitForms =
  "a number such as 5, a percentage such as 20%, a percentage with bounds such as 20%,min=2,max=50, or off";

/** `total` includes removals within the window. */
export function allowedRemovals({ share, min, max }: RemovalLimit, total: number): number {
  return Math.min(max, Math.max(min, Math.floor(total * share)));
}

/** The memory of a hold between its verdicts. */
export interface HoldState {
  /** The total when the hold began; undefined without a hold. */
  readonly totalAtStart?: number;
  /** When the last hold ended, monotonic. Every proof starts again then. */
  readonly endedAt?: number;
}

/** Handed in to the next leadership session, so that a reload does not end a hold. */
export class HoldMemory {
  state: HoldState = {};
  isReported = false;
  /** The absent objects that the current hold has counted: ids by census key. */
  readonly counted: Map<string, string> = new Map();

  /** Called when another process has led, so that this process's earlier holds have no meaning. */
  forget(): void {
    this.state = {};
    this.isReported = false;
    this.counted.clear();
  }
}

export interface LimitedCounts {
  /** All objects, including those that were removed or recreated within the window. */
  readonly total: number;
  readonly absent: number;
  readonly vanished: number;
  /** Removed or recreated within the window. */
  readonly recent: number;
  /** True if Kubernetes shows that an absent object works. */
  readonly isContradicted?: boolean;
  /** Never more than this, whatever the setting allows, unless it is off. */
  readonly most?: number | undefined;
}

/**
 * Whether the limit holds the counted objects, and the memory of the hold, which a contradiction causes too. During a hold, its limit
 * does not grow: joining objects prove nothing about absent ones.
 */
export function decideHold(
  { recent, absent, vanished, total, isContradicted, most = Number.POSITIVE_INFINITY }: LimitedCounts,
  limit: RemovalLimitSetting,
  { totalAtStart, endedAt }: HoldState,
  now: number,
): { readonly isHeld: boolean; readonly allowed: number; readonly state: HoldState } {
  const capped = Math.min(total, totalAtStart ?? total);
  const allowed = limit === "off" ? Number.POSITIVE_INFINITY : Math.min(allowedRemovals(limit, capped), most);
  const isHeld = recent + absent + vanished > allowed;
  // Recent removals alone cause no hold, because nothing would end it.
  const lasts = (isHeld && absent + vanished > 0) || isContradicted === true;
  const state = lasts
    ? { totalAtStart: totalAtStart ?? total, endedAt }
    : { endedAt: totalAtStart === undefined ? endedAt : now };
  return { isHeld, allowed, state: defined(state) };
}

/** A percentage without `min` allows two. Undefined if the text has none of the forms. */
export function parseRemovalLimit(text: string): RemovalLimitSetting | undefined {
  if (text === "off") return "off";
  if (/^\d{1,6}$/.test(text)) return { share: 0, min: Number(text), max: Number(text) };
  const match = /^(\d{1,3})%(?:,min=(\d{1,6}))?(?:,max=(\d{1,6}))?$/.exec(text);
  if (match === null) return undefined;
  const [, percent, min, max] = match;
  const limit: RemovalLimit = {
    share: Number(percent) / 100,
    min: min === undefined ? defaultRemovalLimit.min : Number(min),
    max: max === undefined ? defaultRemovalLimit.max : Number(max),
  };
  return limit.share > 1 || limit.min > limit.max ? undefined : limit;
}
