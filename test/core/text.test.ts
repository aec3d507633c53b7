import { expect, test } from "bun:test";
import { shortList } from "../../src/core/text.ts";

test("shortList prints a list that fits completely, on one line", () => {
  expect(shortList([])).toBe("");
  expect(shortList(["a", "b\nc"])).toBe("a, b c");
});

test("shortList prints as many items as fit and counts the others", () => {
  const items = Array.from({ length: 100 }, (_, index) => `item-${index}`);
  const text = shortList(items, 60);
  expect(text).toBe("item-0, item-1, item-2, item-3, item-4, … and 95 more");
  expect(shortList(items).length).toBeLessThanOrEqual(400);
});

test("shortList truncates a long item", () => {
  expect(shortList(["x".repeat(1000), "y"])).toBe(`${"x".repeat(159)}…, y`);
});
