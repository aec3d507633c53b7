// Plays the scenarios of a batch in one world, and records the state after each step.

import { until } from "../../cluster/rig/until.ts";
import type { States } from "./compare-states.ts";
import { type State, stateOf } from "./compared-state.ts";
import type { Manager } from "./managers.ts";
import type { Batch, Step } from "./scenario.ts";
import type { World } from "./world.ts";

/** Longer than every interval of the peer with the flags of managers.ts. */
const quietMs = 2500;
/** What a manager has not done by then is recorded as a difference. */
const patience = 60_000;

export interface Turn {
  readonly scenario: string;
  readonly step: Step;
}

/** Waits until the steps have had their effects and nothing has changed for a while. */
export async function settle(world: World, turns: readonly Turn[]): Promise<State> {
  const begun = performance.now();
  let last = { text: "", at: begun };
  let open = turns.filter(({ step }) => step.until !== undefined);
  let state: State = new Map();
  await until(
    "the manager to settle",
    async () => {
      const results = await Promise.all(open.map(({ step }) => step.until?.(world)));
      open = open.filter((_, index) => results[index] !== true);
      state = await stateOf(world);
      const text = JSON.stringify([...state]);
      const now = performance.now();
      if (text !== last.text) last = { text, at: now };
      return (open.length === 0 || now - begun > patience) && now - last.at > quietMs;
    },
    { seconds: 180, everyMs: 150, explain: () => world.log() },
  );
  const late = open.map(({ scenario, step }): [string, string] => [`scenario ${scenario}: late`, step.what]);
  return new Map([...state, ...late]);
}

export async function play(world: World, manager: Manager, batch: Batch): Promise<States> {
  await world.reset();
  await world.start(manager);
  const states = new Map<string, State>();
  const count = Math.max(...batch.map(({ steps }) => steps.length));
  for (let index = 0; index < count; index += 1) {
    const turns = batch.flatMap(({ name, steps }) =>
      steps.slice(index, index + 1).map((step): Turn => ({ scenario: name, step })),
    );
    // One after the other, so that each world's cloud numbers its machines in the same order.
    for (const { step } of turns) await step.act(world);
    states.set(`step ${index + 1}`, await settle(world, turns));
  }
  await world.stop();
  return states;
}
