// Runs the oracle over randomly drawn pairs of one cloud's specifications. FAIRLEAD_SEED=n replays one pair;
// FAIRLEAD_SEEDS=n runs n pairs.

import { expect, test } from "bun:test";
import { runsAllTests, runsNightly } from "../../../src/testing/breadth.ts";
import { consistent, drawPair, type Pair } from "./draw.ts";
import { judge, type PairCloud, rules, type Verdict } from "./oracle.ts";
import type { Specification } from "./specification.ts";

const numberFrom = (variable: string): number | undefined => {
  const text = process.env[variable];
  return text === undefined ? undefined : Number(text);
};

const only = numberFrom("FAIRLEAD_SEED");
const count = numberFrom("FAIRLEAD_SEEDS") ?? (runsNightly ? 500 : runsAllTests ? 50 : 4);
const seeds = only === undefined ? Array.from({ length: count }, (_, index) => index + 1) : [only];

/** The lines of two values that differ. */
function difference(expected: unknown, found: unknown): string {
  const lines = (value: unknown) => JSON.stringify(value, undefined, 1).split("\n");
  const [want, have] = [lines(expected), lines(found)];
  const without = (all: readonly string[], others: readonly string[]) => {
    const left = [...others];
    return all.filter((line) => {
      const at = left.indexOf(line);
      if (at >= 0) left.splice(at, 1);
      return at < 0;
    });
  };
  return [
    ...without(want, have).map((line) => `- ${line}`),
    ...without(have, want).map((line) => `+ ${line}`),
  ].join("\n");
}

function smaller({ annotations, parts }: Specification, seen: (one: Specification) => Pair): readonly Pair[] {
  const less = <T>(all: Readonly<Record<string, T>>, key: string) =>
    Object.fromEntries(Object.entries(all).filter(([name]) => name !== key));
  return [
    ...Object.keys(annotations).map((key) => seen({ annotations: less(annotations, key), parts })),
    ...Object.keys(parts).map((key) => seen({ annotations, parts: less(parts, key) })),
  ];
}

/** Omits the parts that the failure does not need. */
async function shrink<S>(
  cloud: PairCloud<S>,
  pair: Pair,
  verdict: Verdict,
): Promise<readonly [Pair, Verdict]> {
  const [failure] = verdict.failures;
  const candidates = [
    ...smaller(pair.first, (first) => ({ ...pair, first })),
    ...smaller(pair.second, (second) => ({ ...pair, second })),
    ...smaller(pair.invalid, (invalid) => ({ ...pair, invalid })),
  ];
  for (const one of candidates) {
    const candidate = consistent(one, cloud);
    if (Bun.deepEquals(candidate, pair)) continue;
    const smallerVerdict = await judge(cloud, candidate).catch(() => undefined);
    if (smallerVerdict?.failures.some(({ rule }) => rule === failure?.rule) === true)
      return shrink(cloud, candidate, smallerVerdict);
  }
  return [pair, verdict];
}

/** Declares the tests. Call this at the top level of a test file. */
export function servicePairs<S>(cloud: PairCloud<S>, file: string): void {
  const checked = new Map<string, number>();
  test.each(seeds)(
    "pair %i of specifications: a change leads to the same result as the final specification alone",
    async (seed) => {
      const pair = drawPair(seed, cloud);
      const verdict = await judge(cloud, pair);
      for (const rule of verdict.checked) checked.set(rule, (checked.get(rule) ?? 0) + 1);
      if (verdict.failures.length === 0) return;
      const [small, { failures }] = await shrink(cloud, pair, verdict);
      const [failure] = failures;
      throw new Error(
        [
          `Not so: ${failure && rules[failure.rule]}. Replay it with FAIRLEAD_SEED=${seed} npm test -- ${file}`,
          `seed ${JSON.stringify(pair)}`,
          `first ${JSON.stringify(small.first)}`,
          `invalid ${JSON.stringify(small.invalid)}`,
          `second ${JSON.stringify(small.second)}`,
          difference(failure?.expected, failure?.found),
        ].join("\n"),
      );
    },
  );

  if (only === undefined && count >= 100)
    test("most pairs of specifications can break a rule", () => {
      console.log([...checked]);
      for (const seen of checked.values()) expect(seen).toBeGreaterThan(0);
    });
}
