// Compares the end of runs with a fault at each operation, or a crash after each step, with the end of a run without.

import { expect, test } from "bun:test";
import type { VolumeDriver } from "../../provider/volumes.ts";
import { runsAllTests } from "../breadth.ts";
import { type FaultKind, faultPositions, manyRuns, readFaultKinds } from "./faulty-transport.ts";
import type { Lab } from "./lab.ts";
import { Crash } from "./process-memory.ts";
import { type Machines, Orchestrator } from "./volume-orchestrator.ts";

/** What `run` returns is the same with a fault at every operation. Requests of `prepare` do not fail. */
export async function expectSameEndAfterFaults(
  kind: FaultKind,
  prepare: () => Lab | Promise<Lab>,
  run: (lab: Lab) => Promise<unknown>,
): Promise<void> {
  const clean = await prepare();
  const first = clean.requests.length;
  const expected = await run(clean);
  for (const position of faultPositions(clean.requests.slice(first), kind)) {
    const lab = await prepare();
    lab.faulty.failAt(position, kind);
    expect({ position, end: await run(lab) }).toEqual({ position, end: expected });
    expect(lab.leakedListeners).toBe(0);
  }
}

/** Whether the work ends in a simulated crash. */
async function crashes(work: Promise<unknown>): Promise<boolean> {
  try {
    await work;
    return false;
  } catch (error) {
    if (error instanceof Crash) return true;
    throw error;
  }
}

/** The steps after which the process crashes: all of them, or in `npm test` every second one. */
export type CrashedSteps = "all" | "even" | "odd";

const isCrashed = (step: number, steps: CrashedSteps): boolean =>
  steps === "all" || runsAllTests || step % 2 === (steps === "even" ? 0 : 1);

/**
 * Each phase ends in the same state when the process crashes after a step and starts again, and a start after the last one takes no step.
 * `converge` returns how many steps it took, and crashes after the one with the index `crashAt`.
 */
export async function expectSameEndAfterCrashes<T>(
  fresh: () => Lab,
  phases: readonly T[],
  converge: (lab: Lab, phase: T, crashAt?: number) => Promise<number>,
  crashed: CrashedSteps = "all",
): Promise<void> {
  const clean = fresh();
  for (const [phase, desired] of phases.entries()) {
    const count = await converge(clean, desired);
    for (let crashAt = 0; crashAt <= count; crashAt++) {
      const isWhole = crashAt === count;
      if (!isWhole && !isCrashed(crashAt, crashed)) continue;
      const lab = fresh();
      for (const earlier of phases.slice(0, phase)) await converge(lab, earlier);
      expect(await crashes(converge(lab, desired, crashAt))).toBe(!isWhole);
      lab.connect();
      const steps = await converge(lab, desired);
      if (isWhole) expect(steps).toBe(0);
      expect({ phase, crashAt, state: lab.state }).toEqual({ phase, crashAt, state: clean.state });
    }
  }
}

// The part of the contract that volumes and snapshots share: a whole life ends in the same state after a fault or a crash at any request.

export interface VolumeLab extends Machines {
  readonly lab: Lab;
  readonly orchestrator: Orchestrator;
}

export interface VolumeLife {
  readonly driver: VolumeDriver;
  readonly fresh: () => Promise<VolumeLab>;
  /** Returns the state after each step. */
  readonly live: (orchestrator: Orchestrator, machines: Machines) => Promise<readonly unknown[]>;
}

/** Call it within the `describe` of what lives. */
export function endsInTheSameState({ driver, fresh, live }: VolumeLife): void {
  test.each(readFaultKinds)(
    "end in the same state with a %p fault at every operation",
    async (fault) => {
      let machines: Machines | undefined;
      const prepare = async () => {
        const { lab, ...made } = await fresh();
        machines = made;
        return lab;
      };
      await expectSameEndAfterFaults(fault, prepare, (lab) =>
        live(new Orchestrator(lab, driver), machines as Machines),
      );
    },
    manyRuns,
  );

  test(
    "end in the same state after a crash while a request is under way",
    async () => {
      const clean = await fresh();
      const first = clean.lab.requests.length;
      const expected = await live(clean.orchestrator, clean);
      for (const fault of ["reset", "lost-answer"] as const) {
        for (const position of faultPositions(clean.lab.requests.slice(first), fault)) {
          const { lab, orchestrator, ...machines } = await fresh();
          orchestrator.crashesOnFailure = true;
          lab.faulty.failAt(position, fault);
          const states = await live(orchestrator, machines);
          expect({ fault, position, states }).toEqual({ fault, position, states: expected });
        }
      }
    },
    manyRuns,
  );
}
