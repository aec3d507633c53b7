// The comparison of what two managers leave for a pair of specifications.

import { expect, test } from "bun:test";
import type { Pair } from "../../support/service-pairs/draw.ts";
import { comparable, differencesOf, type Explanation, explanationOf, membersThatDiffer } from "./compare.ts";
import type { Left, Played } from "./play-pairs.ts";

const left = (view: unknown, ...refusals: readonly string[]): Left => ({
  view,
  isServed: refusals.length === 0,
  refusals,
});
const none = { annotations: {}, parts: {} };
const played = (created: Left, changed: Left, alone: Left): Played => ({
  created,
  changed,
  alone,
  reference: none,
});
const pair: Pair = { seed: 1, first: none, invalid: none, second: none };

test("reports each field that differs, and ignores the order of lists", () => {
  const one = { a: { b: 1, c: [1, 2, 2] }, d: "x" };
  const other = { a: { b: 2, c: [2, 3, 1] }, e: "x" };
  expect(membersThatDiffer(one, other)).toEqual([
    { at: "a.b", expected: "1", found: "2" },
    { at: "a.c[]", expected: "2", found: undefined },
    { at: "a.c[]", expected: undefined, found: "3" },
    { at: "d", expected: '"x"', found: undefined },
    { at: "e", expected: undefined, found: '"x"' },
  ]);
  expect(membersThatDiffer([1, 2], [2, 1])).toEqual([]);
});

test("compares both managers after each specification, and each manager with itself", () => {
  const go = played(left({ x: 1 }), left({ x: 1 }), left({ x: 2 }));
  const fairlead = played(left({ x: 1 }), left({ x: 2 }), left({ x: 2 }));
  const found = differencesOf(comparable(go, fairlead, true));
  expect(found.map(({ comparison, at }) => `${comparison}: ${at}`)).toEqual([
    "changed: x",
    "history of the Go manager: x",
  ]);
  expect(differencesOf(comparable(go, fairlead, false)).map(({ comparison }) => comparison)).toEqual([
    "changed",
  ]);
});

test("reports a specification that only one manager rejects, and does not compare its changes", () => {
  const go = played(left({}, "mixed protocols"), left({}), left({}));
  const fairlead = played(left({ x: 1 }), left({ x: 1 }), left({}));
  const found = differencesOf(comparable(go, fairlead, false));
  expect(found).toEqual([
    { comparison: "created", at: "refused", expected: '["mixed protocols"]', found: "[]" },
  ]);
});

test("an explanation of a difference applies only to its comparisons, field and condition", () => {
  const one: Explanation = { row: "D1", in: ["changed"], at: /^x$/, when: ({ found }) => found === "2" };
  const difference = { comparison: "changed", at: "x", expected: "1", found: "2" } as const;
  expect(explanationOf(difference, pair, [one])).toBe(one);
  for (const other of [{ comparison: "created" }, { at: "y" }, { found: "3" }] as const)
    expect(explanationOf({ ...difference, ...other }, pair, [one])).toBeUndefined();
});
