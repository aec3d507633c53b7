import { expect, test } from "bun:test";
import { roughDuration } from "../../../src/core/duration.ts";
import type { State } from "../../../src/inspect/explain/description.ts";
import { isUnsettled, toneOf } from "../../../src/inspect/status/words.ts";

const hold = (reason: string) => [{ severity: "hold", reason, text: "" }] as const;

test.each([
  ["settled", "good", false],
  ["working", "waiting", true],
  ["problem", "bad", true],
  ["held", "bad", true],
  ["paused", "quiet", false],
  ["unmanaged", "quiet", false],
] as const)("an object that is %s has the tone %s", (state: State, tone, unsettled) => {
  expect(toneOf({ state, notes: [] })).toBe(tone);
  expect(isUnsettled({ tone })).toBe(unsettled);
});

test("a hold needs attention unless a further listing ends it", () => {
  expect(toneOf({ state: "held", notes: hold("LoadBalancerMissing") })).toBe("waiting");
  expect(toneOf({ state: "held", notes: hold("MassRemovalHeld") })).toBe("bad");
});

test.each([
  [400, "0s"],
  [59_400, "59s"],
  [60_000, "1m"],
  [125_000, "2m 5s"],
  [3_599_000, "59m"],
  [3_600_000, "1h"],
  [11_100_000, "3h 5m"],
  [172_800_000, "2d"],
  [187_200_000, "2d 4h"],
] as const)("shows %d ms as %s", (ms, text) => {
  expect(roughDuration(ms / 1000)).toBe(text);
});
