import { afterEach, expect, test } from "bun:test";
import { milliseconds, nodeName, seconds } from "../../../src/core/brand.ts";
import { NodeControllers, uninitialized } from "../../support/node-controllers.ts";
import { machine } from "../../support/scripted-source.ts";

// A Node whose instance was not visible waits with growing delays. Other requests may find the instance earlier.

let world: NodeControllers | undefined;
afterEach(() => world?.stop());

const setUp = async () => {
  const script = { takes: milliseconds(20), pageSize: 1, lookups: { name: 1 } };
  const machines = ["a", "b", "c"].map((key) => machine(key));
  world = new NodeControllers({ machines, script }).start("node");
  world.inventory.requestListing(0, "refresh");
  await world.pass(5);
  world.nodes.add({
    name: "n0",
    spec: { taints: [uninitialized] },
    status: { addresses: [{ type: "Hostname", address: "n0" }] },
  });
  await world.pass(60);
  return world;
};

test("a Node is initialized immediately when the lookup of another controller finds its instance [F25]", async () => {
  const w = await setUp();
  const before = w.cloud.lookupCalls.length;
  w.cloud.put(machine("n0"));
  // A lagging listing does not show the machine.
  w.cloud.hidden.set("n0", "listing");
  const identity = { name: nodeName("n0"), addresses: [] };
  w.inventory.request(identity, { since: w.clock.monotonic(), urgency: "new-node" });
  await w.until(() => w.initialized.length === 1, "the Node to be initialized", 0.2);
  expect(w.cloud.lookupCalls.length - before).toBe(1);
});

test("a Node whose instance is still missing is not retried when another Node is found", async () => {
  const w = await setUp();
  await w.pass(600);
  const tried: string[] = [];
  const add = w.node.queue.add.bind(w.node.queue);
  w.node.queue.add = (key, options) => {
    if ((options?.delay ?? 0) === 0) tried.push(key);
    add(key, options);
  };
  const identity = { name: nodeName("a"), addresses: [] };
  w.inventory.request(identity, { since: w.clock.monotonic(), urgency: "new-node", method: "lookup" });
  await w.clock.advance(seconds(1));
  expect(tried).toEqual([]);
});
