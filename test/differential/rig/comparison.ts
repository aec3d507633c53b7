// One test per scenario and manager: upstream and Fairlead play a batch at the same time, and every difference must be explained.

import { expect, describe as group, test } from "bun:test";
import { join } from "node:path";
import { type Difference, describe, differencesOf, judge, type States } from "./compare-states.ts";
import { isOtherPeer, managers } from "./managers.ts";
import { planes } from "./planes.ts";
import { play } from "./play.ts";
import { profileOfRows } from "./rows.ts";
import type { Batch, Explained, Scenario } from "./scenario.ts";
import { World } from "./world.ts";

const columns = ["the defaults", "the profile upstream"] as const;
type Column = (typeof columns)[number];

interface Options {
  /** Whether kube-controller-manager runs too. */
  readonly withControllerManager?: boolean;
}

async function playAll(
  batch: Batch,
  { withControllerManager = false }: Options,
): Promise<Readonly<Record<Column, readonly Difference[]>>> {
  const sides = await Promise.all(
    [managers.upstream(), managers.fairlead(), managers.profile()].map(
      async (manager, index): Promise<States> => {
        const plane = planes()[index];
        if (plane === undefined) throw new Error(`There is no control plane ${index}.`);
        await using world = await World.open(plane);
        if (withControllerManager) world.startControllerManager();
        return await play(world, manager, batch);
      },
    ),
  );
  const [upstream, defaults, profile] = sides as [States, States, States];
  return {
    "the defaults": differencesOf(upstream, defaults),
    "the profile upstream": differencesOf(upstream, profile),
  };
}

/** The scenario that an object belongs to: its name begins with that of the scenario. */
function scenarioOf({ at }: Difference, batch: Batch): Scenario | undefined {
  const [, name = ""] = /^(?:Node|Service|load balancer of|route of|scenario) (\S+):/.exec(at) ?? [];
  const found = batch.filter((scenario) => name.startsWith(scenario.name));
  return found.toSorted((one, other) => other.name.length - one.name.length)[0] ?? batch[0];
}

async function explanations(scenario: Scenario, column: Column): Promise<readonly Explained[]> {
  const page = await Bun.file(join(import.meta.dir, "../../../docs/differences.md")).text();
  const rows = profileOfRows(page);
  return (scenario.explained ?? []).filter(({ row, inProfile }) => {
    const isRestored = rows.get(row);
    if (isRestored === undefined) throw new Error(`docs/differences.md has no row ${row}.`);
    return column === "the defaults" || (inProfile ?? !isRestored);
  });
}

export function compare(title: string, batch: Batch, options: Options = {}): void {
  let playing: ReturnType<typeof playAll> | undefined;
  group(title, () => {
    for (const scenario of batch) {
      for (const column of columns) {
        test(`${scenario.title}, with ${column}`, async () => {
          playing ??= playAll(batch, options);
          const own = (await playing)[column].filter((one) => scenarioOf(one, batch) === scenario);
          const { unexplained, missing } = judge(own, await explanations(scenario, column));
          // Another peer may be closer to Fairlead than upstream.
          expect({
            unexplained: unexplained.map(describe),
            missing: isOtherPeer() ? [] : missing.map(({ at, row }) => `${row}: ${at}`),
          }).toEqual({ unexplained: [], missing: [] });
        });
      }
    }
  });
}
