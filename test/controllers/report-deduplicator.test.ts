import { expect, test } from "bun:test";
import { Troubles } from "../../src/controllers/node/problems.ts";
import { ToldOnce } from "../../src/controllers/report-deduplicator.ts";

const texts = (...all: readonly string[]) => all.map((text) => ({ text }));

test("says what is new, nothing that still holds, and what comes back again", () => {
  const told = new ToldOnce();
  expect(told.news("a", texts("x", "y", "x"))).toEqual(texts("x", "y"));
  expect(told.news("a", texts("y", "z"))).toEqual(texts("z"));
  expect(told.news("b", texts("y"))).toEqual(texts("y"));
  expect(told.news("a", texts("x", "z"))).toEqual(texts("x"));
});

test("remembers nobody of whom nothing holds any more", () => {
  const told = new ToldOnce();
  for (const subject of ["a", "b", "c"]) told.news(subject, texts("x"));
  told.news("a", []);
  told.forget("b");
  expect([...told.subjects]).toEqual(["c"]);
  told.forgetAllBut(new Set());
  expect([...told.subjects]).toEqual([]);
});

test("a problem of a node that is mended brings no second word about the others", () => {
  const troubles = new Troubles();
  const [one, other] = ["one", "other"].map(
    (text) => ({ severity: "warning", reason: "LabelDiffers", text }) as const,
  );
  if (one === undefined || other === undefined) throw new Error("Two were made.");
  expect(troubles.news("n", [one, other])).toEqual([one, other]);
  expect(troubles.news("n", [other])).toEqual([]);
});
