import { describe, expect, test } from "bun:test";
import { preferProvidedNodeIP } from "../../src/controllers/node/desired/addresses.ts";
import { milliseconds, seconds } from "../../src/core/brand.ts";
import type { NodeAddress } from "../../src/kube/objects.ts";
import { backoff } from "../../src/runtime/backoff.ts";
import { WorkQueue } from "../../src/runtime/work-queue.ts";
import { type Outcome, requeue, runWorkers, settled } from "../../src/runtime/workers.ts";
import { VirtualClock } from "../../src/testing/virtual-time/virtual-clock.ts";

// Rows of upstream's tests of modules that the Go managers use: node IP annotations, rate limiters and work queues.
// The health tests are in test/server.

describe("TestParseNodeIPAnnotation", () => {
  /** Tests the parser through its caller, with a cloud that has each of these addresses. */
  const inCloud = (...ips: readonly string[]): readonly NodeAddress[] =>
    ips.map((address) => ({ type: "InternalIP", address }));
  const chosen = (annotation: string, cloud: readonly NodeAddress[]) => {
    const result = preferProvidedNodeIP(annotation, cloud);
    return "wrong" in result ? result : result.addresses.map(({ address }) => address);
  };
  const right: readonly (readonly [annotation: string, ips: readonly string[]])[] = [
    ["1.2.3.4", ["1.2.3.4"]],
    ["01.2.3.004", ["1.2.3.4"]],
    ["0.0.0.0", ["0.0.0.0"]],
    ["abcd::ef01", ["abcd::ef01"]],
    ["abcd:0abc:00ab:0000:0000::1", ["abcd:abc:ab::1"]],
    ["1.2.3.4,abcd::ef01", ["1.2.3.4", "abcd::ef01"]],
  ];
  test.each(right)("TestParseNodeIPAnnotation: accepts %j", (annotation, ips) => {
    expect(chosen(annotation, inCloud(...ips.toReversed()))).toEqual([...ips]);
  });
  const wrong: readonly (readonly [annotation: string, text: string])[] = [
    ["", "is not an IP address"],
    [" ", "is not an IP address"],
    ["blah", "is not an IP address"],
    ["1.2.3", "is not an IP address"],
    ["1.2.3.0/24", "is not an IP address"],
    [" 1.2.3.4   ", "is not an IP address"],
    ["1.2.3.4,not-an-IPv6-address", "is not an IP address"],
    ["abcd::ef01 , 1.2.3.4", "is not an IP address"],
    ["abcd::ef01 , 1.2.3.4, something else", "is not an IP address"],
    ["1.2.3.4,5.6.7.8", "different families"],
    ["abcd::1,abcd::2", "different families"],
    ["1.2.3.4,abcd::1,5.6.7.8", "at most two"],
    ["1.2.3.4,::", "0.0.0.0 or ::"],
    ["0.0.0.0,abcd::1", "0.0.0.0 or ::"],
  ];
  test.each(wrong)("TestParseNodeIPAnnotation: rejects %j, which %s", (annotation, text) => {
    expect(preferProvidedNodeIP(annotation, inCloud("1.2.3.4"))).toEqual({
      wrong: expect.stringContaining(text),
    });
  });
});

describe("TestItemExponentialFailureRateLimiter", () => {
  const limits = { first: milliseconds(1), cap: seconds(1000) };
  const delayAfter = (failures: number, fraction: number): number =>
    backoff(failures, { ...limits, first: milliseconds(1000) }, { fraction: () => fraction, uuid: () => "" });
  test("TestItemExponentialFailureRateLimiter: delays double per failure, and Fairlead spreads them over their upper half", () => {
    expect([1, 2, 3, 4, 5].map((failures) => delayAfter(failures, 1))).toEqual([
      1000, 2000, 4000, 8000, 16_000,
    ]);
    expect([1, 2, 3, 4, 5].map((failures) => delayAfter(failures, 0))).toEqual([500, 1000, 2000, 4000, 8000]);
  });
  test("TestItemExponentialFailureRateLimiterOverFlow: the maximum holds after a thousand failures", () => {
    expect(delayAfter(1000, 1)).toBe(1_000_000);
  });
  test("TestItemExponentialFailureRateLimiter: failures count per key, and a success resets them", async () => {
    const clock = new VirtualClock();
    const queue = new WorkQueue(clock);
    const counted: string[] = [];
    const works = new Set<string>();
    const stop = new AbortController();
    const running = runWorkers(
      {
        queue,
        count: 1,
        clock,
        reconcile: (key): Promise<Outcome> =>
          works.has(key) ? Promise.resolve(settled) : Promise.reject(new Error("no")),
        onError: (key, _, failures) => {
          counted.push(`${key}${failures}`);
          return settled;
        },
      },
      stop.signal,
    );
    const run = async (key: string) => {
      queue.add(key);
      await clock.advance(seconds(1));
    };
    for (const key of ["a", "a", "b"]) await run(key);
    works.add("a");
    await run("a");
    works.delete("a");
    await run("a");
    expect(counted).toEqual(["a1", "a2", "b1", "a1"]);
    stop.abort();
    await running;
  });
});

describe("work queue", () => {
  const never = new AbortController().signal;

  test("TestAddWhileProcessing: a key added while it is processed runs once more afterwards, never twice at the same time", async () => {
    const queue = new WorkQueue(new VirtualClock());
    queue.add("foo");
    await queue.take(never);
    for (let time = 0; time < 3; time += 1) queue.add("foo");
    expect([queue.depth, queue.active]).toEqual([0, 1]);
    queue.done("foo");
    expect(await queue.take(never)).toBe("foo");
    queue.done("foo");
    expect([queue.depth, queue.active]).toEqual([0, 0]);
  });
  test("TestDeduping: the earliest of several delayed adds wins", async () => {
    const clock = new VirtualClock();
    const queue = new WorkQueue(clock);
    queue.add("foo", { delay: seconds(30) });
    queue.add("foo", { delay: seconds(10) });
    queue.add("foo", { delay: seconds(20) });
    await clock.advance(seconds(9));
    expect(queue.depth).toBe(0);
    await clock.advance(seconds(2));
    expect(queue.depth).toBe(1);
    queue.done(await queue.take(never));
    await clock.advance(seconds(60));
    expect(queue.depth).toBe(0);
  });
  test("TestQueueDrainageUsingShutDownWithDrain: a shutdown waits for the key in process", async () => {
    const clock = new VirtualClock();
    const queue = new WorkQueue(clock);
    const work = Promise.withResolvers<Outcome>();
    const stop = new AbortController();
    let hasEnded = false;
    const running = runWorkers(
      {
        queue,
        count: 1,
        clock,
        reconcile: () => work.promise,
        onError: () => requeue(seconds(1), "failed"),
      },
      stop.signal,
    ).then(() => {
      hasEnded = true;
    });
    queue.add("foo");
    await clock.advance(seconds(1));
    stop.abort();
    await clock.advance(seconds(1));
    expect(hasEnded).toBe(false);
    work.resolve(settled);
    await running;
    expect(hasEnded).toBe(true);
  });
});
