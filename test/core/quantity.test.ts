import { expect, test } from "bun:test";
import { bytesOf, quantityOf } from "../../src/core/quantity.ts";

test.each([
  ["10Gi", 10_737_418_240],
  ["1500Mi", 1_572_864_000],
  ["1G", 1_000_000_000],
  ["1e3", 1000],
  ["1E3", 1000],
  ["1E", 1e18],
  ["0.5Gi", 536_870_912],
  [".5", 1],
  ["1500m", 2],
  ["0", 0],
] as const)("%s is %d bytes, rounded up", (text, bytes) => {
  expect(bytesOf(text)).toBe(bytes);
});

test.each(["", "Gi", "1 Gi", "1gi", "1Kib", "x", "1e"])("%j is not a quantity", (text) => {
  expect(bytesOf(text)).toBeUndefined();
});

test.each([
  [10_737_418_240, "10Gi"],
  [1_572_864_000, "1500Mi"],
  [1000, "1000"],
  [0, "0"],
  [2 ** 40, "1Ti"],
] as const)("%d bytes are written as %s", (bytes, text) => {
  expect(quantityOf(bytes)).toBe(text);
});
