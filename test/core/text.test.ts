import { expect, test } from "bun:test";
import { commandText, shortList, wrapText } from "../../src/core/text.ts";

test("shortList prints a list that fits completely, on one line", () => {
  expect(shortList([])).toBe("");
  expect(shortList(["a", "b\nc"])).toBe("a, b c");
});

test("shortList prints as many items as fit and counts the rest", () => {
  const items = Array.from({ length: 100 }, (_, index) => `item-${index}`);
  const text = shortList(items, 60);
  expect(text).toBe("item-0, item-1, item-2, item-3, item-4, … and 95 more");
  expect(shortList(items).length).toBeLessThanOrEqual(400);
});

test("shortList truncates a long item", () => {
  expect(shortList(["x".repeat(1000), "y"])).toBe(`${"x".repeat(159)}…, y`);
});

test("a command in a message stays on one line, and its end is recognizable", () => {
  const text = `To keep it: ${commandText("kubectl annotate service web on-delete=release --overwrite")}. Ask its owner first.`;
  expect(wrapText(text, 40, "  ").split("\n")).toEqual([
    "  To keep it:",
    "  `kubectl annotate service web on-delete=release --overwrite`.",
    "  Ask its owner first.",
  ]);
  expect(wrapText("", 40, "  ")).toBe("  ");
});
