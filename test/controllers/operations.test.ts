import { expect, test } from "bun:test";
import { Operations } from "../../src/controllers/operations.ts";
import { milliseconds, seconds } from "../../src/core/brand.ts";
import { seededRandom } from "../../src/platform/random.ts";
import type { Pending } from "../../src/provider/plan.ts";
import { VirtualClock } from "../../src/testing/virtual-time/virtual-clock.ts";

test("checks an operation less often the longer it runs, and reports it after 15 minutes [F54]", async () => {
  const clock = new VirtualClock();
  let checks = 0;
  const pending: Pending = {
    limit: 10,
    check: async () => {
      checks += 1;
      return new Map([["1", { done: false, checkAfter: seconds(1), waitingFor: "the target" }]]);
    },
  };
  const reported: string[] = [];
  const operations = new Operations(
    { pending, clock, random: seededRandom(1), note: () => undefined },
    (key) => reported.push(key),
  );
  operations.begin(new AbortController().signal);
  operations.track("a", "1", seconds(1));
  await clock.advance(seconds(10));
  expect(checks).toBe(9);
  await clock.advance(seconds(880));
  expect([reported, operations.problemOf("a")]).toEqual([[], undefined]);
  await clock.advance(seconds(3600));
  expect(checks).toBeLessThanOrEqual(200);
  expect(reported).toEqual(["a"]);
  expect(String(operations.problemOf("a"))).toContain("has waited for the target for more than 15m");
});

test("checks an operation in time, although others begin all the time", async () => {
  const clock = new VirtualClock();
  const ended: string[] = [];
  const pending: Pending = {
    limit: 10,
    check: async (ids) => new Map(ids.map((id) => [id, { done: true }])),
  };
  const operations = new Operations(
    { pending, clock, random: seededRandom(1), note: () => undefined },
    (key) => ended.push(key),
  );
  operations.begin(new AbortController().signal);
  for (let index = 0; index < 100; index += 1) {
    operations.track(`key-${index}`, `${index}`, seconds(1));
    await clock.advance(milliseconds(20));
  }
  expect(clock.monotonic()).toBe(2000);
  expect(ended.length).toBeGreaterThanOrEqual(40);
});
