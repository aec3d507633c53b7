import { expect, test } from "bun:test";
import { trueView } from "../../../providers/fake/simulator/view.ts";
import { lagListings } from "../../support/lagging-view.ts";
import { scriptedWorld } from "../../support/scripted-world.ts";
import { problemsOf } from "../../support/service-problems.ts";
import { lbFinalizer, ServiceWorld } from "../../support/service-world.ts";

// Listings that hide load balancers in combination with other events: a leader change, a partial recovery, a deletion, a second
// load balancer. Nothing is created twice, and nothing is left behind.

const names = Array.from({ length: 20 }, (_, index) => `s${index}`);

async function settledWorld(services: readonly string[], ...flags: readonly string[]): Promise<ServiceWorld> {
  const w = new ServiceWorld();
  w.cloud.balancers.hasUniqueNames = false;
  await w.start(...flags);
  for (const name of services) w.create(name);
  await w.until(() => services.every((name) => w.addressesOf(name).length === 1), "all addresses");
  await w.pass(60);
  w.forget();
  return w;
}

async function relist(w: ServiceWorld, time: number): Promise<void> {
  w.manager.balancers?.request(Number.POSITIVE_INFINITY, "refresh");
  await w.pass(time);
}

const hideAll = (w: ServiceWorld): void => {
  w.cloud.view = { ...trueView, balancers: () => [] };
};
const idsOf = (w: ServiceWorld): readonly string[] => w.cloud.balancers.list().map(({ id }) => id);
const withoutFinalizer = (w: ServiceWorld, name: string): void => {
  w.edit(name, ({ metadata, ...rest }) => ({ ...rest, metadata: { ...metadata, finalizers: [] } }));
};

test("two empty listings prove nothing if another replica led in between", async () => {
  const w = await settledWorld(["web"], "--leader-elect=true");
  w.cloud.faults.add({ kind: "empty-list", operation: "GET /balancers" });
  await relist(w, 1);
  await w.pass(1);
  expect(w.events("web").at(-1)).toContain("LoadBalancerMissing");
  for (let time = 0; time < 600; time += 5) {
    w.holdLease("other");
    await w.pass(5);
  }
  w.cloud.faults.add({ kind: "empty-list", operation: "GET /balancers" });
  w.holdLease("");
  await w.until(() => w.manager.leads(), "it to lead");
  await w.pass(120);
  expect([w.changes, idsOf(w)]).toEqual([[], ["b1"]]);
  await w.stop();
});

test("recreates nothing while the cloud recovers step by step from a mass fault", async () => {
  const w = await settledWorld(names);
  hideAll(w);
  await relist(w, 100);
  expect(w.manager.report().balancersOnHold).toHaveLength(20);
  w.cloud.view = { ...trueView, balancers: (existing) => existing.slice(0, 16) };
  await relist(w, 20);
  w.cloud.view = trueView;
  await w.pass(120);
  expect([w.changes, w.manager.report().balancersOnHold]).toEqual([[], []]);
  expect(names.flatMap((name) => w.conditionsOf(name))).toEqual([]);
  await w.stop();
});

test("recreates load balancers that stay absent after the cloud has recovered from a mass fault", async () => {
  const w = await settledWorld(names);
  hideAll(w);
  await relist(w, 100);
  for (const id of ["b1", "b2"]) w.cloud.balancers.remove(id);
  w.cloud.view = trueView;
  await relist(w, 120);
  expect(w.changes).toEqual(["POST /balancers", "POST /balancers"]);
  expect(w.owners()).toEqual(w.wanted());
  await w.stop();
});

test.each(["deleted", "deleted without its finalizer"])(
  "a Service that is %s during a mass fault leaves no load balancer behind",
  async (how) => {
    const w = await settledWorld(names);
    hideAll(w);
    await relist(w, 60);
    if (how !== "deleted") withoutFinalizer(w, "s0");
    w.delete("s0");
    await w.pass(300);
    if (how === "deleted") {
      expect(w.events("s0").at(-1)).toContain(
        "MassRemovalHeld The load balancer of this Service is absent, and so are too many others",
      );
    }
    const held = w.manager.report().balancersOnHold.filter(({ reason }) => reason === "MassRemovalHeld");
    expect(held).toHaveLength(1);
    w.cloud.view = trueView;
    await w.pass(3600);
    expect([w.find("s0"), w.owners(), w.manager.report().orphans]).toEqual([undefined, w.wanted(), []]);
    await w.stop();
  },
);

/** A second load balancer with the same mark, and one listing that hides the first one. */
async function duplicatedWorld(): Promise<ServiceWorld> {
  const w = await settledWorld(["web"]);
  const { id: _, ip: __, status: ___, ipv6: ____, ...spec } = w.cloud.balancers.get("b1");
  w.cloud.balancers.create(spec);
  await relist(w, 60);
  w.forget();
  return w;
}

function hideFirst(w: ServiceWorld, listings: number): void {
  let left = listings;
  w.cloud.view = {
    ...trueView,
    balancers: (existing) => (left-- > 0 ? existing.filter(({ id }) => id !== "b1") : existing),
  };
}

test("a listing that shows only the duplicate load balancer changes no address and no load balancer", async () => {
  const w = await duplicatedWorld();
  hideFirst(w, 1);
  w.addNode("late");
  await relist(w, 1);
  await w.pass(1);
  expect(w.events("web").at(-1)).toMatch(
    /^Warning LoadBalancerMissing The cloud no longer lists load balancer b1 of this Service: .+ If a listing at 2\S+Z or later lacks it too, it no longer exists, and load balancer b2 with the same mark replaces it\. The address of the Service then changes \(now 192\.0\.2\.1\), unless/,
  );
  await w.pass(120);
  expect([w.addressesOf("web"), w.changes, w.written]).toEqual([["192.0.2.1"], ["PATCH /balancers/b1"], []]);
  await w.stop();
});

test("a Service that is deleted while a listing shows only the duplicate leaves neither load balancer behind", async () => {
  const w = await duplicatedWorld();
  hideFirst(w, 1);
  await relist(w, 1);
  w.delete("web");
  await w.pass(120);
  expect([idsOf(w), w.find("web")]).toEqual([[], undefined]);
  await w.stop();
});

test("the duplicate replaces a load balancer that was deleted in the cloud", async () => {
  const w = await duplicatedWorld();
  w.cloud.balancers.remove("b1");
  await relist(w, 60);
  expect([w.addressesOf("web"), w.changes]).toEqual([["192.0.2.2"], []]);
  expect(problemsOf(w.manager)).toEqual([]);
  await w.stop();
});

test("a lookup without the deleted Service's desired state proves nothing about a load balancer that a listing hides", async () => {
  let isHidden = false;
  const { w, script } = scriptedWorld(undefined, (balancers) => {
    const all = async () => (await Array.fromAsync(balancers.list({} as never))).flat();
    return {
      list: async function* () {
        yield isHidden ? [] : await all();
      },
      observe: async (desired, listed) => {
        if (listed !== undefined || desired === undefined) return listed;
        return (await all()).find(({ owners }) => owners.includes(desired.owner.uid));
      },
    };
  });
  await w.start();
  w.create("web");
  // The last listing is then too old for a plan.
  await w.pass(400);
  isHidden = true;
  withoutFinalizer(w, "web");
  w.delete("web");
  await w.pass(5);
  isHidden = false;
  await w.pass(60);
  expect([script.things.size, w.manager.report().orphans]).toEqual([0, []]);
  await w.stop();
});

test("waits for a proof when lookups still lack two of 20 load balancers that a hold has kept", async () => {
  let hidden = 0;
  const { w, script } = scriptedWorld(undefined, (balancers) => {
    const shown = async () => (await Array.fromAsync(balancers.list({} as never))).flat().slice(hidden);
    return {
      list: async function* () {
        yield await shown();
      },
      observe: async (desired, listed) =>
        listed ?? (await shown()).find(({ owners }) => owners.some((uid) => uid === desired?.owner.uid)),
    };
  });
  await w.start();
  for (const name of names) w.create(name);
  await w.until(() => names.every((name) => w.addressesOf(name).length === 1), "all addresses");
  await w.pass(60);
  hidden = 20;
  await relist(w, 90);
  expect(w.manager.removals.held("load-balancers")).toHaveLength(20);
  // The cloud recovers step by step.
  hidden = 2;
  await relist(w, 25);
  expect([w.manager.removals.held("load-balancers"), script.applied.length]).toEqual([[], 20]);
  hidden = 0;
  await relist(w, 120);
  expect(script.applied).toHaveLength(20);
  await w.stop();
});

test("creates no second load balancer when the previous leader's last requests arrive during the handover", async () => {
  const w = new ServiceWorld();
  w.cloud.balancers.hasUniqueNames = false;
  const { uid } = w.create("web").metadata;
  lagListings(w, 20);
  let isHandedOver = false;
  w.onCrossing = (what, when) => {
    if (isHandedOver || when !== "before" || !what.startsWith("PATCH ")) return;
    isHandedOver = true;
    w.edit("web", ({ metadata, ...rest }) => ({
      ...rest,
      metadata: { ...metadata, finalizers: [lbFinalizer] },
    }));
    const labels = { cluster: "kubernetes", "managed-by": "fairlead", "owner-uid": uid };
    w.cloud.balancers.create({ name: "made-by-the-previous-leader", labels });
  };
  await w.start();
  await w.until(() => w.addressesOf("web").length === 1, "the address", 60);
  await w.pass(120);
  expect([isHandedOver, idsOf(w), w.owners()]).toEqual([true, ["b1"], [uid]]);
  await w.stop();
});

test("immediately creates a load balancer for a Service that had no load balancer for 6 s after a restart", async () => {
  const w = await settledWorld(["web"]);
  w.crash();
  await w.start();
  await w.pass(10);
  w.editSpec("web", { type: "ClusterIP" });
  await w.pass(6);
  w.editSpec("web", { type: "LoadBalancer" });
  await w.until(() => w.addressesOf("web").length === 1, "the address", 5);
  await w.stop();
});
