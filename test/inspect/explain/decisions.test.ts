import { expect, test } from "bun:test";
import { decisionsAbout } from "../../../src/inspect/explain/description.ts";
import type { JournalEntry } from "../../../src/runtime/journal.ts";

const entry = (at: number, outcome: JournalEntry["outcome"]): JournalEntry => ({
  at,
  target: "cluster",
  object: "node/a",
  action: "patch: label x=y",
  why: "the Node joined",
  outcome,
});

test("the decisions about an object include a repeated plan once, with its latest time [F91]", () => {
  const shown = decisionsAbout(
    [1000, 2000, 3000].map((at) => entry(at, "observed")),
    ["node/a"],
  );
  expect(shown.map(({ at }) => at)).toEqual(["1970-01-01T00:00:03.000Z"]);
});

test("the decisions about an object include every failed attempt [F91]", () => {
  expect(
    decisionsAbout(
      [1000, 2000].map((at) => entry(at, "failed")),
      ["node/a"],
    ),
  ).toHaveLength(2);
});
