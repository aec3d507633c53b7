import { expect, test } from "bun:test";
import { getEventListeners } from "node:events";
import type { ReadFlags } from "../../../src/app/flags/read-flags.ts";
import type { CloudSession } from "../../../src/app/manager/cloud-session.ts";
import { CloudSessions } from "../../../src/app/manager/cloud-sessions.ts";
import { seconds } from "../../../src/core/brand.ts";
import { sleep } from "../../../src/platform/clock.ts";
import { Draining, endOf } from "../../../src/runtime/draining.ts";
import { VirtualClock } from "../../../src/testing/virtual-time/virtual-clock.ts";

// Sessions with a cloud that only has a number, and a task whose work takes some time.

const settings = {} as ReadFlags;

const setUp = (takes = 3, closes: Promise<void> = Promise.resolve()) => {
  const clock = new VirtualClock();
  const happened: string[] = [];
  let opened = 0;
  const open = (): CloudSession => {
    opened += 1;
    const number = opened;
    const close = () => {
      happened.push(`${number} closed`);
      return closes;
    };
    return { settings, number, close } as unknown as CloudSession;
  };
  const sessions = new CloudSessions({ open, first: settings, onReplaced: () => undefined });
  const current = (): number => (sessions.current as unknown as { number: number }).number;
  /** Works once per start, and then waits for the end. */
  const task = (work: (signal: AbortSignal) => Promise<void>) =>
    sessions.task({
      name: "task",
      run: async (signal) => {
        const number = current();
        happened.push(`${number} begins`);
        const end = endOf(signal);
        await work(end.signal).then(
          () => happened.push(`${number} ends`),
          () => happened.push(`${number} cancelled`),
        );
        if (!signal.aborted)
          await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
        end.abort();
      },
    });
  const slow = task((signal) => sleep(clock, seconds(takes), signal));
  const cancel = new AbortController();
  const reload = () =>
    sessions.reload(sessions.open(settings), "the configuration has changed", cancel.signal);
  return { clock, happened, sessions, task, slow, cancel, reload, current };
};

test("a reload closes the cloud session when all work has ended, and starts the task in the next session", async () => {
  const w = setUp();
  const stop = new AbortController();
  const running = w.slow.run(stop.signal);
  await w.clock.advance(seconds(1));
  void w.reload();
  await w.clock.advance(seconds(1));
  expect(w.happened).toEqual(["1 begins"]);
  await w.clock.advance(seconds(10));
  expect(w.happened).toEqual(["1 begins", "1 ends", "1 closed", "2 begins", "2 ends"]);
  stop.abort();
  await running;
  expect(w.clock.pending).toBe(0);
});

test("a reload whose drain times out cancels the running work, and restarts the task", async () => {
  const w = setUp(60);
  const stop = new AbortController();
  const running = w.slow.run(stop.signal);
  await w.clock.advance(seconds(1));
  void w.reload();
  w.cancel.abort();
  await w.clock.advance(seconds(1));
  expect(w.happened).toEqual(["1 begins", "1 cancelled", "1 closed", "2 begins"]);
  stop.abort();
  await running;
});

test("a reload waits for work that ignores its cancellation", async () => {
  const w = setUp();
  const held = Promise.withResolvers<void>();
  const stop = new AbortController();
  const running = w.task(() => held.promise).run(stop.signal);
  void w.reload();
  w.cancel.abort();
  await w.clock.advance(seconds(100));
  expect(w.happened).toEqual(["1 begins"]);
  held.resolve();
  await w.clock.advance(seconds(0));
  expect(w.happened.slice(0, 4)).toEqual(["1 begins", "1 ends", "1 closed", "2 begins"]);
  stop.abort();
  await running;
});

test("a task that begins during a reload waits for the end of the reload", async () => {
  const w = setUp();
  const stop = new AbortController();
  const first = w.slow.run(stop.signal);
  void w.reload();
  const second = w.slow.run(stop.signal);
  await w.clock.advance(seconds(10));
  expect(w.happened.filter((what) => what.endsWith("begins"))).toEqual(["1 begins", "2 begins", "2 begins"]);
  stop.abort();
  await Promise.all([first, second]);
});

test("a lost session cancels work that a reload drains, and does not wait for the reload", async () => {
  const w = setUp(60);
  const stop = new AbortController();
  const running = w.slow.run(stop.signal);
  void w.reload();
  stop.abort(new Error("leadership was lost"));
  await running;
  await w.clock.advance(seconds(0));
  expect(w.happened).toEqual(["1 begins", "1 cancelled", "1 closed"]);
});

test("a stop during a reload lets running work continue until the drain of the stop ends", async () => {
  const w = setUp(60);
  const [stop, end] = [new AbortController(), new AbortController()];
  const running = w.slow.run(stop.signal);
  void w.reload();
  stop.abort(new Draining("received SIGTERM", end.signal));
  await w.clock.advance(seconds(5));
  expect(w.happened).toEqual(["1 begins"]);
  end.abort();
  await running;
  expect(w.happened).toContain("1 cancelled");
});

test("each leadership session opens a cloud session, except the first, which uses the session from the start", () => {
  const w = setUp();
  w.sessions.begin();
  expect([w.current(), w.happened]).toEqual([1, []]);
  w.sessions.begin();
  expect([w.current(), w.happened]).toEqual([2, ["1 closed"]]);
});

test("a standby replica that becomes the leader uses the cloud session from its last reload", async () => {
  const w = setUp();
  await w.reload();
  w.sessions.begin();
  expect([w.current(), w.happened]).toEqual([2, ["1 closed"]]);
});

test("a hundred reloads leave no listener behind", async () => {
  const w = setUp(0);
  const stop = new AbortController();
  const running = w.slow.run(stop.signal);
  for (let turn = 0; turn < 100; turn += 1) {
    const reloaded = w.reload();
    await w.clock.advance(seconds(1));
    await reloaded;
  }
  expect(getEventListeners(stop.signal, "abort").length).toBeLessThan(4);
  expect(getEventListeners(w.cancel.signal, "abort")).toHaveLength(0);
  stop.abort();
  await running;
  expect(w.current()).toBe(101);
});

test("shutdown waits for the last session and for the session that a reload has replaced", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const w = setUp(0, promise);
  await w.reload();
  let hasEnded = false;
  const ended = w.sessions.end().then(() => {
    hasEnded = true;
  });
  await w.clock.advance(seconds(1));
  expect([w.happened, hasEnded]).toEqual([["1 closed", "2 closed"], false]);
  resolve();
  await ended;
  expect(hasEnded).toBe(true);
});
