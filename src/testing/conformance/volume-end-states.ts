// The part of the contract that volumes and snapshots share: a whole life ends in the same state after a fault or a crash at any request.

import { expect, test } from "bun:test";
import type { VolumeDriver } from "../../provider/volumes.ts";
import { expectSameEndAfterFaults } from "./end-states.ts";
import { faultPositions, manyRuns, readFaultKinds } from "./faulty-transport.ts";
import type { Lab } from "./lab.ts";
import { type Machines, Orchestrator } from "./volume-orchestrator.ts";

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
