// Compares the end state of runs with a fault at each operation, or a crash after each step, with that of a run without. Volumes
// and snapshots share a suite of such runs.

import { expect, test } from "bun:test";
import type { VolumeDriver } from "../../provider/volumes.ts";
import { runsAllTests } from "../breadth.ts";
import { type FaultKind, faultPositions, manyRuns, readFaultKinds } from "./faulty-transport.ts";
import { Lab } from "./lab.ts";
import { Crash } from "./process-memory.ts";
import type { Harness } from "./simulated-cloud.ts";
import { addMachines, type Machines, Orchestrator } from "./volume-orchestrator.ts";

/** A test environment that may contain further parts. */
interface World {
  readonly lab: Lab;
}

/** Expects the same result of `run` with a fault at every operation. Requests of `prepare` do not fail. */
export async function expectSameEndAfterFaults<W extends World>(
  kind: FaultKind,
  prepare: () => W | Promise<W>,
  run: (world: W) => Promise<unknown>,
): Promise<void> {
  const clean = await prepare();
  const first = clean.lab.requests.length;
  const expected = await run(clean);
  for (const position of faultPositions(clean.lab.requests.slice(first), kind)) {
    const world = await prepare();
    world.lab.faulty.failAt(position, kind);
    expect({ position, end: await run(world) }).toEqual({ position, end: expected });
    expect(world.lab.leakedListeners).toBe(0);
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

/** The steps after which the process crashes: all steps, or in `npm test` every fourth step, starting at this one. */
type CrashedSteps = "all" | 0 | 1 | 2 | 3;

const isCrashed = (step: number, steps: CrashedSteps): boolean =>
  steps === "all" || runsAllTests || step % 4 === steps;

/**
 * Each phase ends in the same state when the process crashes after a step and restarts, and a restart after the last step takes
 * no step. `converge` returns the number of steps, and crashes after the step with the index `crashAt`.
 */
export async function expectSameEndAfterCrashes<W extends World, T>(
  fresh: () => W,
  phases: readonly T[],
  converge: (world: W, phase: T, crashAt?: number) => Promise<number>,
  crashed: CrashedSteps = "all",
): Promise<void> {
  const clean = fresh();
  for (const [phase, desired] of phases.entries()) {
    const count = await converge(clean, desired);
    for (let crashAt = 0; crashAt <= count; crashAt++) {
      const isWhole = crashAt === count;
      if (!isWhole && !isCrashed(crashAt, crashed)) continue;
      const world = fresh();
      for (const earlier of phases.slice(0, phase)) await converge(world, earlier);
      expect(await crashes(converge(world, desired, crashAt))).toBe(!isWhole);
      world.lab.connect();
      const steps = await converge(world, desired);
      if (isWhole) expect(steps).toBe(0);
      const [state, expected] = [world.lab.state, clean.lab.state];
      expect({ phase, crashAt, state }).toEqual({ phase, crashAt, state: expected });
    }
  }
}

export interface VolumeWorld extends World, Machines {
  readonly orchestrator: Orchestrator;
}

/** A lab with two machines, and the sidecars. */
export async function volumeWorld(harness: Harness, driver: VolumeDriver): Promise<VolumeWorld> {
  const lab = new Lab(harness);
  const machines = await addMachines(lab, driver);
  return { lab, orchestrator: new Orchestrator(lab, driver), ...machines };
}

/**
 * The shared suite of volumes and snapshots: a whole life cycle ends in the same state after a fault or a crash at any request.
 * Call it within the `describe` of the object kind. `live` returns the state after each step.
 */
export function endsInTheSameState(
  fresh: () => Promise<VolumeWorld>,
  live: (world: VolumeWorld) => Promise<readonly unknown[]>,
): void {
  test.each(readFaultKinds)(
    "reaches the same end state with a %p fault at every operation",
    (fault) => expectSameEndAfterFaults(fault, fresh, live),
    manyRuns,
  );

  test(
    "reaches the same end state after a crash while a request is in progress",
    async () => {
      const clean = await fresh();
      const first = clean.lab.requests.length;
      const expected = await live(clean);
      for (const fault of ["reset", "lost-answer"] as const) {
        for (const position of faultPositions(clean.lab.requests.slice(first), fault)) {
          const world = await fresh();
          world.orchestrator.crashesOnFailure = true;
          world.lab.faulty.failAt(position, fault);
          const states = await live(world);
          expect({ fault, position, states }).toEqual({ fault, position, states: expected });
        }
      }
    },
    manyRuns,
  );
}
