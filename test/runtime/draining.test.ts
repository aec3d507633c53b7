import { expect, test } from "bun:test";
import { milliseconds, seconds } from "../../src/core/brand.ts";
import { sleep } from "../../src/platform/clock.ts";
import { Draining, endOf } from "../../src/runtime/draining.ts";
import { runTogether } from "../../src/runtime/run-together.ts";
import { WorkQueue } from "../../src/runtime/work-queue.ts";
import { type Outcome, requeue, runWorkers, settled } from "../../src/runtime/workers.ts";
import { VirtualClock } from "../../src/testing/virtual-time/virtual-clock.ts";

/** Two workers whose reconciles take this long each, and what became of them. */
const atWork = (takes: number) => {
  const clock = new VirtualClock();
  const queue = new WorkQueue(clock);
  const stop = new AbortController();
  const said: string[] = [];
  const reconcile = async (key: string, signal: AbortSignal): Promise<Outcome> => {
    said.push(`${key} begins`);
    await sleep(clock, milliseconds(takes), signal);
    said.push(`${key} ends`);
    return settled;
  };
  const onError = (key: string): Outcome => {
    said.push(`${key} fails`);
    return requeue(seconds(1), "failed");
  };
  const workers = {
    name: "workers",
    run: (signal: AbortSignal) => runWorkers({ queue, count: 2, reconcile, onError, clock }, signal),
  };
  let hasEnded = false;
  void runTogether([workers], stop.signal).then(() => {
    hasEnded = true;
  });
  for (const key of ["a", "b", "c"]) queue.add(key);
  return { clock, stop, said, hasEnded: () => hasEnded };
};

test("a drain lets what is in hand finish and begins nothing new", async () => {
  const { clock, stop, said, hasEnded } = atWork(3000);
  await clock.advance(seconds(1));
  const end = new AbortController();
  stop.abort(new Draining("asked to stop", end.signal));
  await clock.advance(seconds(1));
  expect(hasEnded()).toBe(false);
  await clock.advance(seconds(2));
  expect([said, hasEnded()]).toEqual([["a begins", "b begins", "a ends", "b ends"], true]);
});

test("the end of a drain cuts what is still in hand, and that is no failure of it", async () => {
  const { clock, stop, said, hasEnded } = atWork(60_000);
  await clock.advance(seconds(1));
  const end = new AbortController();
  stop.abort(new Draining("asked to stop", end.signal));
  await clock.advance(seconds(10));
  expect(hasEnded()).toBe(false);
  end.abort();
  await clock.advance(seconds(0));
  expect([said, hasEnded(), clock.pending]).toEqual([["a begins", "b begins"], true, 0]);
});

test("any other abort cuts at once", async () => {
  const { clock, stop, said, hasEnded } = atWork(60_000);
  await clock.advance(seconds(1));
  stop.abort(new Error("leadership was lost"));
  await clock.advance(seconds(0));
  expect([said, hasEnded()]).toEqual([["a begins", "b begins"], true]);
});

test("who asked for the end may bring it forward, and one that is over already counts", () => {
  const stop = new AbortController();
  const end = endOf(stop.signal);
  end.abort("done");
  stop.abort(new Error("late"));
  expect(end.signal.reason).toBe("done");
  const over = AbortSignal.abort(new Draining("stop", AbortSignal.abort()));
  expect(endOf(over).signal.aborted).toBe(true);
  expect(endOf(AbortSignal.abort("cut")).signal.reason).toBe("cut");
});
