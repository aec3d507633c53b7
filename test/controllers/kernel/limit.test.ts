import { describe, expect, test } from "bun:test";
import {
  allowedRemovals,
  decideHold,
  defaultRemovalLimit,
  parseRemovalLimit,
} from "../../../src/controllers/kernel/removal-limit.ts";

test.each<[string, number, number]>([
  ["20%", 5, 2],
  ["20%", 10, 2],
  ["20%", 5000, 1000],
  ["0%", 5000, 2],
  ["20%,min=0", 4, 0],
  ["20%,min=5", 10, 5],
  ["20%,max=50", 5000, 50],
  ["20%,min=1,max=3", 5000, 3],
  ["5", 10, 5],
  ["5", 5000, 5],
  ["0", 5000, 0],
])("the removal limit %s of %i objects allows %i", (text, total, allowed) => {
  const limit = parseRemovalLimit(text);
  expect(limit === undefined || limit === "off" ? limit : allowedRemovals(limit, total)).toBe(allowed);
});

test.each(["", "20", "5"])("the removal limit %p is not a percentage", (text) => {
  expect(parseRemovalLimit(`${text}%%`)).toBeUndefined();
});

test.each([
  "101%",
  "20 %",
  "20%, min=2",
  "20%,max=5,min=2",
  "20%,min=5,max=2",
  "20%,atleast=2",
  "-1",
  "1.5",
  "5,min=2",
  "Off",
  "5000000",
])("rejects the removal limit %p", (text) => {
  expect(parseRemovalLimit(text)).toBeUndefined();
});

test("--removal-limit=off disables the limit", () => {
  expect(parseRemovalLimit("off")).toBe("off");
});

const counts = (absent: number, total: number, recent = 0) => ({ recent, absent, vanished: 0, total });

test.each([
  [counts(2, 3), false],
  [counts(3, 3), true],
  [counts(1, 5, 2), true],
  [counts(10, 100, 10), false],
  [counts(11, 100, 10), true],
  // The share is rounded down.
  [counts(3, 14), true],
  [counts(3, 15), false],
])(
  "the default limit holds the removals %j: %p, and a disabled limit holds none [F22 N1]",
  (given, isHeld) => {
    expect(decideHold(given, defaultRemovalLimit, {}, 0).isHeld).toBe(isHeld);
    expect(decideHold(given, "off", {}, 0).isHeld).toBe(false);
  },
);

describe("a hold", () => {
  test("a hold keeps its limit while objects join", () => {
    const begun = decideHold(counts(3, 14), defaultRemovalLimit, {}, 0);
    expect(begun).toEqual({ isHeld: true, allowed: 2, state: { totalAtStart: 14 } });
    expect(decideHold(counts(3, 100), defaultRemovalLimit, begun.state, 5)).toEqual(begun);
  });

  test("the limit of a hold decreases while objects leave", () => {
    expect(decideHold(counts(5, 15), defaultRemovalLimit, { totalAtStart: 20 }, 5)).toEqual({
      isHeld: true,
      allowed: 3,
      state: { totalAtStart: 20 },
    });
  });

  test("a hold ends and records the time when fewer objects are absent or the setting allows them", () => {
    const during = { totalAtStart: 14 };
    expect(decideHold(counts(2, 100), defaultRemovalLimit, during, 5).state).toEqual({ endedAt: 5 });
    for (const limit of ["off", { share: 0.2, min: 3, max: 9 }] as const) {
      expect(decideHold(counts(3, 14), limit, during, 5)).toMatchObject({
        isHeld: false,
        state: { endedAt: 5 },
      });
    }
    expect(decideHold(counts(0, 14), defaultRemovalLimit, { endedAt: 5 }, 9).state).toEqual({ endedAt: 5 });
  });

  test("does not remember a hold when nothing is absent and only recent removals exceed the limit", () => {
    const decision = decideHold(counts(0, 14, 4), defaultRemovalLimit, {}, 0);
    expect([decision.isHeld, decision.state]).toEqual([true, {}]);
  });
});
