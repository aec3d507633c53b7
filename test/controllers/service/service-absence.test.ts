import { expect, test } from "bun:test";
import { trueView } from "../../../providers/fake/simulator/view.ts";
import { lagListings } from "../../support/lagging-view.ts";
import { scriptedWorld } from "../../support/scripted-world.ts";
import { problemsOf } from "../../support/service-problems.ts";
import { ServiceWorld } from "../../support/service-world.ts";

// A load balancer that existed is never recreated or forgotten because a single listing lacked it.

const names = Array.from({ length: 20 }, (_, index) => `s${index}`);

async function settledWorld({ hasUniqueNames = true } = {}): Promise<ServiceWorld> {
  const w = new ServiceWorld();
  w.cloud.balancers.hasUniqueNames = hasUniqueNames;
  await w.start();
  for (const name of names) w.create(name);
  await w.until(() => names.every((name) => w.addressesOf(name).length === 1), "all addresses");
  await w.pass(60);
  w.forget();
  return w;
}

const countOf = (w: ServiceWorld, what: string): number => w.asked.filter((one) => one === what).length;
const hasEvent = (w: ServiceWorld, name: string, reason: string): boolean =>
  w.events(name).some((text) => text.includes(reason));

test.each([
  ["unique names", true, false],
  ["names that are not unique", false, false],
  ["unique names after a restart", true, true],
  ["names that are not unique after a restart", false, true],
])(
  "creates nothing when one listing of settled load balancers is empty, with %s",
  async (_, hasUniqueNames, isRestarted) => {
    const w = await settledWorld({ hasUniqueNames });
    const addresses = names.map((name) => w.addressesOf(name));
    w.cloud.faults.add({ kind: "empty-list", operation: "GET /balancers" });
    if (isRestarted) {
      await w.stop();
      w.forget();
      await w.start();
    }
    await w.until(() => names.every((name) => hasEvent(w, name, "LoadBalancerMissing")), "the events", 3600);
    await w.pass(120);
    expect(w.changes).toEqual([]);
    expect(w.written).toEqual([]);
    expect(names.map((name) => w.addressesOf(name))).toEqual(addresses);
    // One listing decides for all Services.
    expect(countOf(w, "GET /balancers")).toBeLessThanOrEqual(3);
    await w.stop();
  },
);

test("a Service reports when the decision about its missing load balancer is due", async () => {
  const w = await settledWorld();
  w.cloud.faults.add({ kind: "empty-list", operation: "GET /balancers" });
  await w.until(() => hasEvent(w, "s0", "LoadBalancerMissing"), "the event", 3600);
  const text = w.events("s0").find((event) => event.includes("LoadBalancerMissing")) ?? "";
  expect(text).toMatch(
    /^Warning LoadBalancerMissing The cloud no longer lists load balancer b1 of this Service: it was probably deleted there\. One listing is not proof, so nothing is changed yet\. If a listing at 2\S+Z or later lacks it too, it no longer exists, and nothing follows from that as long as so many others are absent too\.$/,
  );
  expect(problemsOf(w.manager, "default/s0").join()).toContain("LoadBalancerMissing");
  await w.pass(60);
  expect(problemsOf(w.manager)).toEqual([]);
  await w.stop();
});

test("recreates a load balancer that was deleted in the cloud after a second listing without it", async () => {
  const w = await settledWorld();
  const { id = "" } = w.cloud.balancers.list()[0] ?? {};
  w.cloud.balancers.remove(id);
  await w.until(() => w.changes.length > 0, "the new load balancer", 3600);
  await w.pass(60);
  expect(w.changes).toEqual(["POST /balancers"]);
  expect(w.owners()).toEqual(w.wanted());
  await w.stop();
});

test.each([
  ["are unique", true],
  ["are not unique", false],
])("creates one load balancer when listings lag by 3 s and names %s", async (_, hasUniqueNames) => {
  const w = new ServiceWorld();
  w.cloud.balancers.hasUniqueNames = hasUniqueNames;
  lagListings(w, 3);
  await w.start();
  w.create("web");
  await w.until(() => w.addressesOf("web").length === 1, "the address", 8);
  await w.pass(120);
  expect(w.changes).toEqual(["POST /balancers"]);
  w.delete("web");
  await w.until(() => w.find("web") === undefined, "the end", 60);
  expect(w.cloud.balancers.list()).toEqual([]);
  await w.stop();
});

test("creates one load balancer when the response is lost and listings lag by 20 s", async () => {
  const w = new ServiceWorld();
  w.cloud.balancers.hasUniqueNames = false;
  lagListings(w, 20);
  w.cloud.faults.add({ kind: "lost-answer", operation: "POST /balancers" });
  await w.start();
  w.create("web");
  await w.until(() => w.addressesOf("web").length === 1, "the address", 60);
  await w.pass(120);
  expect(w.owners()).toEqual(w.wanted());
  await w.stop();
});

test("creates one load balancer when the process dies after creating it and listings lag by 20 s", async () => {
  const w = new ServiceWorld();
  w.cloud.balancers.hasUniqueNames = false;
  await w.start();
  lagListings(w, 20);
  w.onCrossing = (what, when) => {
    if (what === "POST /balancers" && when === "after") w.crash();
  };
  w.create("web");
  await w.until(() => !w.isRunning, "the crash", 30);
  w.onCrossing = undefined;
  await w.start();
  await w.until(() => w.addressesOf("web").length === 1, "the address", 60);
  await w.pass(120);
  expect(w.owners()).toEqual(w.wanted());
  await w.stop();
});

test.each([
  ["in the process that created it", false],
  ["after a restart", true],
])("keeps the finalizer while a listing hides the load balancer, %s", async (_, isRestarted) => {
  const w = await settledWorld();
  if (isRestarted) {
    await w.stop();
    w.delete("s0");
  }
  w.cloud.view = { ...trueView, balancers: () => [] };
  if (isRestarted) await w.start();
  else {
    await w.pass(400);
    w.delete("s0");
  }
  await w.pass(20);
  w.cloud.view = trueView;
  expect(w.get("s0").metadata.finalizers).toHaveLength(1);
  expect(hasEvent(w, "s0", "LoadBalancerMissing") || isRestarted).toBe(true);
  await w.until(() => w.find("s0") === undefined, "the end", 60);
  await w.pass(60);
  expect(w.changes).toEqual([expect.stringMatching(/^DELETE /)]);
  expect(w.owners()).toEqual(w.wanted());
  await w.stop();
});

test("deleting a Service requires no second listing after the load balancer was deleted", async () => {
  const w = await settledWorld();
  const began = w.clock.monotonic();
  for (const name of names) w.delete(name);
  await w.until(() => w.services().length === 0, "the end", 30);
  expect(w.clock.monotonic() - began).toBeLessThan(2000);
  expect(w.cloud.balancers.list()).toEqual([]);
  await w.stop();
});

test("a Service that was created with the finalizer gets its load balancer immediately", async () => {
  const w = new ServiceWorld();
  await w.start();
  await w.pass(5);
  w.create("web", { finalizers: ["service.kubernetes.io/load-balancer-cleanup"] });
  await w.until(() => w.addressesOf("web").length === 1, "the address", 5);
  await w.stop();
});

test("recreates a load balancer that a lookup does not find without a second listing, but not right after its creation", async () => {
  const { w, script } = scriptedWorld(undefined, () => ({
    observe: async (_, listed) => listed,
  }));
  await w.start();
  w.create("web");
  await w.pass(5);
  script.things.clear();
  w.annotate("web", { "scripted.example/size": "large" });
  w.manager.balancers?.request(Number.POSITIVE_INFINITY, "refresh");
  await w.pass(10);
  expect(script.applied.filter((what) => what.startsWith("make"))).toHaveLength(1);
  await w.pass(60);
  expect(script.applied.filter((what) => what.startsWith("make"))).toHaveLength(2);
  await w.pass(60);
  script.things.clear();
  w.manager.balancers?.request(Number.POSITIVE_INFINITY, "refresh");
  await w.pass(2);
  expect(script.applied.filter((what) => what.startsWith("make"))).toHaveLength(3);
  await w.stop();
});

test("does not delete a load balancer of a Service that was never seen", async () => {
  const { w, script } = scriptedWorld();
  script.things.set("thing", { id: "thing", owners: ["gone"], targets: 3 });
  await w.start();
  await w.pass(5);
  w.manager.queues["service"]?.add("gone");
  await w.pass(120);
  expect([script.applied, script.things.size]).toEqual([[], 1]);
  expect(w.manager.report().orphans).toHaveLength(1);
  await w.stop();
});

test("lists immediately when a user changes a Service whose load balancer was deleted manually", async () => {
  const w = new ServiceWorld();
  await w.start();
  w.create("web");
  await w.until(() => w.addressesOf("web").length === 1, "an address");
  await w.pass(60);
  w.cloud.balancers.clear();
  w.forget();
  w.editSpec("web", { ports: [{ port: 81, protocol: "TCP" }] });
  await w.pass(1);
  expect(w.asked).toEqual(["PATCH /balancers/b1", "GET /balancers", "GET /balancers"]);
  await w.until(() => w.cloud.balancers.list().length === 1, "a new load balancer", 31);
  await w.stop();
});
