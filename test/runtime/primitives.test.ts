import { describe, expect, test } from "bun:test";
import { getEventListeners } from "node:events";
import { milliseconds, seconds } from "../../src/core/brand.ts";
import { messageOf } from "../../src/core/error-message.ts";
import { seededRandom } from "../../src/platform/random.ts";
import { alignToGrid, backoff, untilNext } from "../../src/runtime/backoff.ts";
import { DeadlineError, withDeadline } from "../../src/runtime/deadline.ts";
import { Journal } from "../../src/runtime/journal.ts";
import { Snapshot } from "../../src/runtime/snapshot.ts";
import { VirtualClock } from "../../src/testing/virtual-time/virtual-clock.ts";

describe("a snapshot", () => {
  const setUp = () => {
    const clock = new VirtualClock();
    const begun: number[] = [];
    let fails = false;
    const snapshot = new Snapshot<string>({
      clock,
      signal: new AbortController().signal,
      list: async function* () {
        const index = begun.push(clock.monotonic());
        for (const page of ["x", "y"]) {
          await new Promise<void>((resolve) => clock.after(seconds(1), resolve));
          if (fails && page === "y") throw new Error("page missing");
          yield [`${page}${index}`];
        }
      },
    });
    return { clock, begun, snapshot, fail: (on: boolean) => (fails = on) };
  };

  test("a snapshot is shared by all callers that request it before it begins", async () => {
    const { clock, begun, snapshot } = setUp();
    const asked = [snapshot.beganAfter(0), snapshot.beganAfter(0)];
    await clock.advance(seconds(2));
    const [first, second] = await Promise.all(asked);
    expect(first).toBe(second as NonNullable<typeof second>);
    expect(first).toMatchObject({ items: ["x1", "y1"], pages: 2, beganAt: 0, endedAt: 2000, version: 1 });
    expect(begun).toEqual([0]);
  });

  test("a snapshot causes one new listing for callers that request it while a listing runs", async () => {
    const { clock, begun, snapshot } = setUp();
    void snapshot.beganAfter(0);
    await clock.advance(seconds(1));
    const late = [snapshot.beganAfter(1000), snapshot.beganAfter(1000)];
    await clock.advance(seconds(5));
    expect((await Promise.all(late)).map(({ beganAt }) => beganAt)).toEqual([2000, 2000]);
    expect(begun).toEqual([0, 2000]);
  });

  test("a snapshot keeps the last listing when a page is missing, and fails only the callers of the failed listing", async () => {
    const { clock, snapshot, fail } = setUp();
    void snapshot.beganAfter(0);
    await clock.advance(seconds(2));
    fail(true);
    const doomed = snapshot.beganAfter(2000).catch(messageOf);
    await clock.advance(seconds(1));
    const later = snapshot.beganAfter(3000);
    await clock.advance(milliseconds(999));
    fail(true);
    await clock.advance(milliseconds(1));
    fail(false);
    expect(await doomed).toBe("page missing");
    expect(snapshot.latest?.version).toBe(1);
    await clock.advance(seconds(3));
    expect(await later).toMatchObject({ version: 2, beganAt: 4000 });
  });
});

describe("a deadline [F72]", () => {
  test("a deadline ends work that ignores its signal, aborts the signal, and removes its listener", async () => {
    const clock = new VirtualClock();
    const outer = new AbortController();
    let inner: AbortSignal | undefined;
    const late = withDeadline(clock, seconds(3), "GET /x", outer.signal, (signal) => {
      inner = signal;
      return new Promise<never>(() => undefined);
    }).catch((error: unknown) => error);
    expect(getEventListeners(outer.signal, "abort")).toHaveLength(1);
    await clock.advance(seconds(3));
    const error = await late;
    expect(error).toBeInstanceOf(DeadlineError);
    expect(messageOf(error)).toBe("GET /x did not respond within 3s.");
    expect(inner?.aborted).toBe(true);
    expect(getEventListeners(outer.signal, "abort")).toHaveLength(0);
  });

  test.each([
    ["ends well", async () => "fine", "fine"],
    ["fails", () => Promise.reject(new Error("broken")), "broken"],
    [
      "throws immediately",
      () => {
        throw new Error("immediate");
      },
      "immediate",
    ],
  ])("removes its timer and listener when the work %s", async (_, work, result) => {
    const clock = new VirtualClock();
    const outer = new AbortController();
    expect(await withDeadline<string>(clock, seconds(3), "x", outer.signal, work).catch(messageOf)).toBe(
      result,
    );
    expect([clock.pending, getEventListeners(outer.signal, "abort").length]).toEqual([0, 0]);
  });

  test("a deadline rejects with the caller's reason when its signal is aborted", async () => {
    const clock = new VirtualClock();
    const outer = new AbortController();
    const ended = withDeadline(
      clock,
      seconds(3),
      "x",
      outer.signal,
      () => new Promise(() => undefined),
    ).catch(messageOf);
    outer.abort(new Error("stop"));
    expect([await ended, clock.pending]).toEqual(["stop", 0]);
  });
});

test("the journal keeps the newest entries, oldest first [N19]", () => {
  const journal = new Journal(3);
  const heard: number[] = [];
  const stop = journal.subscribe(({ at }) => heard.push(at));
  const record = (at: number) =>
    journal.record({
      at,
      target: "cluster",
      action: "patch",
      object: "node/a",
      why: "test",
      outcome: "done",
    });
  for (const at of [1, 2]) record(at);
  expect(journal.entries().map(({ at }) => at)).toEqual([1, 2]);
  for (const at of [3, 4, 5]) record(at);
  stop();
  expect(journal.entries().map(({ at }) => at)).toEqual([3, 4, 5]);
  record(6);
  expect(journal.entries().map(({ at }) => at)).toEqual([4, 5, 6]);
  expect(heard).toEqual([1, 2, 3, 4, 5]);
});

describe("backoff", () => {
  const limits = { first: seconds(1), cap: seconds(60) };
  test("the backoff doubles with each failure up to the cap, with jitter of up to a half", () => {
    for (const [failures, full] of [
      [1, 1000],
      [2, 2000],
      [4, 8000],
      [7, 60_000],
      [500, 60_000],
    ] as const) {
      const delays = Array.from({ length: 50 }, (_, seed) => backoff(failures, limits, seededRandom(seed)));
      expect(Math.min(...delays)).toBeGreaterThanOrEqual(full / 2);
      expect(Math.max(...delays)).toBeLessThanOrEqual(full);
      expect(new Set(delays).size).toBeGreaterThan(20);
    }
  });

  test("delays that are aligned to a grid end together if they are similar, never early, and at most doubled", () => {
    const random = seededRandom(1);
    const ends = new Set<number>();
    for (let index = 0; index < 200; index += 1) {
      const now = random.fraction() * 10_000;
      const delay = milliseconds(150_000 + random.fraction() * 100_000);
      const wait = alignToGrid(now, delay);
      expect(wait).toBeGreaterThanOrEqual(delay);
      expect(wait).toBeLessThanOrEqual(2 * delay);
      ends.add(now + wait);
    }
    expect(ends.size).toBeLessThanOrEqual(2);
    expect(untilNext(60_000, seconds(60))).toBe(seconds(60));
    expect(untilNext(61_000, seconds(60))).toBe(seconds(59));
  });
});
