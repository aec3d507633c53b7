import { afterEach, expect, test } from "bun:test";
import { milliseconds } from "../../src/core/brand.ts";
import { NodeControllers, type SetupOptions, uninitialized } from "../support/node-controllers.ts";
import { machine } from "../support/scripted-source.ts";

let world: NodeControllers | undefined;
afterEach(() => world?.stop());
const setUp = (options?: SetupOptions): NodeControllers => {
  world = new NodeControllers(options);
  return world;
};

const joins = (at: NodeControllers, name: string, providerID?: string) =>
  at.nodes.add({
    name,
    spec: { taints: [uninitialized], ...(providerID !== undefined && { providerID }) },
    status: { addresses: [{ type: "Hostname", address: name }] },
  });

test("a thousand nodes that join at once cost one listing [F9 F11]", async () => {
  const names = Array.from({ length: 1000 }, (_, index) => `n${index}`);
  const w = setUp({ machines: names.map((name) => machine(name)) });
  w.start("node");
  for (const name of names) joins(w, name);
  await w.until(() => w.initialized.length === 1000, "all nodes to be initialised");
  await w.pass(30);
  expect(w.cloud.listings).toBe(1);
  expect(w.nodes.sent).toHaveLength(2000);
  expect(w.nodes.node("n999").spec).toEqual({ providerID: "fake://n999" });
});

test("a machine that is not visible yet is looked for again after short rests [F25]", async () => {
  const w = setUp({ script: { takes: milliseconds(100) } });
  w.start("node");
  joins(w, "late");
  await w.pass(4);
  w.cloud.put(machine("late"));
  await w.until(() => w.initialized.includes("late"), "the node to be initialised", 8);
  expect(w.cloud.listings).toBeLessThanOrEqual(5);
});

test("nodes whose machines never show up cost as many listings an hour as one of them would [F25 N4]", async () => {
  const w = setUp({ script: { takes: milliseconds(100) } });
  w.start("node");
  for (let index = 0; index < 50; index += 1) joins(w, `lost-${index}`);
  await w.pass(600);
  const before = w.cloud.listings;
  await w.pass(3600);
  expect(w.cloud.listings - before).toBeLessThanOrEqual(40);
});
