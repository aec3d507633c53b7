import { afterEach, expect, test } from "bun:test";
import { exactly } from "../../../src/controllers/route/deps.ts";
import { seconds } from "../../../src/core/brand.ts";
import type { Condition } from "../../../src/kube/objects.ts";
import { RouteWorld } from "./route-world.ts";

// Nodes that vanish or are deleted while the cloud's answers are also incomplete.

let world: RouteWorld | undefined;
afterEach(() => world?.stop());

const created: Condition = { type: "NetworkUnavailable", status: "False", reason: "RouteCreated" };
const names = (amount: number, from = 0) => Array.from({ length: amount }, (_, index) => `n${from + index}`);
const rangeOf = (name: string) => `10.244.${name.slice(1)}.0/24`;

/** Nodes with their routes, as the last process left them. */
const settled = async (amount: number): Promise<RouteWorld> => {
  const w = new RouteWorld({ settings: { fullCheck: exactly(seconds(60)) } });
  world = w;
  for (const name of names(amount)) {
    w.add(name, rangeOf(name), { conditions: [created] });
    w.cloud.put(rangeOf(name), { targetKey: name });
  }
  await w.settle();
  return w;
};

test("routes of vanished Nodes count towards the limit although an incorrect listing lacks their instances too", async () => {
  const w = await settled(20);
  for (const name of names(8)) w.machines.hidden.set(name, "both");
  w.inventory.requestListing(w.clock.monotonic(), "refresh");
  await w.pass(5);
  w.nodes.vanish(...names(8));
  await w.pass(120);
  expect(w.cloud.changes).toEqual([]);
  expect(w.removals.held("routes")).toHaveLength(8);
});

/** Listings lack every route, and most Nodes are deleted in the meantime. */
const heldWithFewerNodes = async (): Promise<RouteWorld> => {
  const w = await settled(10);
  w.cloud.hides = () => true;
  await w.pass(120);
  expect(w.removals.held("routes")).toHaveLength(10);
  for (const name of names(8)) w.nodes.remove(name);
  await w.pass(600);
  expect([w.cloud.changes, w.removals.held("routes").length]).toEqual([[], 2]);
  return w;
};

test("a hold of absent routes ends when listings show the routes, not when Nodes are deleted", async () => {
  const w = await heldWithFewerNodes();
  w.cloud.hides = () => false;
  await w.pass(120);
  expect(w.cloud.shown()).toEqual([`${rangeOf("n8")} -> n8`, `${rangeOf("n9")} -> n9`]);
  expect(w.cloud.changes.filter((change) => change.startsWith("create"))).toEqual([]);
  expect(w.removals.held("routes")).toEqual([]);
});

test("a hold that outlasts its Nodes ends with a release", async () => {
  const w = await heldWithFewerNodes();
  w.cloud.table = [];
  w.cloud.hides = () => false;
  expect(w.removals.release("routes")).toHaveLength(2);
  await w.pass(120);
  expect([w.cloud.changes.length, w.cloud.table.length, w.removals.held("routes")]).toEqual([2, 2, []]);
});

test("a hold lasts while the instances of the last Nodes are temporarily unknown", async () => {
  const w = await heldWithFewerNodes();
  for (const name of names(2, 8)) w.machines.hidden.set(name, "both");
  w.inventory.requestListing(w.clock.monotonic(), "refresh");
  await w.pass(90);
  w.machines.hidden.clear();
  w.inventory.requestListing(w.clock.monotonic(), "refresh");
  await w.pass(300);
  expect(w.cloud.changes).toEqual([]);
});
