import { expect, test } from "bun:test";
import { firstDifference, recordedTraces } from "./traces.ts";
import { models, stepOf } from "./vocabulary.ts";

// Sequences that Quint drew from `absence.qnt`, where every answer and decision is stated a second time, from docs/absence.md.

test.each(models)("ledgers, doubt and plans wait, hold and act as the model does: %s", async (model) => {
  for (const rows of await recordedTraces(model)) expect(await firstDifference(model, rows)).toBeUndefined();
});

test.each(models)(
  "the recorded sequences of the model have every outcome of a reconcile: %s",
  async (model) => {
    const steps = (await recordedTraces(model)).flat().map(stepOf);
    const outcomes = new Set(steps.flatMap(({ outcome }) => (outcome === "" ? [] : outcome)));
    expect([...outcomes].toSorted()).toEqual(["acted", "held", "present", "recorded", "wait"]);
  },
);
