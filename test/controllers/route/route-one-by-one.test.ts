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

describe("one by one", () => {
  test("at most so many changes at once", async () => {
    const w = setUp({ settings: { changesAtOnce: 4 }, script: { takes: milliseconds(100) } });
    for (let index = 0; index < 20; index += 1) w.add(`n${index}`, `10.244.${index}.0/24`);
    await w.settle();
    expect(w.cloud.table).toHaveLength(20);
    expect(w.cloud.mostInFlight).toBe(4);
  });

  test("a route waits for everything that overlaps it, and for nothing else", async () => {
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

  test("a route whose place could not be cleared is not tried; both are tried again together", async () => {
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

  test("a full table is emptied of what nobody needs before anything is added", async () => {
    const w = setUp({ script: { limit: 2, takes: milliseconds(50) } }).add("n1", "10.244.1.0/24");
    w.cloud.put("10.244.8.0/24", { targetKey: "gone" });
    w.cloud.put("10.244.9.0/24", { targetKey: "gone" });
    w.inventory.wantListing(0, "refresh");
    await w.pass(1);
    await w.settle();
    expect(w.cloud.changes).toEqual(["remove r1", "remove r2", "create 10.244.1.0/24"]);
    const [first, , last] = w.cloud.calls.filter(({ what }) => what !== "list");
    expect(last?.at).toBe((first?.at ?? 0) + 50);
  });

  test("a route that is removed by somebody else at the same moment is gone, which was wanted", async () => {
    const w = setUp();
    w.cloud.put("10.244.8.0/24", { targetKey: "gone" });
    w.cloud.failures.set("r1", refusal("not-found"));
    await w.settle();
    expect([w.reportedProblems, w.cloud.changes]).toEqual([[], ["remove r1"]]);
  });

  test("a cloud that is still at it is asked again then, and the condition waits", async () => {
    const w = setUp().add("n1", "10.244.1.0/24");
    w.cloud.outcomes.push({ done: false, checkAfter: seconds(60), waitingFor: "the network" });
    await w.settle();
    expect([w.cloud.changes.length, w.nodes.sent]).toEqual([1, []]);
    w.cloud.put("10.244.1.0/24", { targetKey: "n1" });
    await w.pass(60);
    expect(w.cloud.changes).toHaveLength(1);
    expect(w.network("n1")).toBe("False RouteCreated");
  });

  test("a route that exists after all is seen at the next look and makes no noise", async () => {
    const w = setUp().add("n1", "10.244.1.0/24");
    w.cloud.failures.set("10.244.1.0/24", refusal("conflict", "it exists"));
    await w.start().pass(0.05);
    w.cloud.put("10.244.1.0/24", { targetKey: "n1" });
    await w.pass(5);
    expect([w.reported, w.nodes.sent.length]).toEqual([[], 1]);
    expect(w.network("n1")).toBe("False RouteCreated");
  });

  test("a node with another address is another question: what rests is tried at once", async () => {
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

  test("of two routes of ours with one destination the right one stays", async () => {
    const w = setUp().add("n1", "10.244.1.0/24", { conditions: [created] });
    w.cloud.put("10.244.1.0/24", { targetKey: "gone" });
    w.cloud.put("10.244.1.0/24", { targetKey: "n1" });
    await w.settle();
    expect(w.cloud.changes).toEqual(["remove r1"]);
  });
});

test("the canonical range is what the cloud is asked for", async () => {
  const w = setUp().add("n1", "10.244.1.7/24");
  await w.settle();
  expect(w.cloud.table.map(({ destination }) => destination)).toEqual([cidr("10.244.1.0/24")]);
});

test("upstream's message is on the node whose route could not be made", async () => {
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
