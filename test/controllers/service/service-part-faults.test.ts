import { expect, test } from "bun:test";
import { lagListings } from "../../support/lagging-view.ts";
import { RegionalWorld, regionAnnotation } from "../../support/regional-balancers.ts";

// Faults of one region that are not plain failures: empty and lagging listings, and a region that never answers.

async function settled(): Promise<RegionalWorld> {
  const world = new RegionalWorld();
  await world.w.start();
  world.create("near-1", "near");
  world.create("far-1", "far");
  await world.w.pass(60);
  expect([world.ids("near").length, world.ids("far").length]).toEqual([1, 1]);
  world.w.forget();
  world.far.seen.length = 0;
  return world;
}

const list = (world: RegionalWorld) =>
  world.w.manager.balancers?.request(Number.POSITIVE_INFINITY, "refresh");

test("changes nothing after one empty listing of a region, and manages the other one meanwhile", async () => {
  const world = await settled();
  const { w, far } = world;
  const before = world.ids("far");
  far.faults.add({ kind: "empty-list", operation: "GET /balancers" });
  list(world);
  await w.pass(5);
  world.create("near-2", "near");
  await w.until(() => w.addressesOf("near-2").length === 1, "the address", 5);
  await w.pass(600);
  expect([world.ids("far"), world.farChanges]).toEqual([before, []]);
  await w.stop();
});

test("creates a load balancer again only after two listings of its own region, however often another one was listed", async () => {
  const world = await settled();
  const { w, near, far } = world;
  far.faults.add({ kind: "status", operation: "GET /balancers", calls: 1e9, status: 503 });
  await w.pass(600);
  const [id = ""] = world.ids("near");
  near.balancers.remove(id);
  list(world);
  const removedAt = w.clock.monotonic();
  await w.until(() => world.ids("near").length === 1, "the new load balancer", 120);
  expect(w.clock.monotonic() - removedAt).toBeGreaterThanOrEqual(30_000);
  await w.stop();
});

test("does not take listings of one region as proof for a Service whose load balancer may be in either", async () => {
  const world = new RegionalWorld({ namesParts: false });
  const { w, far } = world;
  await w.start();
  world.create("any");
  await w.until(() => w.addressesOf("any").length === 1, "the address");
  const before = world.ids("near");
  // After the restart nothing but the address says that there is one, and only the far region answers.
  w.crash();
  w.cloud.faults.add({ kind: "status", operation: "GET /balancers", calls: 1e9, status: 503 });
  await w.start();
  for (let round = 0; round < 20; round += 1) {
    list(world);
    await w.pass(60);
  }
  expect([world.ids("near"), world.ids("far")]).toEqual([before, []]);
  expect(far.seen.filter(({ mutates }) => mutates)).toEqual([]);
  w.cloud.faults.clear();
  await w.pass(600);
  expect([world.ids("near"), world.ids("far")]).toEqual([before, []]);
  await w.stop();
});

test("creates one load balancer in a region whose listings lag 20 s, while those of the other one do not", async () => {
  const world = await settled();
  const { w, far } = world;
  lagListings({ cloud: far, clock: w.clock }, 20);
  world.create("far-2", "far");
  world.create("near-2", "near");
  await w.until(() => w.addressesOf("near-2").length === 1, "the address", 5);
  await w.until(() => w.addressesOf("far-2").length === 1, "the address", 120);
  await w.pass(600);
  expect([world.ids("near").length, world.ids("far").length]).toEqual([2, 2]);
  await w.stop();
});

test("lists a region no more often because another one never answers", async () => {
  const world = await settled();
  const { w, near } = world;
  world.failFar("hang");
  await w.pass(600);
  for (const name of ["a", "b", "c"]) world.create(name);
  near.seen.length = 0;
  await w.pass(3600);
  expect(near.seen.filter(({ operation }) => operation === "GET /balancers").length).toBeLessThan(40);
  expect(world.ids("near")).toHaveLength(1);
  world.far.faults.clear();
  await w.pass(600);
  expect(world.ids("near")).toHaveLength(4);
  await w.stop();
});

test("proves an absence only with listings of every region, although one of them does not answer for long", async () => {
  const world = new RegionalWorld({ namesParts: false });
  const { w, near } = world;
  await w.start();
  world.create("any");
  await w.until(() => w.addressesOf("any").length === 1, "the address");
  world.failFar("hang");
  w.crash();
  const [id = ""] = world.ids("near");
  near.balancers.remove(id);
  await w.start();
  near.seen.length = 0;
  await w.pass(3600);
  expect([world.ids("near"), world.ids("far")]).toEqual([[], []]);
  expect(near.seen.filter(({ operation }) => operation === "GET /balancers").length).toBeLessThan(120);
  world.far.faults.clear();
  await w.pass(900);
  expect(world.ids("near")).toHaveLength(1);
  await w.stop();
});

test("keeps the status of a Service after a restart while its region fails and another one lists a second load balancer", async () => {
  const world = new RegionalWorld({ namesParts: false });
  const { w, near, far } = world;
  await w.start();
  world.create("any");
  await w.until(() => w.addressesOf("any").length === 1, "the address");
  const [original] = near.balancers.list();
  if (original === undefined) throw new Error("There is no load balancer.");
  const { id: _, ip: __, status: ___, ipv6: ____, ...spec } = original;
  const { listeners } = far.balancers.create(spec);
  const addresses = w.addressesOf("any");
  w.crash();
  near.faults.add({ kind: "status", operation: "GET /balancers", calls: 1e9, status: 503 });
  await w.start();
  w.editSpec("any", { ports: [{ port: 8080, protocol: "TCP" }] });
  await w.pass(3600);
  expect([w.addressesOf("any"), far.balancers.list()[0]?.listeners]).toEqual([addresses, listeners]);
  near.faults.clear();
  await w.pass(600);
  expect(near.balancers.list()).toMatchObject([{ listeners: [{ port: 8080 }] }]);
  expect([w.addressesOf("any"), far.balancers.list()[0]?.listeners]).toEqual([addresses, listeners]);
  await w.stop();
});

test("deletes a load balancer that was not listed yet when its Service moved to another region", async () => {
  const world = await settled();
  const { w, far } = world;
  lagListings({ cloud: far, clock: w.clock }, 20);
  world.create("moving", "far");
  await w.until(() => world.ids("far").length === 2, "the load balancer");
  w.annotate("moving", { [regionAnnotation]: "near" });
  await w.pass(25);
  expect(world.ids("near")).toHaveLength(1);
  await w.pass(600);
  expect([world.ids("near").length, world.ids("far").length]).toEqual([2, 1]);
  expect(w.events("moving").join()).not.toContain("DuplicateLoadBalancer");
  await w.stop();
});
