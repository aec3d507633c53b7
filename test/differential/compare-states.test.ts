// The comparison of two states, and the rows of docs/differences.md that explain their differences.

import { expect, test } from "bun:test";
import { clean, differencesOf, judge, repetitionOf } from "./rig/compare-states.ts";
import { profileOfRows } from "./rig/rows.ts";
import { topics } from "./scenarios/topics.ts";

const states = (...all: readonly Readonly<Record<string, string>>[]) =>
  new Map(all.map((state, index) => [`step ${index + 1}`, new Map(Object.entries(state))]));

test("the comparison reports a line that differs after any step once, with the step", () => {
  const upstream = states({ "Node a: taint x": "" }, { "Node a: taint x": "" });
  const fairlead = states({ "Node a: taint x": "" }, {});
  expect(differencesOf(upstream, fairlead)).toEqual([
    { at: "Node a: taint x", after: "step 2", upstream: "", fairlead: undefined },
  ]);
  expect(differencesOf(upstream, upstream)).toEqual([]);
});

test("for an object that one side lacks, the comparison reports only its existence, events and calls", () => {
  const upstream = states({
    "Node a: exists": "yes",
    "Node a: label x": "y",
    "Node a: event Normal Synced: x": "c",
  });
  expect(differencesOf(upstream, states({})).map(({ at }) => at)).toEqual([
    "Node a: exists",
    "Node a: event Normal Synced: x",
  ]);
});

test("a pattern explains differences, and an explanation without a difference is reported", () => {
  const differences = differencesOf(states({ "Node a: label x": "1", "Node b: label x": "1" }), states({}));
  const used = { at: "Node a: label *", row: "D1" };
  const unused = { at: "Node a: taint *", row: "D2" };
  const { unexplained, missing } = judge(differences, [used, unused]);
  expect([unexplained.map(({ at }) => at), missing]).toEqual([["Node b: label x"], [unused]]);
});

test("a difference in every run is a failure, a difference in some runs only a note", () => {
  const play = (found: readonly string[], missing: readonly string[]) => ({
    unexplained: found.map((at) => ({ at, after: "step 1", upstream: "1", fairlead: undefined })),
    missing: missing.map((at) => ({ at, row: "D1" })),
  });
  const { repeated, notes } = repetitionOf([
    play(["always", "first only"], ["never there", "late"]),
    play(["always", "second only"], ["never there"]),
  ]);
  expect(repeated).toEqual(play(["always"], ["never there"]));
  expect(notes).toEqual(play(["first only", "second only"], ["late"]));
  const { repeated: once } = repetitionOf([play(["planted"], [])]);
  expect(once).toEqual(play(["planted"], []));
  expect(repetitionOf([play(["raced"], []), clean]).repeated).toEqual(clean);
});

test("reads from docs/differences.md whether the profile restores upstream's behavior", () => {
  const page = [
    "| # | U | F | W | K | Flag | Profile | Rows |",
    "|---|",
    "| D7 | a \\| b | c | d | e | f | yes | g |",
  ];
  expect(profileOfRows([...page, "| D8 | a | b | c | d | e | no | f |"].join("\n"))).toEqual(
    new Map([
      ["D7", true],
      ["D8", false],
    ]),
  );
});

test("every explanation of a scenario names an existing row of docs/differences.md", async () => {
  const rows = profileOfRows(await Bun.file("docs/differences.md").text());
  const used = Object.values(topics)
    .flat()
    .flatMap(({ explained = [] }) => explained.map(({ row }) => row));
  expect(used.filter((row) => !rows.has(row))).toEqual([]);
});
