// The mass limit of one kind of object: how many Nodes, load balancers or routes may be removed, or made again, within the window because
// something was absent. Beyond the limit nothing is removed or made again; what is removed is stored before. Tally keeps the sums that
// the limit is compared with.

import { defined } from "../../core/defined.ts";
import type { Clock } from "../../platform/clock.ts";
import type { AccountProof } from "./account-proof.ts";
import type { RemovalHistory, RemovalKind } from "./removal-history.ts";

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

/** `total` includes what was removed within the window. */
export function allowedRemovals({ share, min, max }: RemovalLimit, total: number): number {
  return Math.min(max, Math.max(min, Math.floor(total * share)));
}

export interface LimitedCounts {
  /** Removed or made again within the window. */
  readonly recent: number;
  /** Absent now. */
  readonly affected: number;
  /** All managed objects, with those that were removed within the window. */
  readonly total: number;
  /** Never more than this, whatever the setting allows, unless it is off. */
  readonly most?: number | undefined;
}

/** What a mass limit remembers between its decisions. */
export interface HoldState {
  /** The total when the hold began; undefined without a hold. */
  readonly totalAtStart?: number;
  /** When the last hold ended, monotonic. Every proof starts again then. */
  readonly endedAt?: number;
}

/** Handed in to the limit of the next leadership session, so that a reload does not end a hold. */
export interface HoldMemory {
  state: HoldState;
}

export interface AppliedLimit {
  readonly allowed: number;
  /** Doubt about the account, which holds everything from the first object on. Undefined without a limit. */
  readonly doubt?: AccountProof["doubt"];
}

export interface LimitDecision extends AppliedLimit {
  readonly isHeld: boolean;
  /** When the last hold ended, monotonic: the proofs that it concerned start again then. What an operator released is not proved again. */
  readonly restartedAt: number | undefined;
}

interface NextHold extends Pick<LimitDecision, "isHeld" | "allowed"> {
  /** For the next decision. */
  readonly state: HoldState;
}

/** Why objects are held, for a message that has named what is absent. */
export const whyHeld = ({ allowed, doubt }: AppliedLimit, fault: string): string =>
  doubt === undefined
    ? `. More than ${allowed} at once is treated as ${fault}`
    : ", and the cloud shows nothing that this cluster records: its credentials may belong to another project (if so, correct them)";

/**
 * Whether a mass limit holds what is affected. While a hold lasts, its limit does not grow: what joins says nothing about what is
 * absent.
 */
export function decideHold(
  { recent, affected, total, most = Number.POSITIVE_INFINITY }: LimitedCounts,
  limit: RemovalLimitSetting,
  { totalAtStart, endedAt }: HoldState,
  now: number,
): NextHold {
  const capped = Math.min(total, totalAtStart ?? total);
  const allowed = limit === "off" ? Number.POSITIVE_INFINITY : Math.min(allowedRemovals(limit, capped), most);
  const isHeld = recent + affected > allowed;
  // Recent removals alone are no hold, so nothing would end it.
  const lasts = isHeld && affected > 0;
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

export interface MassLimitOptions {
  readonly kind: RemovalKind;
  readonly settings: { readonly removalLimit: RemovalLimitSetting };
  readonly removals: RemovalHistory;
  readonly clock: Clock;
  readonly memory: HoldMemory;
}

export class MassLimit {
  readonly #options: MassLimitOptions;

  constructor(options: MassLimitOptions) {
    this.#options = options;
  }

  /** Whether the last decision was a hold. */
  get isHolding(): boolean {
    return this.#options.memory.state.totalAtStart !== undefined;
  }

  /** Decides on what is counted now. The decision may end a hold. */
  decide(counts: LimitedCounts): LimitDecision {
    const { settings, clock, removals, memory } = this.#options;
    const before = memory.state;
    const doubt = settings.removalLimit === "off" ? undefined : removals.account.doubt;
    if (doubt === "unanswered") return { isHeld: true, allowed: 0, doubt, restartedAt: before.endedAt };
    const counted = doubt === undefined ? counts : { ...counts, most: 0 };
    const { isHeld, allowed, state } = decideHold(counted, settings.removalLimit, before, clock.monotonic());
    memory.state = state;
    return { isHeld: doubt !== undefined || isHeld, allowed, doubt, restartedAt: state.endedAt };
  }

  /**
   * Counts these ids before they are removed, or made again, and stores them for the next leader. If that took time, everything must
   * be decided again. If it rejects, they must stay as they are.
   */
  async record(ids: readonly string[]): Promise<"recorded" | "decide again"> {
    const { removals, kind, settings } = this.#options;
    const stored = ids.filter((id) => removals.isStored(kind, id));
    if (settings.removalLimit === "off") return "recorded";
    // They count from now, because the change may have failed since they were recorded.
    removals.note(kind, stored);
    if (stored.length === ids.length) return "recorded";
    await removals.record(kind, ids);
    return "decide again";
  }
}

/** What one object adds to each sum. */
export type Share<Name extends string> = Readonly<Record<Name, number>>;

export interface TallyOptions<Name extends string> {
  readonly clock: Clock;
  readonly zero: Share<Name>;
  readonly keys: () => Iterable<string>;
  /** Undefined for an object that is gone. */
  readonly shareOf: (key: string) => Share<Name> | undefined;
}

/** Sums that are older are counted again: what an object adds may change without notice. */
const maxAge = 1000;

/**
 * Sums what many objects add to the counts of a mass limit. During a hold every absent object needs a decision, so a decision costs as much
 * as what has changed since the last one.
 */
export class Tally<Name extends string> {
  readonly #options: TallyOptions<Name>;
  readonly #shares = new Map<string, Share<Name>>();
  /** To count again at the next decision. */
  readonly #changed = new Set<string>();
  #sums: Record<Name, number>;
  /** When all objects were counted; undefined when they must be counted again. */
  #countedAt: number | undefined;

  constructor(options: TallyOptions<Name>) {
    this.#options = options;
    this.#sums = { ...options.zero };
  }

  /** All objects are counted again at the next decision, as after a listing. */
  invalidate(): void {
    this.#countedAt = undefined;
    this.#changed.clear();
  }

  /** The object, or what is known about it, may have changed. */
  noteChange(key: string): void {
    if (this.#isOutdated) this.invalidate();
    else this.#changed.add(key);
  }

  get sums(): Share<Name> {
    const { clock, zero, keys } = this.#options;
    if (this.#isOutdated) {
      this.#shares.clear();
      this.#sums = { ...zero };
      for (const key of keys()) this.#count(key);
      this.#countedAt = clock.monotonic();
    } else for (const key of this.#changed) this.#count(key);
    this.#changed.clear();
    return this.#sums;
  }

  get #isOutdated(): boolean {
    return this.#countedAt === undefined || this.#options.clock.monotonic() - this.#countedAt > maxAge;
  }

  #count(key: string): void {
    const { zero, shareOf } = this.#options;
    const before = this.#shares.get(key) ?? zero;
    const after = shareOf(key);
    if (after === undefined) this.#shares.delete(key);
    else this.#shares.set(key, after);
    for (const name of Object.keys(zero) as Name[]) this.#sums[name] += (after ?? zero)[name] - before[name];
  }
}
