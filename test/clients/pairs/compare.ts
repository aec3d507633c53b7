// Compares what two managers leave for the same pair of specifications, and what each leaves for a change with what it leaves
// for the last specification alone. Pure.

import type { Pair } from "../../support/service-pairs/draw.ts";
import type { Left, Played } from "./play-pairs.ts";

/** The comparisons: Fairlead with the Go manager after a specification, or a manager with itself. */
export const comparisons = {
  created: "the first specification alone",
  alone: "the second specification alone",
  changed: "the change",
  "history of the Go manager": "the change, compared with the second specification alone",
  "history of Fairlead": "the change, compared with the second specification alone",
} as const;

export type Comparison = keyof typeof comparisons;

export interface Difference {
  readonly comparison: Comparison;
  /** The path of the member, or "refused". */
  readonly at: string;
  readonly expected: string | undefined;
  readonly found: string | undefined;
}

/** A difference that the documents describe. */
export interface Explanation {
  /** A row of docs/differences.md, such as D46, or a text that occurs there or on the page of the cloud. */
  readonly row: string;
  /** The comparisons in which it occurs. */
  readonly in: readonly Comparison[];
  readonly at: RegExp;
  readonly when?: (difference: Difference, pair: Pair) => boolean;
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

type Member = Pick<Difference, "at" | "expected" | "found">;

/** With sorted members and lists. */
function canonical(value: unknown): unknown {
  const byText = <T extends readonly [string, unknown]>(all: readonly T[]) =>
    all.toSorted(([one], [other]) => (one < other ? -1 : 1));
  if (Array.isArray(value))
    return byText(value.map((one) => canonical(one)).map((one) => [JSON.stringify(one), one])).map(
      ([, one]) => one,
    );
  if (!isObject(value)) return value;
  return Object.fromEntries(byText(Object.entries(value)).map(([name, one]) => [name, canonical(one)]));
}

const shown = (value: unknown): string | undefined =>
  value === undefined ? undefined : JSON.stringify(value);

/** The members that differ. Lists are compared without their order. */
export const membersThatDiffer = (expected: unknown, found: unknown): readonly Member[] =>
  differing(canonical(expected), canonical(found), "");

function differing(expected: unknown, found: unknown, at: string): readonly Member[] {
  if (Bun.deepEquals(expected, found)) return [];
  if (isObject(expected) && isObject(found)) {
    const names = new Set([...Object.keys(expected), ...Object.keys(found)]);
    return [...names].flatMap((name) =>
      differing(expected[name], found[name], at === "" ? name : `${at}.${name}`),
    );
  }
  if (Array.isArray(expected) && Array.isArray(found)) {
    const [want, have] = [expected, found].map((all) => all.map((one) => JSON.stringify(one))) as [
      string[],
      string[],
    ];
    const missing = want.filter((one) => {
      const index = have.indexOf(one);
      if (index >= 0) have.splice(index, 1);
      return index < 0;
    });
    return [
      ...missing.map((one) => ({ at: `${at}[]`, expected: one, found: undefined })),
      ...have.map((one) => ({ at: `${at}[]`, expected: undefined, found: one })),
    ];
  }
  return [{ at, expected: shown(expected), found: shown(found) }];
}

const isClean = ({ refusals }: Left): boolean => refusals.length === 0;

function between(comparison: Comparison, expected: Left, found: Left): readonly Difference[] {
  const members =
    isClean(expected) && isClean(found)
      ? membersThatDiffer(expected.view, found.view)
      : [{ at: "refused", expected: shown(expected.refusals), found: shown(found.refusals) }];
  return members.map((one) => ({ comparison, ...one }));
}

/** The pairs of states that can be compared. `hasHistory`: whether the second specification alone can leave the same as the change. */
export function comparable(
  go: Played,
  fairlead: Played,
  hasHistory: boolean,
): readonly (readonly [Comparison, expected: Left, found: Left])[] {
  const isSameStart =
    isClean(go.created) && isClean(fairlead.created) && go.created.isServed === fairlead.created.isServed;
  const isSameEnd = Bun.deepEquals(go.reference, fairlead.reference);
  const canCompare = (alone: Left) => hasHistory && isClean(alone);
  const all: readonly (readonly [Comparison, expected: Left, found: Left])[] = [
    ["created", go.created, fairlead.created],
    ...(isSameEnd ? ([["alone", go.alone, fairlead.alone]] as const) : []),
    ...(isSameStart ? ([["changed", go.changed, fairlead.changed]] as const) : []),
    // A refused creation of the Go manager leaves parts.
    ...(canCompare(go.alone) && isClean(go.created)
      ? ([["history of the Go manager", go.alone, go.changed]] as const)
      : []),
    ...(canCompare(fairlead.alone)
      ? ([["history of Fairlead", fairlead.alone, fairlead.changed]] as const)
      : []),
  ];
  return all.filter(([, expected, found]) => isClean(expected) || isClean(found));
}

export const differencesOf = (compared: ReturnType<typeof comparable>): readonly Difference[] =>
  compared.flatMap(([comparison, expected, found]) => between(comparison, expected, found));

export const explanationOf = (
  difference: Difference,
  pair: Pair,
  all: readonly Explanation[],
): Explanation | undefined =>
  all.find(
    (one) =>
      one.in.includes(difference.comparison) &&
      one.at.test(difference.at) &&
      (one.when?.(difference, pair) ?? true),
  );

export const describe = ({ comparison, at, expected = "nothing", found = "nothing" }: Difference): string =>
  `${comparison}: ${at}: ${expected} and ${found}`;
