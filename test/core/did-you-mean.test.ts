// Suggestions for mistyped names.

import { expect, test } from "bun:test";
import fc from "fast-check";
import { didYouMean, editDistance } from "../../src/core/did-you-mean.ts";

const known = ["algorithm", "proxy-protocol", "health-check-interval", "retries", "type"];

test.each([
  ["algoritm", "algorithm"],
  ["heath-check-interval", "health-check-interval"],
  ["helath-check-interval", "health-check-interval"],
  ["ALGORITHM", "algorithm"],
  ["proxy_protocol", "proxy-protocol"],
  ["tpye", "type"],
  ["color", undefined],
  ["", undefined],
  ["x".repeat(5000), undefined],
])("didYouMean for %p suggests %p", (word, expected) => {
  expect(didYouMean(word, known)).toBe(expected);
});

test("didYouMean suggests the earlier of two equally close names", () => {
  expect(didYouMean("port", ["fort", "sort"])).toBe("fort");
});

const model = (from: string, to: string): number => {
  if (from === "" || to === "") return from.length + to.length;
  const isSame = from.at(-1) === to.at(-1);
  const isSwap = from.length > 1 && to.length > 1 && from.at(-1) === to.at(-2) && from.at(-2) === to.at(-1);
  return Math.min(
    model(from.slice(0, -1), to) + 1,
    model(from, to.slice(0, -1)) + 1,
    model(from.slice(0, -1), to.slice(0, -1)) + (isSame ? 0 : 1),
    isSwap ? model(from.slice(0, -2), to.slice(0, -2)) + 1 : Infinity,
  );
};

test("didYouMean computes the same distance as the definition, up to the maximum", () => {
  const word = fc.string({ unit: fc.constantFrom("a", "b", "c"), maxLength: 5 });
  fc.assert(
    fc.property(word, word, fc.integer({ min: 0, max: 5 }), (from, to, most) => {
      const expected = model(from, to);
      expect(editDistance(from, to, most)).toBe(expected <= most ? expected : undefined);
    }),
    { numRuns: 60 },
  );
});

test("didYouMean suggests only known names, and a known name for itself", () => {
  fc.assert(
    fc.property(fc.string(), fc.array(fc.string()), (word, words) => {
      const found = didYouMean(word, words);
      if (found !== undefined) expect(words).toContain(found);
      if (words.includes(word)) expect(found).toBeDefined();
    }),
  );
});
