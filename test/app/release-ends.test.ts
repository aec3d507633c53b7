import { afterEach, expect, test } from "bun:test";
import { trueView } from "../../providers/fake/simulator/view.ts";
import { resourceNamed } from "../../src/testing/apiserver/objects/resource-table.ts";
import { ServiceWorld } from "../support/service-world.ts";

// A release applies to the objects that are held at that moment. If the cloud fails again later, the release must
// not make it trusted.

let world: ServiceWorld | undefined;
afterEach(async () => {
  await world?.stop();
});

const release = (w: ServiceWorld, kind: string): void => {
  const lease = w.server.store.get("leases", "kube-system", "cloud-controller-manager");
  if (lease === undefined) throw new Error("There is no Lease.");
  const annotations = { ...lease.metadata.annotations, "fairlead.dev/release-hold": kind };
  w.server.store.put(resourceNamed("leases"), { ...lease, metadata: { ...lease.metadata, annotations } });
};

const settledServices = async (): Promise<ServiceWorld> => {
  const w = new ServiceWorld();
  world = w;
  await w.start("--leader-elect=true");
  const names = Array.from({ length: 10 }, (_, index) => `s${index}`);
  for (const name of names) w.create(name);
  await w.until(() => names.every((name) => w.addressesOf(name).length === 1), "all addresses");
  await w.pass(60);
  w.cloud.balancers.hasUniqueNames = false;
  w.forget();
  return w;
};

/** Listings of load balancers are empty for this long. */
const hideBalancers = async (w: ServiceWorld, seconds: number): Promise<void> => {
  w.cloud.view = { ...trueView, balancers: () => [] };
  w.manager.balancers?.request(Number.POSITIVE_INFINITY, "refresh");
  await w.pass(seconds);
};

const creations = (w: ServiceWorld): number => w.changes.filter((what) => what === "POST /balancers").length;

test("a release creates each absent load balancer once, although listings stay empty", async () => {
  const w = await settledServices();
  await hideBalancers(w, 150);
  expect(creations(w)).toBe(0);
  release(w, "load-balancers");
  await w.pass(500);
  expect(creations(w)).toBe(10);
  expect(w.manager.report().balancersOnHold.map(({ reason }) => reason)).toEqual(
    Array(10).fill("MassRecreationHeld"),
  );
});

test("a release of load balancers ends when they are listed again", async () => {
  const w = await settledServices();
  await hideBalancers(w, 150);
  // The released load balancer cannot be created, and then the cloud recovers.
  w.cloud.faults.add({ kind: "status", operation: "POST /balancers", status: 402, calls: 1000 });
  release(w, "load-balancers");
  await w.pass(20);
  w.cloud.view = trueView;
  w.cloud.faults.clear();
  w.manager.balancers?.request(Number.POSITIVE_INFINITY, "refresh");
  await w.pass(90);
  const created = creations(w);
  expect(w.manager.report().balancersOnHold).toEqual([]);
  await hideBalancers(w, 150);
  expect(creations(w)).toBe(created);
  expect(w.manager.report().balancersOnHold).toHaveLength(10);
});

test.each(["Ready", "not Ready"])(
  "a release of Nodes ends when their instances are back: %s",
  async (how) => {
    const w = new ServiceWorld({ nodes: 10 });
    world = w;
    const names = w.server.store.list("nodes").map(({ metadata }) => metadata.name);
    const lost = names.slice(0, 5);
    for (const name of names) w.setReady(name, "True");
    await w.start("--leader-elect=true", "--controllers=cloud-node-lifecycle");
    await w.until(() => w.manager.leads(), "it to lead");
    const lose = async (): Promise<void> => {
      for (const name of lost) w.cloud.faults.hide({ resource: name, from: "both", milliseconds: 300_000 });
      for (const name of lost) w.setReady(name, "Unknown");
      await w.pass(290);
    };
    await lose();
    w.cloud.faults.clear();
    release(w, "nodes");
    await w.pass(60);
    expect(w.logged.filter((line) => line.includes("Released because of annotation"))).toHaveLength(1);
    if (how === "Ready") for (const name of lost) w.setReady(name, "True");
    await w.pass(60);
    await lose();
    expect(w.server.store.list("nodes")).toHaveLength(10);
  },
);
