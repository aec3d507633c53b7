import { expect, test } from "bun:test";
import { debugState } from "../../../src/app/endpoints/debug-pages.ts";
import { syncFailed } from "../../../src/controllers/service/status/events.ts";
import { RegionalWorld, regionAnnotation } from "../../support/regional-balancers.ts";
import { toService } from "./service-draft.ts";

// A cloud with two regions, of which one cannot be listed for a while: only its own load balancers wait.

const hour = 3600;

async function settled(...[options]: ConstructorParameters<typeof RegionalWorld>): Promise<RegionalWorld> {
  const world = new RegionalWorld(options);
  await world.w.start();
  world.create("near-1", "near");
  world.create("far-1", "far");
  await world.w.pass(60);
  expect([world.ids("near").length, world.ids("far").length]).toEqual([1, 1]);
  world.w.forget();
  world.far.seen.length = 0;
  return world;
}

for (const kind of ["status", "hang"] as const) {
  test(`creates, updates and deletes load balancers of one region while the listing of the other one fails with ${kind}`, async () => {
    const world = await settled();
    const { w, near } = world;
    world.failFar(kind);
    await w.pass(600);
    world.create("near-2", "near");
    await w.until(() => w.addressesOf("near-2").length === 1, "the address", 5);
    w.editSpec("near-1", { ports: [{ port: 8080, protocol: "TCP" }] });
    const portsOf = () => near.balancers.list().map(({ listeners }) => listeners.map(({ port }) => port));
    await w.until(() => portsOf().flat().includes(8080), "the new port", 5);
    await w.pass(hour);
    w.delete("near-1");
    await w.until(() => w.find("near-1") === undefined, "the deletion", 5);
    expect(world.ids("near")).toHaveLength(1);
    expect(world.farChanges).toEqual([]);
    await w.stop();
  });
}

test("changes, reports and creates nothing in a region that fails, nor when it answers again", async () => {
  const world = await settled();
  const { w, far } = world;
  const [before, addresses] = [world.ids("far"), w.addressesOf("far-1")];
  world.failFar();
  await w.pass(hour);
  w.annotate("far-1", { "balancer.fake.example/algorithm": "least-connections" });
  await w.pass(60);
  expect(w.events("far-1").join()).toContain(
    "Waiting for the listing of load balancers in far, which failed: ",
  );
  expect(world.farChanges).toEqual([]);
  far.faults.clear();
  await w.pass(600);
  expect([world.ids("far"), w.addressesOf("far-1")]).toEqual([before, addresses]);
  expect(far.balancers.list()).toMatchObject([{ algorithm: "least-connections" }]);
  expect(world.farChanges).toEqual(["PATCH /balancers/{id}"]);
  expect(w.logged.filter((line) => line.includes("Orphaned"))).toEqual([]);
  await w.stop();
});

test("creates no load balancer for a Service of an unknown region while a region fails, and says why", async () => {
  const world = await settled();
  const { w, far } = world;
  world.failFar();
  await w.pass(600);
  world.create("any");
  await w.pass(hour);
  expect([world.ids("near").length, world.farChanges]).toEqual([1, []]);
  const [event = ""] = w.events("any").filter((text) => text.includes("SyncLoadBalancerFailed"));
  expect(event).toContain("Waiting for the listing of load balancers in far, which failed: ");
  expect(event).toContain(
    "Its load balancer may be in any of these: near, far. Nothing is created or changed until all of them are listed.",
  );
  far.faults.clear();
  await w.until(() => w.addressesOf("any").length === 1, "the address", 600);
  await w.stop();
});

test("keeps all load balancers over a restart while a region fails, and manages those of the other one", async () => {
  for (const namesParts of [true, false]) {
    const world = await settled({ namesParts });
    const { w, far } = world;
    const before = [world.ids("near"), world.ids("far")];
    world.failFar();
    await w.pass(600);
    w.crash();
    await w.start();
    await w.pass(600);
    w.editSpec("near-1", { ports: [{ port: 8080, protocol: "TCP" }] });
    await w.pass(10);
    expect(w.cloud.balancers.list()).toMatchObject([{ listeners: [{ port: 8080 }] }]);
    w.annotate("far-1", { "balancer.fake.example/algorithm": "least-connections" });
    await w.pass(hour);
    expect([world.ids("near"), world.ids("far")]).toEqual(before);
    expect(world.farChanges).toEqual([]);
    far.faults.clear();
    await w.pass(600);
    expect([world.ids("near"), world.ids("far")]).toEqual(before);
    expect(world.farChanges).toEqual(["PATCH /balancers/{id}"]);
    await w.stop();
  }
});

test("deletes the load balancer of a Service in a region that fails only when the region answers again", async () => {
  const world = await settled();
  const { w, far } = world;
  world.failFar();
  await w.pass(600);
  w.delete("far-1");
  await w.pass(hour);
  expect([w.find("far-1") === undefined, world.ids("far").length]).toEqual([false, 1]);
  far.faults.clear();
  await w.until(() => w.find("far-1") === undefined, "the deletion", 600);
  expect(world.ids("far")).toEqual([]);
  await w.stop();
});

for (const isRestarted of [false, true]) {
  test(`moves a Service out of a region that fails only when it answers again${isRestarted ? ", also after a restart" : ""}`, async () => {
    const world = await settled();
    const { w, far } = world;
    world.failFar();
    await w.pass(600);
    w.annotate("far-1", { [regionAnnotation]: "near" });
    if (isRestarted) {
      w.crash();
      await w.start();
    }
    await w.pass(hour);
    expect([world.ids("near").length, world.ids("far").length]).toEqual([1, 1]);
    far.faults.clear();
    await w.pass(600);
    expect([world.ids("near").length, world.ids("far").length]).toEqual([2, 0]);
    expect(w.addressesOf("far-1")).toHaveLength(1);
    await w.stop();
  });
}

test("reports a load balancer of the same Service in another region, and deletes both with the Service", async () => {
  const world = await settled();
  const { w, near, far } = world;
  const [original] = near.balancers.list();
  if (original === undefined) throw new Error("There is no load balancer.");
  const { id: _, ip: __, status: ___, ipv6: ____, ...spec } = original;
  far.balancers.create(spec);
  const addresses = w.addressesOf("near-1");
  w.manager.balancers?.request(Number.POSITIVE_INFINITY, "refresh");
  await w.pass(60);
  const named = (region: "near" | "far") => `${world.ids(region).at(-1)} in ${region}`;
  expect(w.events("near-1").join()).toContain(
    `Fairlead manages ${named("near")} and does not change the others (${named("far")})`,
  );
  expect(w.addressesOf("near-1")).toEqual(addresses);
  w.delete("near-1");
  await w.pass(120);
  expect([world.ids("near").length, world.ids("far").length, w.find("near-1")]).toEqual([0, 1, undefined]);
  await w.stop();
});

test("shows the listing of each region in /debug/state, with its failure", async () => {
  const world = await settled();
  const { w } = world;
  world.failFar();
  w.manager.balancers?.request(Number.POSITIVE_INFINITY, "refresh");
  await w.pass(5);
  const [near, far] = debugState(w.manager.report()).balancerListings;
  expect(near).toEqual({ part: "near", balancers: expect.any(Number), ageSeconds: expect.any(Number) });
  expect(far).toMatchObject({
    part: "far",
    failure: expect.stringContaining("load balancers in far, which failed"),
  });
  expect((far?.ageSeconds ?? 0) - (near?.ageSeconds ?? 0)).toBeGreaterThan(30);
  await w.stop();
});

test("deletes a Service although the region that it was about to move to fails", async () => {
  const world = await settled();
  const { w } = world;
  world.failFar();
  await w.pass(600);
  w.annotate("near-1", { [regionAnnotation]: "far" });
  await w.pass(60);
  expect([world.ids("near").length, world.farChanges]).toEqual([1, []]);
  w.delete("near-1");
  await w.until(() => w.find("near-1") === undefined, "the deletion", 60);
  expect([world.ids("near").length, world.farChanges]).toEqual([0, []]);
  await w.stop();
});

test("the event about a failed listing ends each sentence once", () => {
  const failure = (message: string) => syncFailed(toService({}), new Error(message), ["near", "far"]).message;
  expect(failure("It failed")).toContain("It failed. Its load balancer may be in");
  expect(failure("It failed.")).toContain("It failed. Its load balancer may be in");
});
