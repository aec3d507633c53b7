// Hints cause few refreshes: one per burst, and a limited number per minute however many hints arrive.

import { expect, test } from "bun:test";
import { ChangeHints } from "../../src/cloud/change-hints.ts";
import type { Hinted } from "../../src/cloud/change-stream.ts";
import { milliseconds, minutes, seconds } from "../../src/core/brand.ts";
import { VirtualClock } from "../../src/testing/virtual-time/virtual-clock.ts";

function hintsWith(requests = 1) {
  const clock = new VirtualClock();
  const refreshes: { readonly hinted: Hinted; readonly since: number; readonly at: number }[] = [];
  const hints = new ChangeHints({
    clock,
    requests: () => requests,
    refresh: (hinted, since) => refreshes.push({ hinted, since, at: clock.monotonic() }),
  });
  return { clock, hints, refreshes };
}

test("change hints cause one request for all objects of a burst, after its last hint", async () => {
  const { clock, hints, refreshes } = hintsWith();
  hints.add("a");
  await clock.advance(milliseconds(100));
  hints.add("b");
  hints.add("a");
  await clock.advance(minutes(1));
  expect(refreshes).toEqual([{ hinted: new Set(["a", "b"]), since: 100, at: 300 }]);
});

test("change hints cause a request at least every two seconds while a burst does not end", async () => {
  const { clock, hints, refreshes } = hintsWith();
  for (let index = 0; index < 50; index += 1) {
    hints.add("a");
    await clock.advance(milliseconds(100));
  }
  expect(refreshes.map(({ at }) => at)).toEqual([2000, 4000]);
});

test("change hints cause a complete request after a hint without a key, and after more than 1,000 keys", async () => {
  const { clock, hints, refreshes } = hintsWith();
  hints.add("a");
  hints.add();
  hints.add("b");
  await clock.advance(seconds(1));
  for (let index = 0; index < 10_000; index += 1) hints.add(`key-${index}`);
  await clock.advance(seconds(1));
  expect(refreshes.map(({ hinted }) => hinted)).toEqual(["any", "any"]);
});

test.each([
  [1, 10 + 4 * 60],
  [40, 10 + 6],
])(
  "with %d requests per refresh, an hour of change hints causes at most %d refreshes",
  async (requests, most) => {
    const { clock, hints, refreshes } = hintsWith(requests);
    for (let second = 0; second < 3600; second += 1) {
      hints.add(`key-${second}`);
      await clock.advance(seconds(1));
    }
    expect(refreshes.length).toBeLessThanOrEqual(most);
    expect(refreshes.length).toBeGreaterThan(most - 4);
  },
);

test("the rate limit keeps the change hints that had to wait", async () => {
  const { clock, hints, refreshes } = hintsWith(4);
  for (let index = 0; index < 12; index += 1) {
    hints.add(`key-${index}`);
    await clock.advance(seconds(1));
  }
  expect(refreshes).toHaveLength(10);
  await clock.advance(minutes(1));
  expect(refreshes).toHaveLength(11);
  expect(refreshes[10]?.hinted).toEqual(new Set(["key-10", "key-11"]));
});

test("a change hint is ignored when its version is repeated or its key is too long", async () => {
  const { clock, hints, refreshes } = hintsWith();
  expect([hints.add("a", "1"), hints.add("a", "1"), hints.add("b", "1"), hints.add("a", "2")]).toEqual([
    true,
    false,
    true,
    true,
  ]);
  await clock.advance(seconds(1));
  expect([hints.add("a", "2"), hints.add("x".repeat(1000))]).toEqual([false, false]);
  await clock.advance(seconds(1));
  expect(refreshes).toHaveLength(1);
});

test("change hints cause no request after the end of the session", async () => {
  const { clock, hints, refreshes } = hintsWith();
  hints.add("a");
  hints.stop();
  await clock.advance(minutes(1));
  expect([refreshes, clock.pending]).toEqual([[], 0]);
});
