// Compares the states of two managers, and finds the explanation of each difference. Pure.

import type { State } from "./compared-state.ts";
import { type Explained, ofEachBalancer } from "./scenario.ts";

export interface Difference {
  /** The object and the member. */
  readonly at: string;
  /** The step after which the difference was first seen. */
  readonly after: string;
  readonly upstream: string | undefined;
  readonly fairlead: string | undefined;
}

/** The state after each step, by the description of the step. */
export type States = ReadonlyMap<string, State>;

/** The object without the member. */
const objectOf = (at: string): string =>
  at.replace(/: (?:exists$|event |call |label |annotation |attribute |condition |taint |\w+$).*$/s, "");

/** For an object that only one side has, only its existence is a difference; its events and calls are compared anyway. */
const isPartOfObject = (at: string): boolean => !/: (?:exists$|event |call )/.test(at);

/** Each line that differs after some step, once. */
export function differencesOf(upstream: States, fairlead: States): readonly Difference[] {
  const found = new Map<string, Difference>();
  for (const [after, left] of upstream) {
    const right = fairlead.get(after) ?? new Map<string, string>();
    for (const at of new Set([...left.keys(), ...right.keys()])) {
      const exists = `${objectOf(at)}: exists`;
      const isOnOneSide = left.has(exists) !== right.has(exists);
      if (left.get(at) === right.get(at) || found.has(at) || (isOnOneSide && isPartOfObject(at))) continue;
      found.set(at, { at, after, upstream: left.get(at), fairlead: right.get(at) });
    }
  }
  return [...found.values()];
}

const matches = ({ at }: Explained, { at: actual }: Difference): boolean =>
  new RegExp(`^${at.split("*").map(RegExp.escape).join(".*")}$`, "s").test(actual);

export interface Verdict {
  /** Differences that nothing explains. */
  readonly unexplained: readonly Difference[];
  /** Explanations of differences that did not occur. */
  readonly missing: readonly Explained[];
}

export function judge(differences: readonly Difference[], explained: readonly Explained[]): Verdict {
  const known = [...ofEachBalancer, ...explained];
  return {
    unexplained: differences.filter((one) => !known.some((each) => matches(each, one))),
    missing: explained.filter(
      (each) => each.isSometimes !== true && !differences.some((one) => matches(each, one)),
    ),
  };
}

/** The differences over several plays of a scenario. A difference that depends on a race does not occur in every play. */
export interface Repetition {
  /** The differences in every play, as in the last play. */
  readonly repeated: Verdict;
  /** The differences in only some plays. */
  readonly notes: Verdict;
}

/** Compares the verdicts about one scenario after several plays of it. */
export function repetitionOf(plays: readonly Verdict[]): Repetition {
  const split = <T extends { readonly at: string }>(lists: readonly (readonly T[])[]) => {
    const isAlways = ({ at }: T): boolean => lists.every((list) => list.some((one) => one.at === at));
    const byPlace = new Map(lists.flat().map((one) => [one.at, one]));
    return Map.groupBy(byPlace.values(), (one) => isAlways(one));
  };
  const unexplained = split(plays.map((play) => play.unexplained));
  const missing = split(plays.map((play) => play.missing));
  const verdict = (always: boolean): Verdict => ({
    unexplained: unexplained.get(always) ?? [],
    missing: missing.get(always) ?? [],
  });
  return { repeated: verdict(true), notes: verdict(false) };
}

export const clean: Verdict = { unexplained: [], missing: [] };

export const isClean = ({ unexplained, missing }: Verdict): boolean =>
  unexplained.length === 0 && missing.length === 0;

const shown = (value: string | undefined): string => (value === undefined ? "has none" : `has ${value}`);

export const describe = ({ at, after, upstream, fairlead }: Difference): string =>
  `${at}: upstream ${shown(upstream)}, Fairlead ${shown(fairlead)} (after: ${after})`;
