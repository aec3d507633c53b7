import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { milliseconds, seconds } from "../../src/core/brand.ts";
import { RequestLimit } from "../../src/kube/requests/request-limit.ts";
import { TokenBucket } from "../../src/kube/requests/token-bucket.ts";
import { WriteConcurrency, type WriteOutcome } from "../../src/kube/requests/write-concurrency.ts";
import { VirtualClock } from "../../src/testing/virtual-time/virtual-clock.ts";

const never = new AbortController().signal;
const nextTick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("request limit", () => {
  test("keeps its reserved places for the reserved lane and gives freed places to the longest waiting request", async () => {
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

describe("write concurrency", () => {
  test("never exceeds its size or bounds, and admits every write in the end", async () => {
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

  test("grows to its limit while the server's latency does not increase", async () => {
    expect(await flood(() => 50)).toBe(64);
  });

  test("stays small when more writes in flight only increase latency", async () => {
    expect(await flood((inFlight) => inFlight * 2)).toBeLessThanOrEqual(28);
  });

  test("halves once for simultaneous refusals and stays closed for the Retry-After time", async () => {
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

  test("admits state writes before events", async () => {
    const writes = new WriteConcurrency(new VirtualClock(), { start: 1 });
    const report = await writes.enter("state", never);
    const order: string[] = [];
    void writes.enter("event", never).then(() => order.push("event"));
    void writes.enter("state", never).then(() => order.push("state"));
    report({ kind: "unknown" });
    await nextTick();
    expect(order).toEqual(["state"]);
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
