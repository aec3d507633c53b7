import { expect, test } from "bun:test";
import { minutes, nodeName } from "../../../src/core/brand.ts";
import { uninitialized } from "../../support/node-controllers.ts";
import { machine } from "../../support/scripted-source.ts";
import { RouteWorld } from "./route-world.ts";
import { refusal } from "./scripted-routes.ts";

const taint = (w: RouteWorld, name: string, taints: readonly (typeof uninitialized)[]) =>
  w.nodes.change(name, (node) => ({ ...node, spec: { ...node.spec, taints: [...taints] } }));

test.each([
  ["without a provider id", ""],
  ["with the provider id that its kubelet set", "fake://n1"],
])("a Node that is %s gets its route when it is initialized, not before [F58]", async (_, providerID) => {
  const w = new RouteWorld();
  w.add("n1", "10.244.1.0/24", { providerID });
  taint(w, "n1", [uninitialized]);
  await w.settle();
  const asked = w.machines.calls.length;
  await w.pass(600);
  expect([w.cloud.changes, w.network("n1"), w.machines.calls.length]).toEqual([[], undefined, asked]);
  w.nodes.change("n1", (node) => ({ ...node, spec: { ...node.spec, providerID: "fake://n1", taints: [] } }));
  await w.pass(1);
  expect([w.cloud.changes, w.network("n1")]).toEqual([["create 10.244.1.0/24"], "False RouteCreated"]);
  await w.stop();
});

test("keeps the route of an uninitialized Node [F58]", async () => {
  const w = new RouteWorld();
  w.add("n1", "10.244.1.0/24");
  w.cloud.put("10.244.1.0/24", { targetKey: "elsewhere" });
  taint(w, "n1", [uninitialized]);
  await w.settle();
  await w.pass(3600);
  expect(w.cloud.changes).toEqual([]);
  await w.stop();
});

test("creates a route immediately when another controller's lookup finds the instance", async () => {
  const w = new RouteWorld({ machines: { pageSize: 1, lookups: { id: 1, name: 1 } } });
  for (const key of ["a", "b", "c"]) w.machines.put(machine(key));
  w.add("n1", "10.244.1.0/24", { hasMachine: false });
  await w.settle();
  await w.pass(60);
  w.machines.put(machine("n1"));
  w.machines.hidden.set("n1", "listing");
  const identity = { name: nodeName("n1"), addresses: [] };
  w.inventory.request(identity, { since: w.clock.monotonic(), urgency: "new-node" });
  await w.pass(1);
  expect(w.cloud.changes).toEqual(["create 10.244.1.0/24"]);
  await w.stop();
});

test("a Node that joined just before a takeover waits at most ten minutes while listings lack the routes of other Nodes", async () => {
  const w = new RouteWorld({ hasPredecessor: true });
  const conditions = [{ type: "NetworkUnavailable", status: "False" as const, reason: "RouteCreated" }];
  for (let index = 1; index <= 7; index += 1) {
    w.add(`n${index}`, `10.244.${index}.0/24`, { conditions });
    w.cloud.put(`10.244.${index}.0/24`, { targetKey: `n${index}` });
  }
  for (let index = 11; index <= 13; index += 1)
    w.add(`n${index}`, `10.244.${index}.0/24`, { conditions, isPaused: true });
  w.add("new", "10.244.20.0/24");
  await w.settle();
  await w.pass(400);
  expect(w.cloud.changes).toEqual([]);
  w.add("newer", "10.244.21.0/24");
  await w.pass(10);
  expect(w.cloud.changes).toEqual(["create 10.244.21.0/24"]);
  await w.pass(250);
  expect(w.cloud.changes).toEqual(["create 10.244.21.0/24", "create 10.244.20.0/24"]);
  await w.stop();
});

test("a Node that joined just before a takeover waits for a proof, however long that takes", async () => {
  const w = new RouteWorld({ hasPredecessor: true, settings: { confirmAfter: minutes(15) } });
  w.add("n1", "10.244.1.0/24");
  await w.settle();
  await w.pass(14 * 60);
  expect(w.cloud.changes).toEqual([]);
  await w.pass(120);
  expect(w.cloud.changes).toEqual(["create 10.244.1.0/24"]);
  await w.stop();
});

test("a Node that joined since the takeover gets its route immediately when the controller continues with current caches", async () => {
  const w = new RouteWorld({ hasPredecessor: true });
  await w.settle();
  w.cloud.failures.set("10.244.1.0/24", refusal("quota", "no route left"));
  w.add("n1", "10.244.1.0/24");
  await w.pass(10);
  await w.handOver("this process");
  w.cloud.failures.clear();
  await w.pass(10);
  expect(w.cloud.changes.at(-1)).toEqual("create 10.244.1.0/24");
  await w.stop();
});
