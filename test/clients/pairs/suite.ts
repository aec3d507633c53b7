// Plays seeded pairs of specifications with the Go manager of a cloud and with Fairlead. FAIRLEAD_PAIRS=n plays n pairs, and
// FAIRLEAD_SEED=n one pair.

import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fairlead } from "../../../scripts/rehearse/rehearsal.ts";
import type { Pair } from "../../support/service-pairs/draw.ts";
import { comparable, describe, differencesOf, type Explanation, explanationOf } from "./compare.ts";
import { type PeerCloud, peerPair } from "./pair-cloud.ts";
import { type Played, playPairs } from "./play-pairs.ts";

const only = process.env["FAIRLEAD_SEED"];
const count = Number(process.env["FAIRLEAD_PAIRS"] ?? 40);
const docs = join(import.meta.dir, "../../../docs");

const isOnPage =
  (page: string) =>
  ({ row }: Explanation): boolean =>
    /^D\d+$/.test(row) ? page.includes(`\n| ${row} |`) : page.includes(row);

interface Results {
  readonly go: ReadonlyMap<number, Played>;
  readonly fairlead: ReadonlyMap<number, Played>;
}

function playerOf(cloud: PeerCloud, command: string, pairs: readonly Pair[]) {
  const chunks = Map.groupBy(pairs, ({ seed }) => Math.floor((seed - 1) / cloud.perCloud));
  const results = new Map<number, Promise<Results>>();
  let last: Promise<unknown> = Promise.resolve();
  for (const [number, chunk] of chunks) {
    const playing = last.then(async (): Promise<Results> => {
      const [go, ours] = await Promise.all([
        playPairs(cloud, number, { command, reportsSyncs: true }, chunk),
        playPairs(cloud, number, { command: fairlead, reportsSyncs: false }, chunk),
      ]);
      return { go, fairlead: ours };
    });
    last = playing.catch(() => undefined);
    for (const { seed } of chunk) results.set(seed, playing);
  }
  return results;
}

/** Declares the tests. Call this at the top level of a client file. */
export function peerPairs(cloud: PeerCloud, command: string, explanations: readonly Explanation[]): void {
  const pages = ["differences.md", `clouds/${cloud.name}.md`].map((name) =>
    readFileSync(join(docs, name), "utf8"),
  );
  const seeds =
    only === undefined ? Array.from({ length: count * 2 }, (_, index) => index + 1) : [Number(only)];
  const pairs = seeds.flatMap((seed) => peerPair(seed, cloud.vocabulary) ?? []).slice(0, count);
  const hasHistory = ({ first, second }: Pair): boolean =>
    !Object.values(cloud.vocabulary.incomparable ?? {}).some((is) => is(first, second));
  const used = new Map<string, number>();
  let playing: ReturnType<typeof playerOf> | undefined;

  test("each explanation of a difference is documented", () => {
    const missing = explanations.filter((one) => !pages.some((page) => isOnPage(page)(one)));
    expect(missing.map(({ row }) => row)).toEqual([]);
  });

  for (const pair of pairs)
    test(`pair ${pair.seed}: Fairlead and the Go manager leave the same state, or a documented difference`, async () => {
      playing ??= playerOf(cloud, command, pairs);
      const { go, fairlead: ours } = (await playing.get(pair.seed)) as Results;
      const [one, other] = [go.get(pair.seed), ours.get(pair.seed)] as [Played, Played];
      const compared = comparable(one, other, hasHistory(pair));
      for (const [comparison] of compared)
        used.set(`compared: ${comparison}`, (used.get(`compared: ${comparison}`) ?? 0) + 1);
      const unexplained = differencesOf(compared).flatMap((difference) => {
        const explanation = explanationOf(difference, pair, explanations);
        if (explanation === undefined) return [describe(difference)];
        used.set(explanation.row, (used.get(explanation.row) ?? 0) + 1);
        return [];
      });
      if (unexplained.length === 0) return;
      throw new Error(
        [
          `Replay it with FAIRLEAD_SEED=${pair.seed}.`,
          `first ${JSON.stringify(pair.first)}`,
          `second ${JSON.stringify(pair.second)}`,
          ...unexplained,
        ].join("\n"),
      );
    });

  if (only === undefined)
    test("the pairs cover all kinds of comparison", () => {
      console.log([...used].map(([what, times]) => `${times} ${what}`).join("\n"));
      const ways = [...used.keys()].filter((one) => one.startsWith("compared: "));
      expect(ways.length).toBe(5);
    });
}
