import { describe, expect, test } from "bun:test";
import {
  allowedRemovals,
  decideHold,
  defaultRemovalLimit,
  parseRemovalLimit,
} from "../../../src/controllers/removal-limit.ts";

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
])("the limit %s of %i allows %i", (text, total, allowed) => {
  const limit = parseRemovalLimit(text);
  expect(limit === undefined || limit === "off" ? limit : allowedRemovals(limit, total)).toBe(allowed);
});

test.each(["", "20", "5"])("the limit %p is no percentage", (text) => {
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
])("the limit %p is refused", (text) => {
  expect(parseRemovalLimit(text)).toBeUndefined();
});

test("the limit off is off", () => {
  expect(parseRemovalLimit("off")).toBe("off");
});

describe("a hold", () => {
  const affected = (count: number, total: number) => ({ recent: 0, affected: count, total });

  test("keeps its limit while objects join", () => {
    const begun = decideHold(affected(3, 14), defaultRemovalLimit, undefined);
    expect(begun).toEqual({ isHeld: true, allowed: 2, totalAtStart: 14 });
    expect(decideHold(affected(3, 100), defaultRemovalLimit, begun.totalAtStart)).toEqual(begun);
  });

  test("gets a lower limit while objects leave", () => {
    expect(decideHold(affected(5, 15), defaultRemovalLimit, 20)).toEqual({
      isHeld: true,
      allowed: 3,
      totalAtStart: 20,
    });
  });

  test("ends when fewer objects are absent, or the setting allows them", () => {
    expect(decideHold(affected(2, 100), defaultRemovalLimit, 14).totalAtStart).toBeUndefined();
    for (const limit of ["off", { share: 0.2, min: 3, max: 9 }] as const) {
      expect(decideHold(affected(3, 14), limit, 14)).toMatchObject({
        isHeld: false,
        totalAtStart: undefined,
      });
    }
  });

  test("is not remembered when nothing is absent and only recent removals exceed the limit", () => {
    const decision = decideHold({ recent: 4, affected: 0, total: 14 }, defaultRemovalLimit, undefined);
    expect([decision.isHeld, decision.totalAtStart]).toEqual([true, undefined]);
  });
});
