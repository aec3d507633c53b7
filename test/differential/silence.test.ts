import { expect, test } from "bun:test";
import { Observed } from "./rig/silence.ts";

const silence = { ms: 2500, looks: 12 };

/** Whether it counts as silent after this many observations at these intervals, without a change after the first one. */
const isSilentAfter = (looks: number, everyMs: number): boolean => {
  const observed = new Observed();
  for (let look = 0; look <= looks; look += 1) observed.see("same", look * everyMs);
  return observed.hasBeen(silence, looks * everyMs);
};

test("a silent period needs its duration on an idle machine, and its observations on a busy machine", () => {
  expect([isSilentAfter(12, 150), isSilentAfter(17, 150)]).toEqual([false, true]);
  expect([isSilentAfter(11, 5000), isSilentAfter(12, 5000)]).toEqual([false, true]);
});

test("a change ends a silent period", () => {
  const observed = new Observed();
  for (let look = 0; look < 100; look += 1) observed.see("before", look * 1000);
  observed.see("after", 100_000);
  expect(observed.hasBeen(silence, 103_000)).toBe(false);
});
