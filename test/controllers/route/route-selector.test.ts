import { expect, test } from "bun:test";
import { RouteWorld } from "./route-world.ts";

// Two managers in one cluster, each with its own Nodes: neither changes routes or conditions of the other's Nodes.

const east = { account: "east" };
const setUp = () => new RouteWorld({ selector: east });

test("another manager's Nodes get no route, condition, event or machine lookup [N15]", async () => {
  const w = setUp();
  w.add("mine", "10.244.1.0/24", { labels: east });
  w.add("foreign", "10.244.2.0/24", { labels: { account: "west" }, hasMachine: false, providerID: "" });
  w.add("known", "10.244.3.0/24", { labels: { account: "west" } });
  await w.settle();
  const asked = w.machines.calls.length;
  await w.pass(3600);
  expect(w.cloud.changes).toEqual(["create 10.244.1.0/24"]);
  expect([w.network("mine"), w.network("foreign"), w.network("known")]).toEqual([
    "False RouteCreated",
    undefined,
    undefined,
  ]);
  expect([w.reported, w.machines.calls.length]).toEqual([[], asked]);
  await w.stop();
});

test("keeps routes to another manager's Nodes, including a wide route in a table without marks [N15]", async () => {
  const w = new RouteWorld({ selector: east, script: { ownership: "unmarked" } });
  w.add("mine", "10.244.1.0/24", { labels: east });
  w.add("foreign", "10.244.128.0/24", { labels: { account: "west" }, hasMachine: false });
  w.cloud.put("10.244.128.0/24", { targetKey: "elsewhere" });
  w.cloud.put("10.244.128.0/17", { targetKey: "a-gateway" });
  w.cloud.put("10.244.9.0/24", { targetKey: "missing" });
  await w.settle();
  await w.pass(3600);
  expect(w.cloud.changes.toSorted()).toEqual(["create 10.244.1.0/24", "remove r3"]);
  await w.stop();
});

test("Nodes of an unreadable source get no new routes, and keep their existing routes", async () => {
  const unreadable = [{ name: "metal", keyOf: (id: string) => /^metal:\/\/(.+)$/.exec(id)?.[1] }];
  const w = new RouteWorld({ unreadable });
  w.add("known", "10.244.1.0/24");
  w.add("metal", "10.244.2.0/24", { hasMachine: false, providerID: "metal://1" });
  w.cloud.put("10.244.3.0/24", { targetKey: "1" });
  await w.settle();
  await w.pass(3600);
  expect(w.cloud.changes).toEqual(["create 10.244.1.0/24"]);
  expect(w.network("metal")).toBeUndefined();
  await w.stop();
});

test("a Node that moves to this manager gets its route, and a Node that moves to another manager keeps it [N15]", async () => {
  const w = setUp();
  w.add("n1", "10.244.1.0/24", { labels: { account: "west" } });
  await w.settle();
  w.nodes.change("n1", (node) => ({ ...node, metadata: { ...node.metadata, labels: east } }));
  await w.pass(30);
  expect(w.cloud.changes).toEqual(["create 10.244.1.0/24"]);
  w.nodes.change("n1", (node) => ({ ...node, metadata: { ...node.metadata, labels: {} } }));
  await w.pass(3600);
  expect(w.cloud.changes).toEqual(["create 10.244.1.0/24"]);
  w.nodes.remove("n1");
  await w.pass(60);
  expect(w.cloud.changes).toEqual(["create 10.244.1.0/24", "remove r1"]);
  await w.stop();
});
