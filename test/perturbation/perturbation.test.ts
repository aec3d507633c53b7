// Fairlead reaches the same states with a perturbed view as with a complete one, and breaks no rule on the way. `npm test` takes
// some positions in two scenarios, `npm run test:all` takes each position in all scenarios.

import { expect, test } from "bun:test";
import { runsAllTests } from "../../src/testing/breadth.ts";
import { type Pattern, patternsOf, play, type Reference } from "./play.ts";
import { nodeIsReplaced, type Scenario, scenarios, serviceIsReplaced } from "./scenarios.ts";
import { VirtualBench } from "./virtual-bench.ts";

const perturbations: Readonly<Record<Pattern["kind"], string>> = {
  killed: "the manager is killed after a write",
  unseen: "a change is only seen in the next list",
  stale: "the manager restarts on an API server with an old cache",
  "stale, streaming lists": "the manager restarts while streaming lists wait for an old cache",
};

const references = new Map<Scenario, Promise<Reference>>();

const referenceOf = (scenario: Scenario): Promise<Reference> => {
  const known = references.get(scenario) ?? play(new VirtualBench(), scenario);
  references.set(scenario, known);
  return known;
};

const isChosen = (_: Pattern, index: number): boolean => runsAllTests || index % 10 === 7;
const chosenScenarios = runsAllTests ? scenarios : [nodeIsReplaced, serviceIsReplaced];

test.each(
  chosenScenarios.flatMap((scenario) =>
    Object.entries(perturbations).map(
      ([kind, what]) => [`${scenario.name}, and ${what}`, scenario, kind as Pattern["kind"]] as const,
    ),
  ),
)("converges when %s [N2 N23]", async (_, scenario, kind) => {
  const reference = await referenceOf(scenario);
  const chosen = patternsOf(reference, kind).filter(isChosen);
  expect(chosen.length).toBeGreaterThan(0);
  for (const pattern of chosen) {
    const { isPerturbed, violations } = await play(new VirtualBench(), scenario, pattern, reference);
    expect([pattern, isPerturbed, ...violations]).toEqual([pattern, true]);
  }
});
