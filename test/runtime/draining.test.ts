import { expect, test } from "bun:test";
import { milliseconds, seconds } from "../../src/core/brand.ts";
import { sleep } from "../../src/platform/clock.ts";
import { Draining, endOf } from "../../src/runtime/draining.ts";
import { runTogether } from "../../src/runtime/run-together.ts";
import { WorkQueue } from "../../src/runtime/work-queue.ts";
import { type Outcome, requeue, runWorkers, settled } from "../../src/runtime/workers.ts";
import { VirtualClock } from "../../src/testing/virtual-time/virtual-clock.ts";

/** Starts two workers whose reconciles take this long, and records what they did. */
const startWorkers = (takes: number) => {
  const clock = new VirtualClock();
  const queue = new WorkQueue(clock);
  const stop = new AbortController();
  const events: string[] = [];
  const reconcile = async (key: string, signal: AbortSignal): Promise<Outcome> => {
    events.push(`${key} begins`);
    await sleep(clock, milliseconds(takes), signal);
    events.push(`${key} ends`);
    return settled;
  };
  const onError = (key: string): Outcome => {
    events.push(`${key} fails`);
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
  return { clock, stop, events, hasEnded: () => hasEnded };
};

test("a drain finishes work in progress and starts no other work", async () => {
  const { clock, stop, events, hasEnded } = startWorkers(3000);
  await clock.advance(seconds(1));
  const end = new AbortController();
  stop.abort(new Draining("asked to stop", end.signal));
  await clock.advance(seconds(1));
  expect(hasEnded()).toBe(false);
  await clock.advance(seconds(2));
  expect([events, hasEnded()]).toEqual([["a begins", "b begins", "a ends", "b ends"], true]);
});

test("the end of a drain cancels work in progress without reporting a failure", async () => {
  const { clock, stop, events, hasEnded } = startWorkers(60_000);
  await clock.advance(seconds(1));
  const end = new AbortController();
  stop.abort(new Draining("asked to stop", end.signal));
  await clock.advance(seconds(10));
  expect(hasEnded()).toBe(false);
  end.abort();
  await clock.advance(seconds(0));
  expect([events, hasEnded(), clock.pending]).toEqual([["a begins", "b begins"], true, 0]);
});

test("an abort other than a drain cancels immediately", async () => {
  const { clock, stop, events, hasEnded } = startWorkers(60_000);
  await clock.advance(seconds(1));
  stop.abort(new Error("leadership was lost"));
  await clock.advance(seconds(0));
  expect([events, hasEnded()]).toEqual([["a begins", "b begins"], true]);
});

test("the end of a drain can be triggered early, and an ended drain cancels immediately", () => {
  const stop = new AbortController();
  const end = endOf(stop.signal);
  end.abort("done");
  stop.abort(new Error("late"));
  expect(end.signal.reason).toBe("done");
  const over = AbortSignal.abort(new Draining("stop", AbortSignal.abort()));
  expect(endOf(over).signal.aborted).toBe(true);
  expect(endOf(AbortSignal.abort("cut")).signal.reason).toBe("cut");
});
