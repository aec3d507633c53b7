import { expect, test } from "bun:test";
import { resourceNamed } from "../../../src/testing/apiserver/objects/resource-table.ts";
import { scriptedWorld } from "../../support/scripted-world.ts";
import type { ServiceWorld } from "../../support/service-world.ts";

// Shared load balancers whose marks name an owner that this process does not know or has not decided about: it keeps its part
// when all others leave.

const inGroup = (group: string) => ({ annotations: { "scripted.example/group": group } });

function vanish(w: ServiceWorld, name: string): () => void {
  const service = w.server.store.get("services", "default", name);
  if (service === undefined) throw new Error(`There is no Service ${name}.`);
  w.server.store.remove(resourceNamed("services"), service);
  return () => void w.server.store.put(resourceNamed("services"), service);
}

const leave = {
  vanishes: vanish,
  "is deleted after its finalizer was removed": (w: ServiceWorld, name: string) => {
    w.edit(name, ({ metadata, ...rest }) => ({ ...rest, metadata: { ...metadata, finalizers: [] } }));
    w.delete(name);
  },
  "is deleted": (w: ServiceWorld, name: string) => w.delete(name),
  "gets another type": (w: ServiceWorld, name: string) => w.editSpec(name, { type: "ClusterIP" }),
} as const;

test.each(Object.entries(leave))(
  "a load balancer that also serves an unknown owner stays when its last known Service %s",
  async (_, leaves) => {
    const { w, script } = scriptedWorld();
    await w.start();
    w.create("a", inGroup("x"));
    await w.pass(30);
    const thing = script.things.get("thing-of-group-x");
    if (thing === undefined) throw new Error("There is no load balancer.");
    script.things.set(thing.id, { ...thing, owners: [...thing.owners, "unknown"] });
    w.manager.balancers?.request(Number.POSITIVE_INFINITY, "refresh");
    await w.pass(5);
    leaves(w, "a");
    await w.pass(600);
    expect(script.things.get(thing.id)?.owners).toContain("unknown");
    expect(w.find("a")?.metadata.finalizers ?? []).toEqual([]);
    expect(w.manager.report().orphans.map(({ group }) => group)).toEqual(["group-x"]);
    await w.stop();
  },
);

test("a shared load balancer stays when one Service is deleted while another one has vanished and may come back", async () => {
  const { w, script } = scriptedWorld();
  await w.start();
  for (const name of ["a", "b"]) w.create(name, inGroup("x"));
  await w.pass(30);
  const { uid } = w.get("a").metadata;
  const comeBack = vanish(w, "a");
  w.delete("b");
  await w.pass(20);
  comeBack();
  await w.pass(60);
  expect([...script.things.values()].map(({ owners }) => owners)).toEqual([[uid]]);
  expect([script.applied, w.find("b")]).toEqual([["make group-x", "change group-x"], undefined]);
  await w.stop();
});

test("a Service that vanished loses its load balancer in time although an invalid Service joined its group", async () => {
  const { w, script } = scriptedWorld();
  await w.start();
  w.create("a", inGroup("x"));
  await w.pass(30);
  w.create("wrong", { annotations: { ...inGroup("x").annotations, "scripted.example/size": "lagre" } });
  await w.pass(5);
  vanish(w, "a");
  await w.pass(5);
  expect(w.manager.report().balancersOnHold.map(({ reason }) => reason)).toEqual(["ServiceVanished"]);
  await w.pass(60);
  expect(script.things.size).toBe(0);
  await w.stop();
});

test.each([
  ["together", 0],
  ["one after the other", 40],
])(
  "Services that share a load balancer and vanish %s keep their parts beyond the mass limit",
  async (_, pause) => {
    const { w, script } = scriptedWorld();
    await w.start();
    const names = Array.from({ length: 20 }, (_, index) => `s${index}`);
    for (const name of names) w.create(name, inGroup("x"));
    await w.pass(60);
    const comeBack: (() => void)[] = [];
    for (const name of names.slice(1, 10)) {
      comeBack.push(vanish(w, name));
      await w.pass(pause);
    }
    await w.pass(120);
    const owners = (): number => script.things.get("thing-of-group-x")?.owners.length ?? 0;
    expect(owners()).toBeGreaterThanOrEqual(18);
    expect(w.manager.report().balancersOnHold.map(({ reason }) => reason)).toEqual(["MassRemovalHeld"]);
    for (const restore of comeBack) restore();
    await w.pass(180);
    expect([owners(), w.manager.report().balancersOnHold]).toEqual([20, []]);
    await w.stop();
  },
);
