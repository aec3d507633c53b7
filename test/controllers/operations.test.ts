import { expect, test } from "bun:test";
import { Operations } from "../../src/controllers/operations.ts";
import { seconds } from "../../src/core/brand.ts";
import { seededRandom } from "../../src/platform/random.ts";
import { CloudError } from "../../src/provider/errors.ts";
import type { OperationState, Pending } from "../../src/provider/plan.ts";
import { VirtualClock } from "../../src/testing/virtual-time/virtual-clock.ts";

// Operations of two parts of a cloud, "near/1" and "far/2": one part that fails or never answers delays no other one.

const done = (ids: readonly string[]) =>
  new Map<string, OperationState>(ids.map((id) => [id, { done: true }]));

function operationsWhere(checkFar: () => Promise<never>) {
  const clock = new VirtualClock();
  const checks: (readonly string[])[] = [];
  const pending: Pending = {
    limit: 10,
    partOf: (id) => id.split("/")[0] ?? "",
    check: async (ids) => {
      checks.push(ids);
      return ids.some((id) => id.startsWith("far/")) ? checkFar() : done(ids);
    },
  };
  const ended: string[] = [];
  const deps = { pending, clock, random: seededRandom(1), note: () => undefined };
  const operations = new Operations(deps, (key) => {
    // A problem of the far part is reported too.
    if (key !== "b") ended.push(key);
  });
  const stop = new AbortController();
  operations.begin(stop.signal);
  return { clock, checks, ended, operations };
}

for (const [what, checkFar] of [
  [
    "fails",
    () => Promise.reject(new CloudError("unavailable", "503", { operation: "GET /jobs", status: 503 })),
  ],
  ["never answers", () => new Promise<never>(() => undefined)],
] as const) {
  test(`checks the operations of one part on time while another part ${what}`, async () => {
    const { clock, checks, ended, operations } = operationsWhere(checkFar);
    operations.track("a", "near/1", seconds(1));
    operations.track("b", "far/2", seconds(1));
    await clock.advance(seconds(2));
    expect(ended).toEqual(["a"]);
    operations.track("c", "near/3", seconds(1));
    await clock.advance(seconds(2));
    expect(ended).toEqual(["a", "c"]);
    expect(checks.every((ids) => new Set(ids.map((id) => id.split("/")[0])).size === 1)).toBe(true);
    expect(operations.take("b")).toBe("pending");
  });
}

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
