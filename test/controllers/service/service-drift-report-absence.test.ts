import { afterEach, expect, test } from "bun:test";
import { trueView } from "../../../providers/fake/simulator/view.ts";
import { resourceNamed } from "../../../src/testing/apiserver/objects/resource-table.ts";
import { ServiceWorld } from "../../support/service-world.ts";

// --load-balancer-drift=report: an absent load balancer is drift, and so are changes after another replica completed a change.

const report = "--load-balancer-drift=report";

let world: ServiceWorld | undefined;
afterEach(async () => {
  await world?.stop();
});

async function settledWorld(names: readonly string[]): Promise<ServiceWorld> {
  const w = new ServiceWorld();
  world = w;
  await w.start(report);
  for (const name of names) w.create(name);
  await w.pass(60);
  w.forget();
  return w;
}

const created = (w: ServiceWorld): number => w.changes.filter((what) => what === "POST /balancers").length;

async function relist(w: ServiceWorld): Promise<void> {
  w.manager.balancers?.request(Number.POSITIVE_INFINITY, "refresh");
  await w.pass(120);
}

test("a load balancer that was deleted in the cloud is reported, and recreated when the Service changes", async () => {
  const w = await settledWorld(["web"]);
  w.cloud.balancers.remove("b1");
  await relist(w);
  await w.pass(600);
  const events = w.events("web").join("\n");
  expect(events).toContain(
    "lacks it too, it no longer exists, and it counts as drift: because --load-balancer-drift is report, only a change of the Service's spec or settings creates a new one.",
  );
  expect(w.events("web").at(-1)).toContain(
    "Warning LoadBalancerDrift The load balancer no longer exists in the cloud. No new one is created, because --load-balancer-drift is report: create balancer",
  );
  expect([events.includes("a new one is created"), created(w)]).toEqual([false, 0]);
  w.editSpec("web", { sessionAffinity: "ClientIP" });
  await w.pass(120);
  expect([created(w), w.addressesOf("web")]).toEqual([1, ["192.0.2.2"]]);
});

test("reports 20 absent load balancers as drift, without a hold whose release would create no load balancer", async () => {
  const names = Array.from({ length: 20 }, (_, index) => `s${index}`);
  const w = await settledWorld(names);
  w.cloud.view = { ...trueView, balancers: () => [] };
  await relist(w);
  await w.pass(300);
  const last = names.map((name) => w.events(name).at(-1)?.split(" ")[1]);
  expect([created(w), w.manager.report().balancersOnHold, [...new Set(last)]]).toEqual([
    0,
    [],
    ["LoadBalancerDrift"],
  ]);
});

test("a creation that another replica completed does not overwrite a later change in the cloud", async () => {
  const w = new ServiceWorld({ actionTime: 20_000 });
  world = w;
  await w.start(report, "--leader-elect=true");
  await w.until(() => w.manager.leads(), "it to lead");
  w.create("web");
  await w.until(() => w.cloud.balancers.list().length > 0, "a load balancer");
  for (let time = 0; time < 30; time += 5) {
    w.holdLease("another-replica");
    await w.pass(5);
  }
  w.cloud.balancers.actionTime = 0 as never;
  const { ip } = w.cloud.balancers.get("b1");
  const stored = w.server.store.get("services", "default", "web");
  if (stored === undefined) throw new Error("There is no Service.");
  const status = { loadBalancer: { ingress: [{ ip, ipMode: "VIP" }] } };
  w.server.store.put(resourceNamed("services"), { ...stored, status });
  w.cloud.balancers.change("b1", { algorithm: "least-connections" });
  w.holdLease("");
  await w.pass(120);
  expect(w.manager.leads()).toBe(true);
  expect(w.cloud.balancers.get("b1").algorithm).toBe("least-connections");
  expect(w.events("web").join()).toContain("LoadBalancerDrift");
});
