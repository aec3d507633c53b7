// The three patterns of Sieve (OSDI '22), and how they are applied to a scenario: after the perturbation, the manager must
// reach the same states as without it, and must break no rule of the oracle on the way.

import type { State } from "../differential/rig/compared-state.ts";
import type { Oracle } from "./oracle.ts";
import type { PerturbedServer } from "./perturbed-server.ts";
import type { Actors, Scenario, Step } from "./scenarios.ts";

/** One cluster, one cloud, and one manager between perturbations. */
export interface Bench extends Actors {
  readonly server: PerturbedServer;
  readonly oracle: Oracle;
  /** Called after each manager write. */
  onWrite: () => void;
  readonly isRunning: boolean;
  start(): Promise<void>;
  /** Kills the manager, as SIGKILL does: a response in flight does not arrive. */
  kill(): void;
  state(): Promise<State>;
  /** Lets a moment pass. */
  tick(): Promise<void>;
  /** After this number of moments without a change, the manager has nothing left to do. */
  readonly quietTicks: number;
  /** The same number for the end, where late changes of the manager count. */
  readonly finalTicks: number;
  /** The manager will not do what it has not done after this number of moments. */
  readonly patienceTicks: number;
}

export type Pattern =
  /** Intermediate state: the manager is killed when this write, counted from 1, has taken effect, and starts again. */
  | { readonly kind: "killed"; readonly write: number }
  /** Unobserved state: the manager sees this change, and the changes of the next step, only as the result in the next list. */
  | { readonly kind: "unseen"; readonly change: string }
  /** Stale state: after the step, the manager starts again and reaches a server whose watch cache ends before the change. */
  | {
      readonly kind: "stale" | "stale, streaming lists";
      readonly change: string;
      readonly afterStep: number;
    };

/** The results of a play without a perturbation. */
export interface Reference {
  /** The state after each step. */
  readonly states: readonly string[];
  readonly writes: number;
  /** The changes that the manager was shown before the first step, and in each step. */
  readonly changes: readonly (readonly string[])[];
}

export interface Outcome extends Reference {
  /** Whether the perturbation took place. */
  readonly isPerturbed: boolean;
  readonly violations: readonly string[];
}

/** Without events and the number of calls, which differ after restarts and retries. */
const textOf = (state: State): string =>
  [...state]
    .filter(([line]) => !/: (?:event|call) /.test(line))
    .map(([line, value]) => `${line} = ${value}`)
    .toSorted()
    .join("\n");

const differences = (expected: string, found: string): readonly string[] => {
  const [wanted, seen] = [new Set(expected.split("\n")), new Set(found.split("\n"))];
  return [
    ...[...wanted.difference(seen)].map((line) => `missing at the end: ${line}`),
    ...[...seen.difference(wanted)].map((line) => `left at the end: ${line}`),
  ];
};

class Play {
  readonly #bench: Bench;
  readonly #pattern: Pattern | undefined;
  readonly #impossible: string[] = [];
  #writes = 0;
  #isPerturbed = false;

  constructor(bench: Bench, pattern: Pattern | undefined) {
    this.#bench = bench;
    this.#pattern = pattern;
    // Without streaming lists, Go managers begin with a list of resourceVersion=0.
    bench.server.hasStreamingLists = pattern?.kind !== "stale";
    if (pattern?.kind === "unseen") bench.server.holdFrom(pattern.change);
    bench.onWrite = () => {
      this.#writes += 1;
      if (pattern?.kind !== "killed" || this.#writes !== pattern.write) return;
      this.#isPerturbed = true;
      bench.kill();
    };
  }

  async run({ steps }: Scenario, reference: Reference | undefined): Promise<Outcome> {
    const bench = this.#bench;
    const states: string[] = [];
    await bench.start();
    await this.#until(async () => bench.server.isListed, bench.patienceTicks);
    const changes = [bench.server.changesShown];
    for (const [index, step] of steps.entries()) {
      const expected = reference?.states[index];
      if (!(await this.#take(step))) break;
      await this.#settle(step, expected);
      if (index === steps.length - 1) {
        this.#release();
        await this.#restartBehind(index);
        await this.#settle(step, expected);
        await this.#quiet(bench.finalTicks);
      } else await this.#restartBehind(index);
      states.push(textOf(await bench.state()));
      changes.push(bench.server.changesShown.slice(changes.flat().length));
    }
    const [last = "", found = ""] = [reference?.states.at(-1), states.at(-1)];
    const violations = [
      ...this.#impossible,
      ...(await bench.oracle.violations()),
      ...(reference === undefined ? [] : differences(last, found)),
    ];
    return { states, writes: this.#writes, changes, isPerturbed: this.#isPerturbed, violations };
  }

  /** Returns false when the step is impossible. */
  async #take({ what, needs, act }: Step): Promise<boolean> {
    const bench = this.#bench;
    const isPossible = async (): Promise<boolean> => needs === undefined || needs(bench);
    await this.#until(isPossible, bench.quietTicks);
    // The manager must see a deletion before it frees a name.
    if (!(await isPossible())) this.#release();
    await this.#until(isPossible, bench.patienceTicks);
    if (!(await isPossible())) {
      this.#impossible.push(`it never became possible that ${what}`);
      return false;
    }
    await act(bench);
    // The manager acts on the state that it still believes in.
    if (bench.server.isHolding) await this.#quiet();
    this.#release();
    return true;
  }

  #release(): void {
    if (!this.#bench.server.isHolding) return;
    this.#bench.server.release();
    this.#isPerturbed = true;
  }

  /** Until the state equals that of the reference, the change is held, or the manager has had enough time. */
  async #settle({ until }: Step, expected: string | undefined): Promise<void> {
    const bench = this.#bench;
    await this.#until(async () => {
      // After a violation, the state may never equal that of the reference.
      if (bench.server.isHolding || bench.oracle.isViolated) return true;
      if (expected === undefined) return until(bench);
      return textOf(await bench.state()) === expected;
    }, bench.patienceTicks);
    if (expected === undefined || bench.server.isHolding || bench.oracle.isViolated) await this.#quiet();
  }

  async #restartBehind(step: number): Promise<void> {
    const bench = this.#bench;
    const pattern = this.#pattern;
    if (pattern === undefined || !("afterStep" in pattern) || pattern.afterStep !== step) return;
    if (!bench.server.lagBefore(pattern.change)) return;
    this.#isPerturbed = true;
    bench.kill();
    const started = bench.start();
    await this.#quiet();
    bench.server.catchUp();
    await started;
  }

  /** Lets a moment pass, and starts a manager that was killed. */
  async #tick(): Promise<void> {
    if (!this.#bench.isRunning) await this.#bench.start();
    await this.#bench.tick();
  }

  async #until(condition: () => Promise<boolean>, ticks: number): Promise<void> {
    for (let count = 0; count < ticks; count += 1) {
      if (await condition()) return;
      await this.#tick();
    }
  }

  async #quiet(ticks = this.#bench.quietTicks): Promise<void> {
    let [last, since] = ["", 0];
    for (let count = 0; count < this.#bench.patienceTicks && since < ticks; count += 1) {
      await this.#tick();
      const state = textOf(await this.#bench.state());
      since = state === last ? since + 1 : 0;
      last = state;
    }
  }
}

export const play = (
  bench: Bench,
  scenario: Scenario,
  pattern?: Pattern,
  reference?: Reference,
): Promise<Outcome> => new Play(bench, pattern).run(scenario, reference);

/** All positions of a pattern in a scenario. */
export const patternsOf = ({ writes, changes }: Reference, kind: Pattern["kind"]): readonly Pattern[] => {
  if (kind === "killed") return Array.from({ length: writes }, (_, index) => ({ kind, write: index + 1 }));
  const last = changes.length - 2;
  return changes.slice(1).flatMap((ofStep, step) =>
    ofStep.map(
      (change): Pattern =>
        // The cache of the server ends during this step, and the manager starts again after the next one.
        kind === "unseen" ? { kind, change } : { kind, change, afterStep: Math.min(step + 1, last) },
    ),
  );
};
