import { afterEach, describe, expect, test } from "bun:test";
import { milliseconds, seconds } from "../../../src/core/brand.ts";
import { cidr } from "../../../src/core/cidr.ts";
import { type RouteSetup, RouteWorld } from "./route-world.ts";
import { refusal } from "./scripted-routes.ts";

let world: RouteWorld | undefined;
afterEach(() => world?.stop());
const setUp = (setup?: RouteSetup): RouteWorld => {
  world = new RouteWorld(setup);
  return world;
};

const created = { type: "NetworkUnavailable", status: "False", reason: "RouteCreated" };

describe("routes one by one", () => {
  test("changes at most the configured number of routes at the same time when each route needs a separate call", async () => {
    const w = setUp({ settings: { concurrentChanges: 4 }, script: { takes: milliseconds(100) } });
    for (let index = 0; index < 20; index += 1) w.add(`n${index}`, `10.244.${index}.0/24`);
    await w.settle();
    expect(w.cloud.table).toHaveLength(20);
    expect(w.cloud.mostInFlight).toBe(4);
  });

  test("a route with a separate call waits only for the removal of overlapping routes", async () => {
    const w = setUp({ script: { takes: milliseconds(100) } });
    w.cloud.refusesOverlaps = true;
    w.cloud.put("10.244.0.0/23", { targetKey: "gone" });
    w.cloud.put("10.244.2.0/25", { targetKey: "gone" });
    for (const index of [0, 1, 2, 3]) w.add(`n${index}`, `10.244.${index}.0/24`);
    await w.settle();
    expect(w.cloud.table).toHaveLength(4);
    expect(w.reported).toEqual([]);
    const [last] = w.cloud.calls.filter(({ what }) => what === "create 10.244.3.0/24");
    const [removal] = w.cloud.calls.filter(({ what }) => what === "remove r1");
    expect(last?.at).toBe(removal?.at as number);
  });

  test("does not create a route when the removal of its predecessor fails, and retries both together", async () => {
    const w = setUp().add("n1", "10.244.1.0/24");
    w.cloud.put("10.244.1.0/24", { targetKey: "gone" });
    w.cloud.failures.set("r1", refusal("invalid", "it is in use"));
    await w.settle();
    expect(w.cloud.changes).toEqual(["remove r1"]);
    expect(w.network("n1")).toBe("True NoRouteCreated");
    expect(w.reportedProblems.map(({ reason }) => reason)).toEqual(["FailedToRemoveRoute"]);
    w.cloud.failures.clear();
    await w.pass(180);
    expect(w.cloud.shown()).toEqual(["10.244.1.0/24 -> n1 10.0.0.1"]);
    expect(w.network("n1")).toBe("False RouteCreated");
  });

  test("sends all removals in a full table before it creates any route", async () => {
    const w = setUp({ script: { limit: 2, takes: milliseconds(50) } }).add("n1", "10.244.1.0/24");
    for (const [name, range] of [
      ["n8", "10.244.8.0/24"],
      ["n9", "10.244.9.0/24"],
    ] as const) {
      w.add(name, range).nodes.remove(name);
      w.cloud.put(range, { targetKey: "gone" });
    }
    w.inventory.requestListing(0, "refresh");
    await w.pass(1);
    await w.settle();
    expect(w.cloud.changes).toEqual(["remove r1", "remove r2", "create 10.244.1.0/24"]);
    const [first, , last] = w.cloud.calls.filter(({ what }) => what !== "list");
    expect(last?.at).toBe((first?.at ?? 0) + 50);
  });

  test("routes that another writer removed count as removed", async () => {
    const w = setUp();
    w.add("n8", "10.244.8.0/24").nodes.remove("n8");
    w.cloud.put("10.244.8.0/24", { targetKey: "gone" });
    w.cloud.failures.set("r1", refusal("not-found"));
    await w.settle();
    expect([w.reportedProblems, w.cloud.changes]).toEqual([[], ["remove r1"]]);
  });

  test("checks a route again at the time that the cloud requests, and delays the condition until then", async () => {
    const w = setUp().add("n1", "10.244.1.0/24");
    w.cloud.outcomes.push({ done: false, checkAfter: seconds(60), waitingFor: "the network" });
    await w.settle();
    expect([w.cloud.changes.length, w.nodes.sent]).toEqual([1, []]);
    w.cloud.put("10.244.1.0/24", { targetKey: "n1" });
    await w.pass(60);
    expect(w.cloud.changes).toHaveLength(1);
    expect(w.network("n1")).toBe("False RouteCreated");
  });

  test("accepts routes that turn out to exist at the next check, without an event", async () => {
    const w = setUp().add("n1", "10.244.1.0/24");
    w.cloud.failures.set("10.244.1.0/24", refusal("conflict", "it exists"));
    await w.start().pass(0.05);
    w.cloud.put("10.244.1.0/24", { targetKey: "n1" });
    await w.pass(5);
    expect([w.reported, w.nodes.sent.length]).toEqual([[], 1]);
    expect(w.network("n1")).toBe("False RouteCreated");
  });

  test("retries a route immediately when its Node's address changes", async () => {
    const w = setUp().add("n1", "10.244.1.0/24");
    w.cloud.failures.set("10.244.1.0/24", refusal("invalid"));
    await w.settle();
    const before = w.cloud.changes.length;
    w.cloud.failures.clear();
    w.nodes.change("n1", (node) => ({
      ...node,
      status: { ...node.status, addresses: [{ type: "InternalIP", address: "10.0.0.9" }] },
    }));
    await w.pass(6);
    expect(w.cloud.changes.slice(before)).toEqual(["create 10.244.1.0/24"]);
  });

  test("removes routes with the same destination, except the correct one", async () => {
    const w = setUp().add("n1", "10.244.1.0/24", { conditions: [created] });
    w.cloud.put("10.244.1.0/24", { targetKey: "gone" });
    w.cloud.put("10.244.1.0/24", { targetKey: "n1" });
    await w.settle();
    expect(w.cloud.changes).toEqual(["remove r1"]);
  });
});

test("the cloud receives the canonical form of a range", async () => {
  const w = setUp().add("n1", "10.244.1.7/24");
  await w.settle();
  expect(w.cloud.table.map(({ destination }) => destination)).toEqual([cidr("10.244.1.0/24")]);
});

test("the Node of a failed route gets upstream's event", async () => {
  const w = setUp({ script: { takes: milliseconds(1500) } }).add("n1", "10.244.1.0/24");
  w.cloud.failures.set("10.244.1.0/24", refusal("quota", "no more routes"));
  await w.settle();
  expect(w.reported).toEqual([
    {
      node: "n1",
      reason: "FailedToCreateRoute",
      message: "Could not create route uid-n1 10.244.1.0/24 for node n1 after 1.5s: no more routes",
    },
  ]);
});

test("repeats a replacement that may have had an effect long after the removal only after a proof of absence", async () => {
  const w = new RouteWorld();
  w.add("n1", "10.244.1.0/24");
  w.cloud.put("10.244.1.0/24", { targetKey: "elsewhere" });
  w.cloud.failures.set("10.244.1.0/24", refusal("quota"));
  await w.settle();
  expect(w.cloud.changes).toEqual(["remove r1", "create 10.244.1.0/24"]);
  w.cloud.failures.set("10.244.1.0/24", refusal("unavailable"));
  await w.clock.until(() => w.cloud.changes.length > 2, seconds(200), "the second attempt");
  await w.pass(25);
  expect(w.cloud.changes).toHaveLength(3);
  w.cloud.failures.clear();
  await w.pass(60);
  expect(w.network("n1")).toBe("False RouteCreated");
  expect(w.removals.count("routes")).toBe(0);
  await w.stop();
});
