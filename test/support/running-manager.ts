// A manager that runs in a simulated process: when the process is dead, its pending calls never return.

import type { Manager } from "../../src/app/manager/manager.ts";
import type { Transport } from "../../src/platform/transport.ts";
import type { SimulatedProcess } from "../simulation/simulated-process.ts";

export interface RunningManager {
  readonly life: SimulatedProcess;
  readonly cut: AbortController;
  readonly stop: AbortController;
  readonly done: Promise<void>;
  readonly manager: Manager;
}

export const never = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true }));

export const noFiles = {
  read: () => Promise.reject(Object.assign(new Error("There are no files here."), { code: "ENOENT" })),
  version: () => Promise.resolve(undefined),
  write: () => Promise.resolve(),
  run: () => Promise.reject(new Error("There are no programs here.")),
};

/** The process's transport. */
export const through =
  (life: SimulatedProcess, cut: AbortSignal, send: Transport): Transport =>
  async (request, signal) => {
    if (life.isDead) return never(signal);
    try {
      const answer = await send(request, AbortSignal.any([signal, cut]));
      return life.isDead ? never(signal) : answer;
    } catch (error) {
      if (life.isDead) return never(signal);
      throw error;
    }
  };
