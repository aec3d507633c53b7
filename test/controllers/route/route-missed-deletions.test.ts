import { afterEach, expect, test } from "bun:test";
import type { Condition } from "../../../src/kube/objects.ts";
import { RouteWorld } from "./route-world.ts";

// Nodes that vanish from the API server while the cloud's answers lack things too.

let world: RouteWorld | undefined;
afterEach(() => world?.stop());

const created: Condition = { type: "NetworkUnavailable", status: "False", reason: "RouteCreated" };
const names = (amount: number, from = 0) => Array.from({ length: amount }, (_, index) => `n${from + index}`);
const rangeOf = (name: string) => `10.244.${name.slice(1)}.0/24`;

/** Nodes with their routes, as the last process has left them. */
const settled = async (amount: number): Promise<RouteWorld> => {
  const w = new RouteWorld();
  world = w;
  for (const name of names(amount)) {
    w.add(name, rangeOf(name), { conditions: [created] });
    w.cloud.put(rangeOf(name), { targetKey: name });
  }
  await w.settle();
  return w;
};

test("a wrong listing of instances does not explain why Nodes vanished: their routes count", async () => {
  const w = await settled(20);
  for (const name of names(8)) w.machines.hidden.set(name, "both");
  w.inventory.requestListing(w.clock.monotonic(), "refresh");
  await w.pass(5);
  w.nodes.vanish(...names(8));
  await w.pass(120);
  expect(w.cloud.changes).toEqual([]);
  expect(w.removals.held("routes")).toHaveLength(8);
});
