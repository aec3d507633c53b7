// A line on stderr every five seconds while a measurement runs, so that a slow one can be understood while it is slow.

import type { ProcessCost } from "./process-cost.ts";

export type Say = (text: string) => void;

const everyMs = 5000;

export const sayProgress: Say = (text) => void process.stderr.write(`${text}\n`);

/** Until it is disposed of; the text is asked for each time, with the seconds since it began. */
export function showProgress(describe: () => string | Promise<string>, say: Say = sayProgress): Disposable {
  const began = performance.now();
  let isAsked = false;
  const report = async (): Promise<void> => {
    // A server that is slow to answer is not asked twice at once.
    if (isAsked) return;
    isAsked = true;
    const seconds = Math.round((performance.now() - began) / 1000);
    try {
      say(`  ${String(seconds).padStart(4)} s  ${await describe()}`);
    } catch (error) {
      say(`  ${String(seconds).padStart(4)} s  ${String(error)}`);
    } finally {
      isAsked = false;
    }
  };
  const timer = setInterval(() => void report(), everyMs);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

export function describeCost(cost: ProcessCost | undefined): string {
  return cost === undefined
    ? "no figures of the process"
    : `CPU ${cost.cpuSeconds.toFixed(1)} s, peak ${cost.peakMiB.toFixed(0)} MiB`;
}
