import { expect, test } from "bun:test";
import { ProblemTracker } from "../../src/controllers/node/problems.ts";
import { ReportDeduplicator } from "../../src/controllers/report-deduplicator.ts";
import { VirtualClock } from "../../src/testing/virtual-time/virtual-clock.ts";

const texts = (...all: readonly string[]) => all.map((text) => ({ text }));

test("the report deduplicator reports new problems and returning ones, not lasting ones", () => {
  const reported = new ReportDeduplicator();
  expect(reported.news("a", texts("x", "y", "x"))).toEqual(texts("x", "y"));
  expect(reported.news("a", texts("y", "z"))).toEqual(texts("z"));
  expect(reported.news("b", texts("y"))).toEqual(texts("y"));
  expect(reported.news("a", texts("x", "z"))).toEqual(texts("x"));
});

test("the report deduplicator forgets a subject without problems", () => {
  const reported = new ReportDeduplicator();
  for (const subject of ["a", "b", "c"]) reported.news(subject, texts("x"));
  reported.news("a", []);
  reported.forget("b");
  expect([...reported.subjects]).toEqual(["c"]);
  reported.forgetAllBut(new Set());
  expect([...reported.subjects]).toEqual([]);
});

test("the problem tracker does not repeat a Node's other problems when one of them is fixed", () => {
  const problems = new ProblemTracker(new VirtualClock());
  const [one, other] = ["one", "other"].map(
    (text) => ({ severity: "warning", reason: "LabelDiffers", text }) as const,
  );
  if (one === undefined || other === undefined) throw new Error("Two were made.");
  expect(problems.news("n", [one, other])).toEqual([one, other]);
  expect(problems.news("n", [other])).toEqual([]);
});
