// One test per scenario and manager: upstream and Fairlead play a batch at the same time, and every difference must be
// explained. A batch with an unexplained difference is played again, and only differences in every play fail a test,
// because upstream's workers race.

import { expect, describe as group, test } from "bun:test";
import { join } from "node:path";
import {
  clean,
  type Difference,
  describe,
  differencesOf,
  isClean,
  judge,
  type Repetition,
  repetitionOf,
  type States,
  type Verdict,
} from "./compare-states.ts";
import { isOtherPeer, managers } from "./managers.ts";
import { planes } from "./planes.ts";
import { type Expectation, nameOfStep, play } from "./play.ts";
import { profileOfRows } from "./rows.ts";
import type { Batch, Explained, Scenario } from "./scenario.ts";
import { World } from "./world.ts";

const columns = ["the defaults", "the profile upstream"] as const;
type Column = (typeof columns)[number];

interface Options {
  /** Whether kube-controller-manager runs next to the manager. */
  readonly withControllerManager?: boolean;
}

type Columns = Readonly<Record<Column, readonly Difference[]>>;

function compareSides(sides: readonly States[]): Columns {
  const [upstream, defaults, profile] = sides as [States, States, States];
  return {
    "the defaults": differencesOf(upstream, defaults),
    "the profile upstream": differencesOf(upstream, profile),
  };
}

async function playAll(
  batch: Batch,
  isExpected: Expectation,
  { withControllerManager = false }: Options,
): Promise<readonly States[]> {
  await using rooms = new AsyncDisposableStack();
  const all = [managers.upstream(), managers.fairlead(), managers.profile()];
  const worlds = await Promise.all(
    all.map(async (manager, index): Promise<World> => {
      const plane = planes()[index];
      if (plane === undefined) throw new Error(`There is no control plane ${index}.`);
      const world = rooms.use(await World.open(plane));
      if (withControllerManager) world.startControllerManager();
      await world.reset();
      await world.start(manager);
      return world;
    }),
  );
  return await play(worlds, batch, isExpected);
}

/** The scenario of an object, whose name begins with the scenario's name. */
function scenarioOf({ at }: Difference, batch: Batch): Scenario | undefined {
  const [, name = ""] = /^(?:Node|Service|load balancer of|route of|scenario) (\S+):/.exec(at) ?? [];
  const found = batch.filter((scenario) => name.startsWith(scenario.name));
  return found.toSorted((one, other) => other.name.length - one.name.length)[0] ?? batch[0];
}

function explanations(
  { explained = [] }: Scenario,
  column: Column,
  rows: ReadonlyMap<string, boolean>,
): readonly Explained[] {
  return explained.filter(({ row, inProfile }) => {
    const isRestored = rows.get(row);
    if (isRestored === undefined) throw new Error(`docs/differences.md has no row ${row}.`);
    return column === "the defaults" || (inProfile ?? !isRestored);
  });
}

const titleOf = ({ title }: Scenario, column: Column): string => `${title}, with ${column}`;

type Verdicts = ReadonlyMap<string, Verdict>;

/** The verdict on the states, by test title. */
function judgeAll(batch: Batch, sides: readonly States[], rows: ReadonlyMap<string, boolean>): Verdicts {
  const differences = compareSides(sides);
  const judged = (scenario: Scenario, column: Column): Verdict => {
    const own = differences[column].filter((one) => scenarioOf(one, batch) === scenario);
    const verdict = judge(own, explanations(scenario, column, rows));
    // A different peer may be closer to Fairlead than upstream.
    return isOtherPeer() ? { ...verdict, missing: [] } : verdict;
  };
  return new Map(
    batch.flatMap((scenario) =>
      columns.map((column) => [titleOf(scenario, column), judged(scenario, column)] as const),
    ),
  );
}

/** Every unexplained difference was in an earlier step, and the ending scenarios have shown the expected differences. */
function expectationOf(batch: Batch, rows: ReadonlyMap<string, boolean>): Expectation {
  return (sides, index) => {
    const verdicts = judgeAll(batch, sides, rows);
    return batch.every((scenario) =>
      columns.every((column) => {
        const { unexplained, missing } = verdicts.get(titleOf(scenario, column)) ?? clean;
        const isEnding = scenario.steps.length === index + 1;
        return (
          unexplained.every(({ after }) => after !== nameOfStep(index)) && (!isEnding || missing.length === 0)
        );
      }),
    );
  };
}

/** Plays a batch once, and returns the verdicts. */
async function verdictsOf(batch: Batch, options: Options): Promise<Verdicts> {
  const rows = profileOfRows(await Bun.file(join(import.meta.dir, "../../../docs/differences.md")).text());
  return judgeAll(batch, await playAll(batch, expectationOf(batch, rows), options), rows);
}

const maxPlays = 3;

/** Plays scenarios again while an unexpected difference occurred in every play so far. */
async function repetitionsOf(batch: Batch, options: Options): Promise<ReadonlyMap<string, Repetition>> {
  const found = new Map<string, Repetition>();
  const plays: Verdicts[] = [];
  let scenarios = batch;
  while (scenarios.length > 0 && plays.length < maxPlays) {
    const verdicts = await verdictsOf(scenarios, options);
    plays.push(verdicts);
    for (const title of verdicts.keys())
      found.set(title, repetitionOf(plays.map((play) => play.get(title) ?? clean)));
    const doubtful = batch.filter((scenario) =>
      columns.some((column) => !isClean(found.get(titleOf(scenario, column))?.repeated ?? clean)),
    );
    // The first scenario prepares what the others share.
    scenarios = batch.filter(
      (scenario, index) => doubtful.includes(scenario) || (index === 0 && doubtful.length > 0),
    );
  }
  return found;
}

const linesOf = ({ unexplained, missing }: Verdict): readonly string[] => [
  ...unexplained.map((one) => `unexplained: ${describe(one)}`),
  ...missing.map(({ at, row }) => `did not occur: ${row}: ${at}`),
];

export function compare(title: string, batch: Batch, options: Options = {}): void {
  let playing: ReturnType<typeof repetitionsOf> | undefined;
  group(title, () => {
    for (const scenario of batch) {
      for (const column of columns) {
        const own = titleOf(scenario, column);
        test(own, async () => {
          playing ??= repetitionsOf(batch, options);
          const { repeated, notes } = (await playing).get(own) ?? { repeated: clean, notes: clean };
          for (const line of linesOf(notes)) console.log(`(note) ${own}: not in every play: ${line}`);
          expect(linesOf(repeated)).toEqual([]);
        });
      }
    }
  });
}
