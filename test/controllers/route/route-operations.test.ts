import { expect, test } from "bun:test";
import { exactly } from "../../../src/controllers/route/deps.ts";
import { seconds } from "../../../src/core/brand.ts";
import type { CloudError } from "../../../src/provider/errors.ts";
import type { Pending, StepOutcome } from "../../../src/provider/plan.ts";
import { RouteWorld } from "./route-world.ts";
import { refusal } from "./scripted-routes.ts";

// Routes with long-running operations: no worker waits for them, and checking them lists no table.

const waitingFor = "the network";
const stillAtIt = (operation: string): StepOutcome => ({
  done: false,
  operation,
  checkAfter: seconds(10),
  waitingFor,
});

class Desk implements Pending {
  readonly limit = 10;
  readonly checks: (readonly string[])[] = [];
  readonly outcomes = new Map<string, StepOutcome | CloudError | "lost">();
  failure: CloudError | undefined;

  async check(operations: readonly string[]) {
    this.checks.push(operations);
    if (this.failure !== undefined) throw this.failure;
    return new Map(
      operations.flatMap((operation): [string, StepOutcome | CloudError][] => {
        const outcome = this.outcomes.get(operation) ?? stillAtIt(operation);
        return outcome === "lost" ? [] : [[operation, outcome]];
      }),
    );
  }
}

const setUp = (count = 1) => {
  const pending = new Desk();
  const w = new RouteWorld({ pending });
  for (let index = 1; index <= count; index += 1) {
    w.add(`n${index}`, `10.244.${index}.0/24`);
    w.cloud.outcomes.push(stillAtIt(`t${index}`));
  }
  return { w, pending };
};

test("checks long operations of several routes together, without listing the table [F58 F59]", async () => {
  const { w, pending } = setUp(5);
  await w.settle();
  const { listings } = w.cloud;
  await w.pass(600);
  expect([w.cloud.changes.length, w.cloud.listings, w.nodes.sent.length]).toEqual([5, listings, 0]);
  expect(pending.checks.length).toBeGreaterThan(25);
  expect(pending.checks.length).toBeLessThan(40);
  expect(new Set(pending.checks.map((operations) => operations.toSorted().join()))).toEqual(
    new Set(["t1,t2,t3,t4,t5"]),
  );
  for (let index = 1; index <= 5; index += 1) {
    w.cloud.put(`10.244.${index}.0/24`, { targetKey: `n${index}` });
    pending.outcomes.set(`t${index}`, { done: true });
  }
  await w.pass(20);
  expect([w.cloud.changes.length, w.cloud.listings]).toEqual([5, listings + 1]);
  expect([1, 2, 3, 4, 5].map((index) => w.network(`n${index}`))).toEqual(Array(5).fill("False RouteCreated"));
  const { length } = pending.checks;
  await w.pass(3600);
  expect(pending.checks).toHaveLength(length);
  await w.stop();
});

test("a long operation does not delay other routes", async () => {
  const { w } = setUp();
  await w.settle();
  w.add("quick", "10.244.9.0/24");
  await w.pass(20);
  expect(w.network("quick")).toBe("False RouteCreated");
  expect(w.network("n1")).toBeUndefined();
  expect(w.cloud.changes).toEqual(["create 10.244.1.0/24", "create 10.244.9.0/24"]);
  await w.stop();
});

test("reports a failed operation on its Node with the cloud's message, and retries it later", async () => {
  const { w, pending } = setUp();
  await w.settle();
  pending.outcomes.set("t1", refusal("quota", "no room in the table"));
  await w.pass(30);
  expect(w.network("n1")).toBe("True NoRouteCreated");
  expect(w.reported.map(({ message }) => message).join()).toContain("no room in the table");
  expect(w.cloud.changes).toHaveLength(1);
  await w.pass(300);
  expect(w.cloud.changes).toHaveLength(2);
  expect(w.network("n1")).toBe("False RouteCreated");
  await w.stop();
});

test("recreates the route of a lost operation only after a proof of absence", async () => {
  const { w, pending } = setUp();
  await w.settle();
  pending.outcomes.set("t1", "lost");
  // Before, no listing showed the route because the cloud was still processing it.
  await w.pass(30);
  expect(w.cloud.changes).toHaveLength(1);
  await w.pass(60);
  expect(w.cloud.changes).toHaveLength(2);
  expect(w.network("n1")).toBe("False RouteCreated");
  expect(w.removals.count("routes")).toBe(0);
  await w.stop();
});

test("does not create a route twice that a lost operation created late", async () => {
  const { w, pending } = setUp();
  await w.settle();
  // The table is listed twice while the operation is running.
  for (const name of ["n8", "n9"]) {
    w.add(name, `10.244.${name.slice(1)}.0/24`);
    w.inventory.requestListing(w.clock.monotonic(), "refresh");
    await w.pass(40);
  }
  pending.outcomes.set("t1", "lost");
  await w.pass(20);
  w.cloud.put("10.244.1.0/24", { targetKey: "n1" });
  await w.pass(120);
  expect(w.cloud.changes.filter((line) => line === "create 10.244.1.0/24")).toHaveLength(1);
  expect(w.network("n1")).toBe("False RouteCreated");
  await w.stop();
});

test("creates routes that operations replace immediately, without counting them towards a limit", async () => {
  const { w, pending } = setUp(0);
  const names = Array.from({ length: 10 }, (_, index) => `n${index}`);
  for (const name of names) {
    w.add(name, `10.244.${name.slice(1)}.0/24`);
    w.cloud.put(`10.244.${name.slice(1)}.0/24`, { targetKey: name });
  }
  await w.settle();
  // Their machines were replaced.
  w.cloud.table = w.cloud.table.map((route) => ({ ...route, targetKey: `former ${route.targetKey}` }));
  for (const name of names) w.cloud.removals.push(stillAtIt(`remove ${name}`));
  w.controller.queue.add("routes");
  await w.pass(30);
  expect(w.cloud.changes.filter((line) => line.startsWith("remove"))).toHaveLength(10);
  w.cloud.table = [];
  for (const name of names) pending.outcomes.set(`remove ${name}`, { done: true });
  await w.pass(25);
  expect(w.cloud.table).toHaveLength(10);
  expect([w.held, w.removals.count("routes")]).toEqual([[], 0]);
  await w.stop();
});

test("removes a route whose Node was deleted during its operation once the route exists", async () => {
  const { w, pending } = setUp();
  await w.settle();
  w.nodes.remove("n1");
  await w.pass(60);
  w.cloud.put("10.244.1.0/24", { targetKey: "n1" });
  pending.outcomes.set("t1", { done: true });
  await w.pass(30);
  expect(w.cloud.table).toEqual([]);
  await w.stop();
});

test("a document change has one operation, which is checked once", async () => {
  const pending = new Desk();
  const w = new RouteWorld({ pending, script: { style: "document" } });
  w.cloud.outcomes.push(stillAtIt("t1"));
  for (const index of [1, 2, 3]) w.add(`n${index}`, `10.244.${index}.0/24`);
  await w.settle();
  expect(w.cloud.changes).toEqual(["change +3 -0"]);
  expect(pending.checks[0]).toEqual(["t1"]);
  for (const index of [1, 2, 3]) w.cloud.put(`10.244.${index}.0/24`, { targetKey: `n${index}` });
  pending.outcomes.set("t1", { done: true });
  await w.pass(30);
  expect(w.cloud.changes).toHaveLength(1);
  expect(w.network("n3")).toBe("False RouteCreated");
  await w.stop();
});

test("forgets operations when another process leads, and the next session observes the table", async () => {
  const { w, pending } = setUp();
  await w.settle();
  expect(w.cloud.changes).toHaveLength(1);
  const { length } = pending.checks;
  await w.handOver();
  await w.pass(20);
  expect(pending.checks).toHaveLength(length);
  // The cloud may still be processing the change.
  expect(w.cloud.changes).toHaveLength(1);
  await w.pass(60);
  expect(w.cloud.changes).toHaveLength(2);
  expect(w.network("n1")).toBe("False RouteCreated");
  await w.stop();
});

test("the next session of the same process keeps polling operations", async () => {
  const { w, pending } = setUp();
  await w.settle();
  await w.handOver("this process");
  await w.pass(600);
  expect(new Set(pending.checks.map((operations) => operations.join()))).toEqual(new Set(["t1"]));
  expect([w.cloud.changes.length, w.network("n1")]).toEqual([1, undefined]);
  w.cloud.put("10.244.1.0/24", { targetKey: "n1" });
  pending.outcomes.set("t1", { done: true });
  await w.pass(40);
  expect([w.cloud.changes.length, w.network("n1")]).toEqual([1, "False RouteCreated"]);
  await w.stop();
});

test("an operation that an earlier session began counts as hanging from its start", async () => {
  const { w } = setUp();
  await w.settle();
  await w.pass(800);
  await w.handOver("this process");
  await w.pass(200);
  expect(w.reasons("n1")).toEqual(["RouteUnknown"]);
  await w.stop();
});

test("after a takeover, creates a route that the cloud rejects as busy only after another proof of absence", async () => {
  const { w } = setUp();
  await w.settle();
  w.cloud.failures.set("10.244.1.0/24", refusal("busy", "the network is locked"));
  await w.handOver();
  await w.pass(20);
  const attempts = () => w.cloud.calls.filter(({ what }) => what === "create 10.244.1.0/24").length;
  await w.clock.until(() => attempts() === 2, seconds(300), "the attempt that is refused");
  w.cloud.failures.clear();
  await w.pass(20);
  // The former leader's operation ends.
  w.cloud.put("10.244.1.0/24", { targetKey: "n1" });
  await w.pass(300);
  expect([attempts(), w.cloud.table.length]).toEqual([2, 1]);
  expect(w.network("n1")).toBe("False RouteCreated");
  await w.stop();
});

test("reports a lost route that the cloud always rejects as busy on its Node", async () => {
  const w = new RouteWorld({ settings: { fullCheck: exactly(seconds(60)) } });
  const created = { type: "NetworkUnavailable", status: "False", reason: "RouteCreated" } as const;
  for (const index of [1, 2, 3, 4, 5]) {
    w.add(`n${index}`, `10.244.${index}.0/24`, { conditions: [created] });
    if (index > 1) w.cloud.put(`10.244.${index}.0/24`, { targetKey: `n${index}` });
  }
  w.cloud.failures.set("10.244.1.0/24", refusal("busy", "the network is locked"));
  await w.settle();
  await w.pass(1800);
  expect(w.reasons("n1")).toContain("FailedToCreateRoute");
  expect(w.network("n1")).toBe("True NoRouteCreated");
  await w.stop();
});

test("reports an operation that cannot be checked on its Node after three attempts, once until it works again [F59 N8]", async () => {
  const { w, pending } = setUp();
  pending.failure = refusal("forbidden", "operations may not be read");
  await w.settle();
  expect(w.reasons("n1")).toEqual([]);
  await w.pass(7200);
  const reported = () => w.reported.filter(({ reason }) => reason === "RouteUnknown");
  expect(reported().map(({ node }) => node)).toEqual(["n1"]);
  expect(reported()[0]?.message).toContain("operations may not be read");
  expect(w.cloud.changes).toHaveLength(1);
  pending.failure = undefined;
  // Once the operation hangs, that is reported instead.
  await w.pass(2400);
  expect(reported()[1]?.message).toContain("for more than 15m");
  pending.failure = refusal("forbidden", "operations may not be read");
  await w.pass(7200);
  expect(reported()).toHaveLength(3);
  pending.failure = undefined;
  w.cloud.put("10.244.1.0/24", { targetKey: "n1" });
  pending.outcomes.set("t1", { done: true });
  await w.pass(7200);
  expect(w.network("n1")).toBe("False RouteCreated");
  await w.stop();
});
