// Plays the scenarios of a batch in one world for each manager, and records the states after each step.

import { until } from "../../cluster/rig/until.ts";
import type { States } from "./compare-states.ts";
import type { State } from "./compared-state.ts";
import type { Batch, Step } from "./scenario.ts";
import { Observed, type Silence } from "./silence.ts";

/** Where one of the tested programs runs. */
export interface Stage {
  /** Read before the `until` of the steps. */
  state(): Promise<State>;
  /** The end of the program's output. */
  log(): string;
}

export interface Turn<S extends Stage> {
  readonly scenario: string;
  readonly step: Step<S>;
}

/** Longer than every interval of the peer with the flags of managers.ts. */
const quiet: Silence = { ms: 2500, looks: 12 };
/** After this time, unexpected states are recorded as a difference. */
const lasting: Silence = { ms: 20_000, looks: 40 };
/** After this time, unfinished work of a manager is recorded as a difference. */
const patience = 120_000;

/** One world while a step settles. */
class Side<S extends Stage> {
  readonly world: S;
  readonly #begun = performance.now();
  #open: readonly Turn<S>[];
  #state: State = new Map();
  readonly #observed = new Observed();

  constructor(world: S, turns: readonly Turn<S>[]) {
    this.world = world;
    this.#open = turns.filter(({ step }) => step.until !== undefined);
  }

  async look(): Promise<void> {
    this.#state = await this.world.state();
    const results = await Promise.all(this.#open.map(({ step }) => step.until?.(this.world)));
    this.#open = this.#open.filter((_, index) => results[index] !== true);
    this.#observed.see(JSON.stringify([...this.#state]), performance.now());
  }

  isSilent(silence: Silence): boolean {
    const now = performance.now();
    const isOver = this.#open.length === 0 || now - this.#begun > patience;
    return isOver && this.#observed.hasBeen(silence, now);
  }

  /** Includes the effects that are still missing. */
  get state(): State {
    const late = this.#open.map(({ scenario, step }): [string, string] => [
      `scenario ${scenario}: late`,
      step.what,
    ]);
    return new Map([...this.#state, ...late]);
  }
}

/**
 * Waits until the steps have taken effect and nothing changes. Unexpected states get much longer,
 * because one manager may only be slower than the other.
 */
export async function settle<S extends Stage>(
  worlds: readonly S[],
  turns: readonly Turn<S>[],
  isExpected: (states: readonly State[]) => boolean = () => true,
): Promise<readonly State[]> {
  const sides = worlds.map((world) => new Side(world, turns));
  const states = () => sides.map(({ state }) => state);
  await until(
    "the managers to settle",
    async () => {
      await Promise.all(sides.map((side) => side.look()));
      const areSilent = (silence: Silence) => sides.every((side) => side.isSilent(silence));
      return areSilent(quiet) && (isExpected(states()) || areSilent(lasting));
    },
    { seconds: 600, everyMs: 150, explain: () => worlds.map((world) => world.log()).join("\n") },
  );
  return states();
}

/** Whether a scenario expects these states after this step, which is their last one. */
export type Expectation = (sides: readonly States[], step: number) => boolean;

export const nameOfStep = (index: number): string => `step ${index + 1}`;

/** Plays a batch while the managers of the worlds run. */
export async function play<S extends Stage>(
  worlds: readonly S[],
  batch: Batch<S>,
  isExpected: Expectation,
): Promise<readonly States[]> {
  const sides = worlds.map((): Map<string, State> => new Map());
  const count = Math.max(...batch.map(({ steps }) => steps.length));
  for (let index = 0; index < count; index += 1) {
    const turns = batch.flatMap(({ name, steps }) =>
      steps.slice(index, index + 1).map((step): Turn<S> => ({ scenario: name, step })),
    );
    const record = (states: readonly State[]) => {
      for (const [at, side] of sides.entries()) side.set(nameOfStep(index), states[at] ?? new Map());
      return sides;
    };
    const actIn = async (world: S): Promise<void> => {
      // Sequentially, so that each world's cloud numbers its machines in the same order.
      for (const { step } of turns) await step.act(world);
    };
    await Promise.all(worlds.map(actIn));
    record(await settle(worlds, turns, (states) => isExpected(record(states), index)));
  }
  return sides;
}
