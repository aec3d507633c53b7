// Plays the scenarios of test/perturbation with one manager on the control planes of this process. A nightly run uses
// every position of every pattern and prints the rows of docs/perturbation.md; otherwise one scenario is played with one
// position of each pattern.

import { expect, describe as group, test } from "bun:test";
import { runsNightly } from "../../../src/testing/breadth.ts";
import { type Outcome, type Pattern, patternsOf, play, type Reference } from "../../perturbation/play.ts";
import { nodeIsReplaced, type Scenario, scenarios } from "../../perturbation/scenarios.ts";
import type { Manager } from "./managers.ts";
import { PerturbedWorld } from "./perturbed-world.ts";
import { planes } from "./planes.ts";

/** One for each control plane, unless the run is nightly. */
const kinds = [
  "killed",
  "unseen",
  "stale",
  ...(runsNightly ? ["stale, streaming lists" as const] : []),
] as const;

interface Run {
  readonly scenario: Scenario;
  readonly pattern: Pattern;
  readonly outcome: Outcome;
}

/** At this change, a manager that deletes a Node by name deletes the successor. */
const decisive = "nodes b: DELETED 1";

const isChosen = (pattern: Pattern): boolean =>
  runsNightly || ("change" in pattern ? pattern.change === decisive : pattern.write === 8);

/** The violations, without the members of the state that differ. */
const summaryOf = ({ violations }: Outcome): readonly string[] => [
  ...new Set(violations.map((text) => (/ at the end: /.test(text) ? "the state at the end differs" : text))),
];

const nameOf = ({ scenario, pattern }: Run): string =>
  `${scenario.name}; ${pattern.kind} ${"change" in pattern ? pattern.change : `write ${pattern.write}`}`;

/** Processes all jobs sequentially on each control plane. */
async function onPlanes<J, R>(
  jobs: readonly J[],
  work: (job: J, plane: ReturnType<typeof planes>[number]) => Promise<R>,
): Promise<readonly R[]> {
  const left = [...jobs.entries()];
  const results: R[] = [];
  await Promise.all(
    planes().map(async (plane) => {
      for (let next = left.shift(); next !== undefined; next = left.shift())
        results[next[0]] = await work(next[1], plane);
    }),
  );
  return results;
}

async function runAll(manager: Manager): Promise<readonly Run[]> {
  const playOne = async (
    plane: ReturnType<typeof planes>[number],
    scenario: Scenario,
    pattern?: Pattern,
    reference?: Reference,
  ): Promise<Outcome> => {
    await using world = await PerturbedWorld.prepare(plane, manager);
    return await play(world, scenario, pattern, reference);
  };
  const chosen = runsNightly ? scenarios : [nodeIsReplaced];
  const references = await onPlanes(chosen, (scenario, plane) => playOne(plane, scenario));
  expect(references.flatMap(({ violations }) => violations)).toEqual([]);
  const jobs = chosen.flatMap((scenario, index) => {
    const reference = references[index] as Reference;
    return kinds.flatMap((kind) =>
      patternsOf(reference, kind)
        .filter(isChosen)
        .map((pattern) => ({ scenario, pattern, reference })),
    );
  });
  const runs = await onPlanes(jobs, async ({ scenario, pattern, reference }, plane): Promise<Run> => {
    const outcome = await playOne(plane, scenario, pattern, reference);
    const run = { scenario, pattern, outcome };
    for (const text of summaryOf(outcome)) console.log(`(violation) ${nameOf(run)}: ${text}`);
    return run;
  });
  return runs.filter(({ outcome }) => outcome.isPerturbed);
}

/** `isSafe`: no violation is expected. Otherwise violations must prove that the perturbations work. */
export function perturb(
  title: string,
  manager: () => Manager,
  { isSafe }: { readonly isSafe: boolean },
): void {
  let running: ReturnType<typeof runAll> | undefined;
  group(`${title} with a perturbed view`, () => {
    for (const kind of kinds)
      test(kind, async () => {
        running ??= runAll(manager());
        const runs = (await running).filter(({ pattern }) => pattern.kind === kind);
        const violated = runs.filter(({ outcome }) => outcome.violations.length > 0);
        console.log(`| ${kind} | ${title} | ${runs.length} | ${violated.length} |`);
        expect(runs.length).toBeGreaterThan(0);
        if (isSafe) expect(violated.map((run) => [nameOf(run), ...run.outcome.violations])).toEqual([]);
        else if (kind === "unseen" || kind === "stale")
          expect(violated.flatMap(({ outcome }) => summaryOf(outcome))).toContain(
            "Node b was deleted, but its machine exists",
          );
      });
  });
}
