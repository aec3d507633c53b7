// Repeats the whole life of a volume or snapshot: with a crash at each request, and with a fault at
// each request to the cloud. `npm test` takes a part of the positions.

import { expect } from "bun:test";
import { runsAllTests } from "../../src/testing/breadth.ts";
import type { Crossing } from "./service-world-options.ts";
import type { VolumeWorld } from "./volume-world.ts";

interface Life<W> {
  /** A new world, which is not started. */
  readonly open: () => W;
  /** Runs through the life, and checks at each step the conditions that must hold. */
  readonly live: (world: W) => Promise<void>;
}

/** `crosses` matches the requests at which the process is killed. */
export async function expectToSurviveCrashes<W extends VolumeWorld>(
  { open, live }: Life<W>,
  crosses: RegExp,
): Promise<void> {
  const crossings: Parameters<Crossing>[] = [];
  const clean = open();
  await clean.start();
  clean.onCrossing = (...crossing) => void crossings.push(crossing);
  await live(clean);
  await clean.stop();
  const positions = crossings.flatMap(([what], index) => (crosses.test(what) ? [index] : []));
  const chosen = runsAllTests ? positions : positions.filter((_, index) => index % 8 === 0);
  expect(positions.length).toBeGreaterThan(30);
  for (const position of chosen) {
    const w = open();
    let count = 0;
    let isKilled = false;
    w.onCrossing = () => {
      if (count++ !== position) return;
      isKilled = true;
      w.crash();
      void w.start();
    };
    await w.start();
    await live(w);
    expect({ position, isKilled }).toEqual({ position, isKilled: true });
    await w.stop();
  }
}

export const faultsOfTheCloud = [
  { kind: "reset" },
  { kind: "lost-answer" },
  { kind: "false-error", status: 500 },
  { kind: "status", status: 503 },
  { kind: "status", status: 429 },
  { kind: "no-effect" },
  { kind: "cut" },
] as const;

export async function expectToSurviveFaults<W extends VolumeWorld>(
  { open, live }: Life<W>,
  fault: (typeof faultsOfTheCloud)[number],
): Promise<void> {
  const clean = open();
  await clean.start();
  await live(clean);
  const operations = clean.asked.length;
  await clean.stop();
  // In `npm test` each request fails once, with the kinds of faults in turn.
  const [first, step] = runsAllTests ? [0, 1] : [faultsOfTheCloud.indexOf(fault), faultsOfTheCloud.length];
  expect(operations).toBeGreaterThan(first);
  for (let after = first; after < operations; after += step) {
    const w = open();
    await w.start();
    await w.until(() => w.manager.isIdle(), "idle");
    w.cloud.faults.add({ ...fault, after });
    await live(w);
    await w.stop();
  }
}
