import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { milliseconds, seconds } from "../../../src/core/brand.ts";
import { placesWithin, RequestLimit, TokenBucket } from "../../../src/kube/requests/request-limit.ts";
import { WriteConcurrency, type WriteOutcome } from "../../../src/kube/requests/write-concurrency.ts";
import { VirtualClock } from "../../../src/testing/virtual-time/virtual-clock.ts";

const never = new AbortController().signal;
const nextTick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("request limit", () => {
  test("keeps its reserved places for the reserved lane and gives freed places to the request that has waited longest", async () => {
    const requestLimit = new RequestLimit({ limit: 3, reserved: 1 });
    const leave = await requestLimit.enter("normal", never);
    const second = await requestLimit.enter("normal", never);
    const order: string[] = [];
    void requestLimit.enter("normal", never).then(() => order.push("first"));
    void requestLimit.enter("normal", never).then(() => order.push("second"));
    await requestLimit.enter("reserved", never);
    await nextTick();
    expect([requestLimit.inFlight, requestLimit.waiting, order]).toEqual([3, 2, []]);
    // The normal lane is still one over its share, so the reserved place stays free.
    leave();
    leave();
    await nextTick();
    expect([requestLimit.inFlight, order]).toEqual([2, []]);
    second();
    await nextTick();
    expect([requestLimit.inFlight, order]).toEqual([2, ["first"]]);
  });

  test("drops an aborted request and leaves no listener behind", async () => {
    const requestLimit = new RequestLimit({ limit: 1, reserved: 0 });
    const leave = await requestLimit.enter("normal", never);
    const stop = new AbortController();
    const waiting = requestLimit.enter("normal", stop.signal).catch((reason: unknown) => reason);
    stop.abort("enough");
    expect(await waiting).toBe("enough");
    leave();
    expect([requestLimit.inFlight, requestLimit.waiting]).toEqual([0, 0]);
  });
});

test.each([
  [Number.POSITIVE_INFINITY, { requests: 200, writes: 64 }],
  [1024, { requests: 200, writes: 64 }],
  [64, { requests: 32, writes: 16 }],
  [10, { requests: 16, writes: 8 }],
])("sends no more simultaneous requests than %s file descriptors allow", (openFiles, places) => {
  expect(placesWithin(openFiles)).toEqual(places);
});

describe("write concurrency", () => {
  test("write concurrency never exceeds its size or bounds, and admits every write in the end", async () => {
    const outcome = fc.oneof(
      fc.record({
        kind: fc.constant("success" as const),
        latency: fc.integer({ min: 1, max: 500 }).map(milliseconds),
      }),
      fc.constant<WriteOutcome>({ kind: "overloaded" }),
      fc.constant<WriteOutcome>({ kind: "overloaded", retryAfter: seconds(1) }),
      fc.constant<WriteOutcome>({ kind: "unknown" }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(outcome, { minLength: 1, maxLength: 60 }), async (outcomes) => {
        const clock = new VirtualClock();
        const writes = new WriteConcurrency(clock, { start: 4, max: 8 });
        let done = 0;
        const all = outcomes.map(async (each) => {
          const report = await writes.enter("state", never);
          expect(writes.inFlight).toBeLessThanOrEqual(8);
          await Promise.resolve();
          report(each);
          done++;
        });
        await clock.advance(seconds(120));
        await Promise.all(all);
        expect([done, writes.inFlight, writes.waiting]).toEqual([outcomes.length, 0, 0]);
        expect(writes.size >= 1 && writes.size <= 8).toBe(true);
      }),
      { numRuns: 50 },
    );
  });

  const flood = async (latencyOf: (inFlight: number) => number): Promise<number> => {
    const clock = new VirtualClock();
    const writes = new WriteConcurrency(clock);
    for (let n = 0; n < 2000; n++) {
      void writes.enter("state", never).then((report) => {
        const latency = milliseconds(latencyOf(writes.inFlight));
        clock.after(latency, () => report({ kind: "success", latency }));
      });
    }
    await clock.advance(seconds(30));
    return writes.size;
  };

  test("write concurrency grows to its limit while the server's latency does not increase", async () => {
    expect(await flood(() => 50)).toBe(64);
  });

  test("write concurrency stays small when more writes in flight only increase latency", async () => {
    expect(await flood((inFlight) => inFlight * 2)).toBeLessThanOrEqual(28);
  });

  test("write concurrency halves once for simultaneous rejections and stays closed for the Retry-After time", async () => {
    const clock = new VirtualClock();
    const writes = new WriteConcurrency(clock);
    const reports = await Promise.all(Array.from({ length: 16 }, () => writes.enter("state", never)));
    await clock.advance(milliseconds(5));
    for (const report of reports) report({ kind: "overloaded", retryAfter: seconds(3) });
    expect(writes.size).toBe(8);
    let entered = false;
    void writes.enter("state", never).then(() => {
      entered = true;
    });
    await clock.advance(milliseconds(2900));
    expect(entered).toBe(false);
    await clock.advance(milliseconds(200));
    expect(entered).toBe(true);
  });

  test("write concurrency admits state writes before events", async () => {
    const writes = new WriteConcurrency(new VirtualClock(), { start: 1 });
    const report = await writes.enter("state", never);
    const order: string[] = [];
    void writes.enter("event", never).then(() => order.push("event"));
    void writes.enter("state", never).then(() => order.push("state"));
    report({ kind: "unknown" });
    await nextTick();
    expect(order).toEqual(["state"]);
  });

  /** State writes of `workers` that never pause, and all events at once; a write takes 20 ms. */
  const storm = (workers: number, events: number, limits = {}) => {
    const clock = new VirtualClock();
    const writes = new WriteConcurrency(clock, limits);
    const written = { state: 0, event: [] as number[], firstEventAt: 0 };
    let isOver = false;
    let eventsInFlight = 0;
    let mostEvents = 0;
    const write = async (priority: "state" | "event"): Promise<void> => {
      const leave = await writes.enter(priority, never);
      if (priority === "event") mostEvents = Math.max(mostEvents, ++eventsInFlight);
      await new Promise<void>((resolve) => clock.after(milliseconds(20), resolve));
      if (priority === "event") eventsInFlight -= 1;
      leave({ kind: "success", latency: milliseconds(20) });
    };
    const work = async (): Promise<void> => {
      while (!isOver) {
        await write("state");
        written.state += 1;
      }
    };
    for (let n = 0; n < workers; n += 1) void work();
    for (let n = 0; n < events; n += 1) {
      void write("event").then(() => {
        if (written.event.length === 0) written.firstEventAt = clock.monotonic();
        written.event.push(n);
      });
    }
    const end = () => {
      isOver = true;
    };
    return { clock, writes, written, end, mostEvents: () => mostEvents };
  };

  test.each([
    { what: "as many workers as places", workers: 16, limits: { start: 16, max: 16 } },
    { what: "fewer workers than places", workers: 10, limits: { start: 16, max: 16 } },
    { what: "more workers than places", workers: 64, limits: { start: 16, max: 16 } },
  ])(
    "write concurrency delays events for at most 10 s behind many state writes, with $what",
    async ({ workers, limits }) => {
      const { clock, written, end, mostEvents } = storm(workers, 100, limits);
      await clock.advance(milliseconds(9990));
      expect(written.event).toEqual([]);
      await clock.advance(seconds(2));
      // One at a time from 10 s on, while state writes continue.
      expect([written.firstEventAt, mostEvents()]).toEqual([10_020, 1]);
      expect(written.event.length).toBeWithin(90, 101);
      end();
      await clock.advance(seconds(1));
      expect(written.event).toEqual(Array.from({ length: 100 }, (_, index) => index));
    },
  );

  test("write concurrency writes all events in order, at full speed, once the state writes are done", async () => {
    const { clock, written, end, mostEvents } = storm(64, 500);
    await clock.advance(seconds(3));
    expect(written.event).toEqual([]);
    end();
    await clock.advance(milliseconds(500));
    expect(written.event).toEqual(Array.from({ length: 500 }, (_, index) => index));
    expect(mostEvents()).toBeGreaterThan(16);
  });

  test("write concurrency does not delay events for a few state writes, even if these never end", async () => {
    const { clock, written } = storm(3, 50);
    await clock.advance(milliseconds(100));
    expect(written.event).toHaveLength(50);
    const hanging = new WriteConcurrency(new VirtualClock());
    for (let n = 0; n < 3; n += 1) await hanging.enter("state", never);
    await hanging.enter("event", never);
  });

  test("write concurrency writes an event 10 s later although no state write ends", async () => {
    const clock = new VirtualClock();
    const writes = new WriteConcurrency(clock);
    for (let n = 0; n < 15; n += 1) await writes.enter("state", never);
    let isWritten = false;
    void writes.enter("event", never).then(() => {
      isWritten = true;
    });
    await clock.advance(milliseconds(9999));
    expect(isWritten).toBe(false);
    await clock.advance(milliseconds(2));
    expect([isWritten, clock.pending]).toEqual([true, 0]);
  });

  test("an aborted event leaves neither its place in the queue nor a timer behind", async () => {
    const clock = new VirtualClock();
    const writes = new WriteConcurrency(clock);
    for (let n = 0; n < 15; n += 1) await writes.enter("state", never);
    const stop = new AbortController();
    const waiting = writes.enter("event", stop.signal).catch((reason: unknown) => reason);
    stop.abort("enough");
    expect([await waiting, writes.waiting]).toEqual(["enough", 0]);
    await clock.advance(seconds(11));
    expect(clock.pending).toBe(0);
  });

  test("write concurrency admits a state write when an overdue event ends and the next event was aborted", async () => {
    const clock = new VirtualClock();
    const writes = new WriteConcurrency(clock, { start: 1 });
    const leave = await writes.enter("state", never);
    const stop = new AbortController();
    const first = writes.enter("event", never);
    const second = writes.enter("event", stop.signal).catch((reason: unknown) => reason);
    let isAdmitted = false;
    void writes.enter("state", never).then(() => {
      isAdmitted = true;
    });
    await clock.advance(seconds(11));
    leave({ kind: "unknown" });
    const leaveEvent = await first;
    stop.abort("enough");
    expect(await second).toBe("enough");
    leaveEvent({ kind: "unknown" });
    await nextTick();
    expect([isAdmitted, writes.waiting]).toEqual([true, 0]);
  });
});

test("a token bucket admits a burst and then keeps its rate", async () => {
  const clock = new VirtualClock();
  const bucket = new TokenBucket({ ratePerSecond: 10, burst: 5 }, clock);
  let passed = 0;
  for (let n = 0; n < 30; n++) void bucket.take(never).then(() => passed++);
  await clock.advance(milliseconds(0));
  expect(passed).toBe(5);
  await clock.advance(seconds(1));
  expect(passed).toBe(15);
});
