import { describe, expect, test } from "bun:test";
import { getEventListeners } from "node:events";
import { milliseconds, seconds } from "../../src/core/brand.ts";
import { messageOf } from "../../src/core/error-message.ts";
import type { Clock } from "../../src/platform/clock.ts";
import { runTogether } from "../../src/runtime/run-together.ts";
import { WorkQueue } from "../../src/runtime/work-queue.ts";
import { type Outcome, requeue, runWorkers, settled, waiting } from "../../src/runtime/workers.ts";
import { VirtualClock } from "../../src/testing/virtual-time/virtual-clock.ts";

describe("workers", () => {
  const setUp = (reconcile: (key: string) => Promise<Outcome>, count = 2) => {
    const clock = new VirtualClock();
    const queue = new WorkQueue(clock);
    const stop = new AbortController();
    const errors: string[] = [];
    const done: string[] = [];
    const running = runWorkers(
      {
        queue,
        count,
        reconcile,
        onError: (key, error, failures) => {
          errors.push(`${key} ${messageOf(error)} ${failures}`);
          return requeue(seconds(failures), "failed");
        },
        onDone: (key, outcome) => done.push(`${key} ${outcome.kind}`),
        clock,
      },
      stop.signal,
    );
    return { clock, queue, stop, errors, done, running };
  };

  test("workers process as many keys at a time as there are workers, and each key once", async () => {
    const open: (() => void)[] = [];
    const w = setUp(() => new Promise((resolve) => open.push(() => resolve(settled))));
    for (const key of ["a", "b", "c", "a"]) w.queue.add(key);
    await w.clock.advance(seconds(1));
    expect([w.queue.active, w.queue.depth]).toEqual([2, 1]);
    open[0]?.();
    await w.clock.advance(seconds(1));
    // "c" is being processed; "a" was added again and waits.
    expect([w.queue.active, w.queue.depth]).toEqual([2, 1]);
    w.stop.abort();
    for (const finish of open) finish();
    await w.running;
  });

  test("workers yield to the event loop between keys without work [N4]", async () => {
    let elapsed = 0;
    const inThisTurn: string[] = [];
    const w = setUp(async (key) => {
      elapsed += 4;
      inThisTurn.push(key);
      return settled;
    });
    w.clock.monotonic = () => elapsed;
    for (const key of ["a", "b", "c", "d", "e", "f", "g", "h"]) w.queue.add(key);
    await new Promise((resolve) => setImmediate(resolve));
    expect(inThisTurn.length).toBeLessThan(8);
    await w.clock.advance(milliseconds(0));
    await w.clock.advance(milliseconds(0));
    expect(inThisTurn).toEqual(["a", "b", "c", "d", "e", "f", "g", "h"]);
    w.stop.abort();
    await w.running;
  });

  test("workers start only as many keys in one turn of the event loop as fit into its time slice [N25]", async () => {
    let now = 0;
    const began: number[] = [];
    const timers: (() => void)[] = [];
    const clock = {
      now: () => now,
      monotonic: () => now,
      after: (_: unknown, run: () => void) => {
        timers.push(run);
        return () => undefined;
      },
    };
    const queue = new WorkQueue(clock as Clock);
    const reconcile = async (): Promise<Outcome> => {
      now += 20;
      began.push(timers.length);
      return new Promise(() => undefined);
    };
    const options = { queue, count: 25, reconcile, onError: () => settled, clock: clock as Clock };
    void runWorkers(options, new AbortController().signal);
    for (let key = 0; key < 25; key++) queue.add(`key-${key}`);
    for (let turn = 1; turn <= 25; turn++) {
      for (let step = 0; step < 50; step++) await Promise.resolve();
      expect(began).toHaveLength(turn);
      timers.pop()?.();
    }
  });

  test("workers count consecutive failures until a success, even with waits in between", async () => {
    const script = ["fail", "wait", "fail", "ok", "fail"];
    const w = setUp(async () => {
      const next = script.shift();
      if (next === "fail") throw new Error("no");
      return next === "wait" ? waiting : settled;
    });
    for (let round = 0; round < 5; round += 1) {
      w.queue.add("a");
      await w.clock.advance(milliseconds(1));
    }
    expect(w.errors).toEqual(["a no 1", "a no 2", "a no 1"]);
    w.stop.abort();
    await w.running;
  });

  test("workers add a key again when its outcome requires it, and finish their keys before they end", async () => {
    let runs = 0;
    const w = setUp(async () => (++runs < 3 ? requeue(seconds(5), "look") : settled));
    w.queue.add("a");
    await w.clock.advance(seconds(9));
    expect(runs).toBe(2);
    await w.clock.advance(seconds(1));
    expect(w.done).toEqual(["a again", "a again", "a settled"]);
    expect(w.queue.isIdle).toBe(true);
    w.stop.abort();
    await w.running;
    expect(getEventListeners(w.stop.signal, "abort")).toHaveLength(0);
  });
});

describe("tasks that run together", () => {
  test("tasks that run together are aborted when one task fails, and the error names that task", async () => {
    const ended: string[] = [];
    const outer = new AbortController();
    const failure = runTogether(
      [
        {
          name: "watch",
          run: (signal) =>
            new Promise((resolve) =>
              signal.addEventListener("abort", () => {
                ended.push("watch");
                resolve();
              }),
            ),
        },
        { name: "serve", run: () => Promise.reject(new Error("port taken")) },
        { name: "short", run: async () => void ended.push("short") },
      ],
      outer.signal,
    );
    expect(messageOf(await failure.catch((error: unknown) => error))).toBe("serve failed: port taken");
    expect(ended).toEqual(["short", "watch"]);
    expect(getEventListeners(outer.signal, "abort")).toHaveLength(0);
  });

  test("tasks that run together end without an error when the signal is aborted", async () => {
    const outer = new AbortController();
    const run = (signal: AbortSignal) =>
      new Promise<void>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    const running = runTogether([{ name: "a", run }], outer.signal);
    outer.abort(new Error("stop"));
    await running;
  });
});
