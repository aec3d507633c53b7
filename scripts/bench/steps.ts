// Measures one thing that is done after another to a manager that runs: each from its beginning until it is done and the
// cloud has been left alone since.

import type { KeptProcess } from "../../test/cluster/rig/kept-process.ts";
import { type ProcessCost, processCost } from "./process-cost.ts";
import { describeCost, showProgress } from "./progress.ts";
import { type Bench, untilDone } from "./world.ts";

export interface Step {
  readonly name: string;
  readonly seconds: number;
  readonly requests: number;
  readonly mutating: number;
  /** Of the process that ran at its end, since that began. */
  readonly cost: ProcessCost | undefined;
}

/** Nothing more to come: for so long no request was made. */
const quietMs = 1500;
const mostSeconds = 900;

/** The moment of the last request, once none has come for a while. */
async function untilLeftAlone({ cloud }: Pick<Bench, "cloud">, manager: KeptProcess): Promise<number> {
  let seen = cloud.seen.length;
  let at = performance.now();
  const isQuiet = (): boolean => {
    if (cloud.seen.length !== seen) {
      seen = cloud.seen.length;
      at = performance.now();
    }
    return performance.now() - at > quietMs;
  };
  await untilDone(manager, "the cloud was left alone", isQuiet, { seconds: mostSeconds });
  return at;
}

export function createSteps({ cloud }: Pick<Bench, "cloud">, manager: () => KeptProcess) {
  const steps: Step[] = [];

  const lastRequestAt = (): Promise<number> => untilLeftAlone({ cloud }, manager());
  return {
    steps: steps as readonly Step[],
    /** `describe` says how far it is. */
    measure: async (
      name: string,
      begin: () => Promise<unknown>,
      isDone: () => boolean | Promise<boolean>,
      describe: () => string,
    ): Promise<void> => {
      await lastRequestAt();
      const before = cloud.seen.length;
      using _ = showProgress(() =>
        [
          `${name}: ${describe()}`,
          `${cloud.seen.length - before} cloud requests`,
          describeCost(processCost(manager().pid)),
        ].join("; "),
      );
      const began = performance.now();
      await begin();
      await untilDone(manager(), name, isDone, { seconds: mostSeconds, everyMs: 20 });
      const done = performance.now();
      const settled = await lastRequestAt();
      const seen = cloud.seen.slice(before);
      steps.push({
        name,
        seconds: (Math.max(done, settled) - began) / 1000,
        requests: seen.length,
        mutating: seen.filter(({ mutates }) => mutates).length,
        cost: processCost(manager().pid),
      });
    },
  };
}
