import { expect, test } from "bun:test";
import { shortList } from "../../src/core/text.ts";

test("a list that fits is shown whole, on one line", () => {
  expect(shortList([])).toBe("");
  expect(shortList(["a", "b\nc"])).toBe("a, b c");
});

test("of a long list as many items as fit are shown, and the others are counted", () => {
  const items = Array.from({ length: 100 }, (_, index) => `item-${index}`);
  const text = shortList(items, 60);
  expect(text).toBe("item-0, item-1, item-2, item-3, item-4, … and 95 more");
  expect(shortList(items).length).toBeLessThanOrEqual(400);
});

test("an item that is too long is cut", () => {
  expect(shortList(["x".repeat(1000), "y"])).toBe(`${"x".repeat(159)}…, y`);
});
