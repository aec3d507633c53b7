import { afterEach, expect, test } from "bun:test";
import { milliseconds, providerID } from "../../../src/core/brand.ts";
import { NodeControllers, type SetupOptions, uninitialized } from "../../support/node-controllers.ts";
import { machine, ScriptedSource } from "../../support/scripted-source.ts";

let world: NodeControllers | undefined;
afterEach(() => world?.stop());
const setUp = async (options: SetupOptions): Promise<NodeControllers> => {
  world = new NodeControllers(options).start("node");
  world.inventory.requestListing(0, "refresh");
  await world.pass(30);
  return world;
};

const names = Array.from({ length: 90 }, (_, index) => `n${index}`);
/** Three pages of 50, and four with the machines above. */
const others = Array.from({ length: 105 }, (_, index) => machine(`other-${index}`));
const pages = 4;
/** One machine per lookup. */
const script = { takes: milliseconds(15), lookups: { id: 1, name: 1 } };

const joins = (at: NodeControllers, name: string) =>
  at.nodes.add({
    name,
    spec: { taints: [uninitialized] },
    status: { addresses: [{ type: "Hostname", address: name }] },
  });

/** Ninety Nodes join within 2.6 s, one after another. */
async function ninetyJoin(w: NodeControllers, beforeEach: (name: string) => void): Promise<void> {
  for (const name of names) {
    beforeEach(name);
    joins(w, name);
    await w.pass(2.6 / names.length);
  }
  await w.until(() => w.initialized.length === names.length, "all Nodes to be initialized", 3);
}

/** Lookups, and pages of listings, except the first listing. */
const requestsOf = ({ lookupCalls, listings }: ScriptedSource): number =>
  lookupCalls.length + (listings - 1) * pages;

test("ninety Nodes that join one after another cost two lookups and one listing [F9 F11 N4]", async () => {
  const w = await setUp({ machines: others, script });
  w.cloud.put(...names.map((name) => machine(name)));
  await ninetyJoin(w, () => undefined);
  expect([w.cloud.lookupCalls.length, w.cloud.listings]).toEqual([2, 2]);
});

test("ninety Nodes whose machines have just been created cost a listing per second [F9 F11 N4]", async () => {
  const w = await setUp({ machines: others, script });
  await ninetyJoin(w, (name) => w.cloud.put(machine(name)));
  expect(requestsOf(w.cloud)).toBeLessThanOrEqual(4 + 4 * pages);
});

test("ninety Nodes in two regions that are both queried about every Node cost a listing per second [F9 N4]", async () => {
  const regions: ScriptedSource[] = [];
  const addRegion = (name: string, clock: NodeControllers["clock"]): ScriptedSource => {
    const source = new ScriptedSource({ clock, name, scheme: `${name}://`, ...script }, others);
    regions.push(source);
    return source;
  };
  const w = await setUp({ sources: (clock) => [addRegion("east", clock), addRegion("west", clock)] });
  for (const [index, name] of names.entries()) {
    const region = regions[index % 2];
    region?.put(machine(name, { id: providerID(`${region.name}://${name}`) }));
  }
  await ninetyJoin(w, () => undefined);
  for (const region of regions) expect(requestsOf(region)).toBeLessThanOrEqual(4 + 4 * pages);
});

test("ninety Nodes in a cloud with batched lookups cost a few requests [F9 N4]", async () => {
  const w = await setUp({ machines: others, script: { ...script, lookups: { id: 100, name: 100 } } });
  await ninetyJoin(w, (name) => w.cloud.put(machine(name)));
  expect(requestsOf(w.cloud)).toBeLessThanOrEqual(5 + 2 * pages);
});

test("a single joining Node costs one lookup, without a wait [F9 N4]", async () => {
  const w = await setUp({ machines: others, script });
  w.cloud.put(machine("n0"));
  joins(w, "n0");
  await w.until(() => w.initialized.length === 1, "the Node to be initialized", 0.1);
  expect(w.cloud.calls.slice(1)).toEqual([{ at: 30_010, what: "find name n0", urgency: "new-node" }]);
});

test("repeats the lookup of a machine that is not visible yet, instead of listing [F25]", async () => {
  const w = await setUp({ machines: others, script });
  joins(w, "late");
  await w.pass(120);
  expect(w.cloud.listings).toBe(1);
  expect(new Set(w.cloud.lookupCalls)).toEqual(new Set(["find name late"]));
});
