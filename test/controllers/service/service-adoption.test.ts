import { expect, test } from "bun:test";
import { scriptedWorld } from "../../support/scripted-world.ts";
import { ServiceWorld } from "../../support/service-world.ts";

// A Service that requests to adopt a load balancer: if the adoption is impossible, no new load balancer replaces it,
// and the Service reports that.

const adopt = "balancer.fake.example/adopt";

async function startedWorld(): Promise<ServiceWorld> {
  const w = new ServiceWorld();
  await w.start();
  return w;
}

const balancers = (w: ServiceWorld) =>
  w.cloud.balancers.list().map(({ id, labels }) => [id, labels["owner-uid"]]);
const byHand = (w: ServiceWorld, name: string) => w.cloud.balancers.create({ name }).id;

test("creates no load balancer for a Service that requests to adopt a missing load balancer, and adopts it later", async () => {
  const w = await startedWorld();
  const { uid } = w.create("web", { annotations: { [adopt]: "b1" } }).metadata;
  await w.pass(3600);
  expect(w.changes).toEqual([]);
  expect(w.events("web")).toEqual([
    "Warning AdoptionNotFound default/web asks to adopt load balancer b1, which does not exist. No other one is created, because it would have a different address. Correct the annotation, or remove it to create a new load balancer.",
  ]);
  expect(w.get("web").status.conditions).toMatchObject([{ type: "CloudReady", reason: "AdoptionNotFound" }]);
  const id = byHand(w, "by-hand");
  await w.pass(600);
  expect(balancers(w)).toEqual([[id, uid]]);
  expect(w.get("web").status.conditions ?? []).toEqual([]);
});

test("creates a load balancer once the annotation that names a missing load balancer is removed", async () => {
  const w = await startedWorld();
  const { uid } = w.create("web", { annotations: { [adopt]: "b404" } }).metadata;
  await w.pass(60);
  w.annotate("web", { [adopt]: undefined });
  await w.pass(60);
  expect(balancers(w)).toEqual([["b1", uid]]);
});

test("a Service with a load balancer reports that it adopts no second one, and does not block adoption by another Service", async () => {
  const w = await startedWorld();
  const old = w.create("old").metadata.uid;
  await w.pass(60);
  const id = byHand(w, "by-hand");
  w.forget();
  w.annotate("old", { [adopt]: id });
  await w.pass(60);
  expect([w.changes, w.written]).toEqual([[], []]);
  expect(w.events("old").at(-1)).toBe(
    `Warning AdoptionIgnored default/old asks to adopt load balancer ${id}, but it already has a different one, so this has no effect. Restore or remove the annotation. To adopt ${id}, name it on a new Service.`,
  );
  const heir = w.create("heir", { annotations: { [adopt]: id } }).metadata.uid;
  await w.pass(60);
  expect(balancers(w)).toEqual([
    ["b1", old],
    [id, heir],
  ]);
});

test("a Service that names another load balancer after the adoption keeps its load balancer and reports AdoptionIgnored", async () => {
  const w = await startedWorld();
  const id = byHand(w, "by-hand");
  const other = byHand(w, "other");
  const { uid } = w.create("web", { annotations: { [adopt]: id } }).metadata;
  await w.pass(60);
  expect(w.events("web").join()).not.toContain("Adoption");
  w.annotate("web", { [adopt]: other });
  await w.pass(60);
  expect(balancers(w)).toEqual([
    [id, uid],
    [other, undefined],
  ]);
  expect(w.events("web").join()).toContain(
    `AdoptionIgnored default/web asks to adopt load balancer ${other},`,
  );
});

test("adopts no load balancer of another Service, and names that Service", async () => {
  const w = await startedWorld();
  w.create("shop");
  await w.pass(60);
  w.forget();
  w.create("web", { annotations: { [adopt]: "b1" } });
  await w.pass(60);
  expect(w.changes).toEqual([]);
  expect(w.events("web").join()).toContain(
    "AdoptionRefused default/web asks to adopt load balancer b1, which belongs to default/shop. It is not adopted,",
  );
});

test("an unmarked load balancer is adopted only by the Service that names it [F39]", async () => {
  const { w, script } = scriptedWorld();
  for (const id of ["mine", "other"]) script.things.set(id, { id, owners: [], targets: 0 });
  await w.start();
  w.create("a", { annotations: { "scripted.example/adopt": "mine" } });
  await w.pass(30);
  expect(script.applied).toEqual(["adopt mine"]);
  expect(script.things.get("other")).toEqual({ id: "other", owners: [], targets: 0 });
  expect(w.get("a").status.loadBalancer?.ingress).toEqual([{ hostname: "mine.example" }]);
});

test("a load balancer that two Services name is adopted by neither Service, and no replacement is created [F39]", async () => {
  const { w, script } = scriptedWorld();
  script.things.set("mine", { id: "mine", owners: [], targets: 0 });
  for (const name of ["a", "b"]) w.create(name, { annotations: { "scripted.example/adopt": "mine" } });
  await w.start();
  await w.pass(60);
  expect(script.applied).toEqual([]);
  expect(w.events("a").join()).toContain("AmbiguousAdoption");
  w.annotate("b", { "scripted.example/adopt": undefined });
  await w.pass(1800);
  expect(script.applied.toSorted()).toEqual(["adopt mine", `make ${w.get("b").metadata.uid}`]);
});
