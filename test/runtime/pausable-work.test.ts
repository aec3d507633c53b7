import { expect, test } from "bun:test";
import { getEventListeners } from "node:events";
import { milliseconds, seconds } from "../../src/core/brand.ts";
import { sleep } from "../../src/platform/clock.ts";
import { Draining } from "../../src/runtime/draining.ts";
import { whilePaused } from "../../src/runtime/pausable-work.ts";
import { WorkQueue } from "../../src/runtime/work-queue.ts";
import { type Outcome, requeue, runWorkers, settled } from "../../src/runtime/workers.ts";
import { VirtualClock } from "../../src/testing/virtual-time/virtual-clock.ts";

/** Workers of one queue whose work takes this long, and a record of what happened. */
const startWorkers = (
  takes: number,
  work?: (key: string, signal: AbortSignal) => Promise<Outcome> | undefined,
) => {
  const clock = new VirtualClock();
  const queue = new WorkQueue(clock);
  const stop = new AbortController();
  const happened: string[] = [];
  let workers = 2;
  const reconcile = async (key: string, signal: AbortSignal): Promise<Outcome> => {
    happened.push(`${key} begins`);
    await (work?.(key, signal) ?? sleep(clock, milliseconds(takes), signal));
    happened.push(`${key} ends`);
    return settled;
  };
  const running = runWorkers(
    {
      queue,
      clock,
      reconcile,
      count: () => workers,
      onError: (key, _, failures) => {
        happened.push(`${key} fails for the ${failures}. time`);
        return requeue(seconds(failures), "failed");
      },
    },
    stop.signal,
  );
  const replace = (grace: number, change: () => void = () => happened.push("replaced")) =>
    whilePaused(
      [queue.work],
      {
        why: "the configuration has changed",
        clock,
        grace: seconds(grace),
        onDeadline: () => happened.push("deadline"),
      },
      change,
    );
  return {
    clock,
    queue,
    stop,
    happened,
    replace,
    running,
    setWorkers: (count: number) => {
      workers = count;
    },
  };
};

test("a pause replaces what the work depends on only when all work has ended, and the next keys wait for it", async () => {
  const w = startWorkers(3000);
  for (const key of ["a", "b", "c"]) w.queue.add(key);
  await w.clock.advance(seconds(1));
  void w.replace(10);
  await w.clock.advance(seconds(10));
  expect(w.happened).toEqual([
    ...["a begins", "b begins", "a ends", "b ends"],
    "replaced",
    ...["c begins", "c ends"],
  ]);
  w.stop.abort();
  await w.running;
  expect(w.clock.pending).toBe(0);
});

test("work that outlives the grace period is cancelled, and done again afterwards with its count of failures", async () => {
  const w = startWorkers(60_000);
  w.queue.add("a");
  await w.clock.advance(seconds(1));
  void w.replace(10);
  await w.clock.advance(seconds(9));
  expect(w.happened).toEqual(["a begins"]);
  await w.clock.advance(seconds(1));
  expect(w.happened).toEqual(["a begins", "deadline", "replaced", "a begins"]);
  w.stop.abort();
  await w.running;
});

test("a pause without a grace period cancels work immediately", async () => {
  const w = startWorkers(60_000);
  w.queue.add("a");
  await w.clock.advance(seconds(1));
  void w.replace(0);
  await w.clock.advance(seconds(0));
  expect(w.happened).toEqual(["a begins", "deadline", "replaced", "a begins"]);
  w.stop.abort();
  await w.running;
});

test("work that ignores its cancellation still delays the replacement until it ends", async () => {
  const held = Promise.withResolvers<Outcome>();
  let isFirst = true;
  const w = startWorkers(0, () => {
    if (!isFirst) return undefined;
    isFirst = false;
    return held.promise;
  });
  w.queue.add("a");
  await w.clock.advance(seconds(1));
  void w.replace(10);
  await w.clock.advance(seconds(100));
  expect(w.happened).toEqual(["a begins", "deadline"]);
  held.resolve(settled);
  await w.clock.advance(seconds(1));
  expect(w.happened).toEqual(["a begins", "deadline", "a ends", "replaced"]);
  w.stop.abort();
  await w.running;
});

test("failures are counted across a pause, and delayed keys keep their time", async () => {
  let failing = true;
  const w = startWorkers(0, () => (failing ? Promise.reject(new Error("no")) : undefined));
  w.queue.add("a");
  await w.clock.advance(milliseconds(500));
  await w.replace(10);
  expect([w.queue.delayed, w.queue.depth]).toEqual([1, 0]);
  await w.clock.advance(milliseconds(400));
  expect(w.happened).toEqual(["a begins", "a fails for the 1. time", "replaced"]);
  await w.clock.advance(milliseconds(100));
  expect(w.happened.slice(3)).toEqual(["a begins", "a fails for the 2. time"]);
  failing = false;
  w.stop.abort();
  await w.running;
});

test("the number of workers is read again after a pause", async () => {
  const w = startWorkers(1000);
  for (const key of ["a", "b", "c", "d", "e", "f"]) w.queue.add(key);
  await w.clock.advance(milliseconds(500));
  expect(w.queue.active).toBe(2);
  void w.replace(10, () => w.setWorkers(1));
  await w.clock.advance(seconds(1));
  expect(w.queue.active).toBe(1);
  void w.replace(10, () => w.setWorkers(3));
  await w.clock.advance(seconds(1));
  expect(w.queue.active).toBe(3);
  w.stop.abort();
  await w.running;
});

test("work that begins during a pause waits for its end", async () => {
  const w = startWorkers(0);
  const cancel = new AbortController();
  await w.queue.work.pause("test", cancel.signal);
  const other = new AbortController();
  let isRunning = false;
  const next = w.queue.work.run(async () => {
    isRunning = true;
  }, other.signal);
  await w.clock.advance(seconds(1));
  expect([isRunning, w.queue.work.isRunning]).toEqual([false, true]);
  w.queue.work.resume();
  await next;
  expect(isRunning).toBe(true);
  w.stop.abort();
  await w.running;
});

test("a lost session cancels work that a pause drains, and a request to stop keeps its own drain", async () => {
  for (const [reason, endsImmediately] of [
    [new Error("leadership was lost"), true],
    [new Draining("received SIGTERM", new AbortController().signal), false],
  ] as const) {
    const w = startWorkers(5000);
    w.queue.add("a");
    await w.clock.advance(seconds(1));
    const replaced = w.replace(10);
    await w.clock.advance(seconds(1));
    w.stop.abort(reason);
    await w.clock.advance(seconds(0));
    expect(w.happened.includes("replaced")).toBe(endsImmediately);
    await w.clock.advance(seconds(4));
    await Promise.all([replaced, w.running]);
    expect(w.happened).toEqual(
      endsImmediately ? ["a begins", "replaced"] : ["a begins", "a ends", "replaced"],
    );
    expect(w.clock.pending).toBe(0);
  }
});

test("pausable work counts as running until its session ends, also during a pause", async () => {
  const w = startWorkers(0);
  await w.clock.advance(seconds(1));
  expect(w.queue.work.isRunning).toBe(true);
  await w.queue.work.pause("test", new AbortController().signal);
  expect(w.queue.work.isRunning).toBe(true);
  w.stop.abort();
  await w.running;
  expect(w.queue.work.isRunning).toBe(false);
});

test("a pause resumes the work when the replacement throws", async () => {
  const w = startWorkers(0);
  const replaced = w.replace(10, () => {
    throw new Error("refused");
  });
  await expect(replaced).rejects.toThrow("refused");
  w.queue.add("a");
  await w.clock.advance(seconds(1));
  expect(w.happened).toEqual(["a begins", "a ends"]);
  w.stop.abort();
  await w.running;
});

test("a hundred pauses leave no listener behind", async () => {
  const w = startWorkers(100);
  for (let pause = 0; pause < 100; pause += 1) {
    w.queue.add("a");
    await w.clock.advance(milliseconds(50));
    void w.replace(10, () => undefined);
    await w.clock.advance(seconds(1));
  }
  expect(getEventListeners(w.stop.signal, "abort").length).toBeLessThan(5);
  expect(w.clock.pending).toBe(0);
  w.stop.abort();
  await w.running;
});
