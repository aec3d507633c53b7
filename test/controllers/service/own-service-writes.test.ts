import { expect, test } from "bun:test";
import { scriptedWorld } from "../../support/scripted-world.ts";
import { ServiceWorld } from "../../support/service-world.ts";

// The watch returns the service controller's own writes: they trigger no reconcile, but concurrent changes by others do.

test("a status write by Fairlead triggers no second reconcile of the Service", async () => {
  const { w, script } = scriptedWorld();
  await w.start();
  w.create("web");
  await w.pass(30);
  script.plans = 0;
  w.edit("web", (service) => ({ ...service, status: { loadBalancer: {} } }), "status");
  await w.pass(30);
  expect(w.addressesOf("web")).toHaveLength(1);
  expect(script.plans).toBe(1);
});

test("reconciles a change by another writer during the controller's write", async () => {
  for (const when of ["before", "after"] as const) {
    const w = new ServiceWorld();
    await w.start();
    let isChanged = false;
    w.onCrossing = (what, side) => {
      if (isChanged || side !== when || !/PATCH .*\/web\/status/.test(what)) return;
      isChanged = true;
      w.editSpec("web", { ports: [{ port: 443, protocol: "TCP" }] });
    };
    w.create("web");
    await w.pass(30);
    expect([when, isChanged]).toEqual([when, true]);
    expect(w.cloud.balancers.list()[0]?.listeners).toMatchObject([{ port: 443 }]);
    expect(w.addressesOf("web")).toHaveLength(1);
  }
});

test("the write that removes the finalizer also forgets the Service, which may need a load balancer again", async () => {
  const w = new ServiceWorld();
  await w.start();
  w.create("web");
  await w.pass(30);
  w.editSpec("web", { type: "ClusterIP" });
  await w.pass(30);
  w.editSpec("web", { type: "LoadBalancer" });
  await w.pass(30);
  expect(w.owners()).toEqual(w.wanted());
  expect(w.addressesOf("web")).toHaveLength(1);
});

test("reconciles a deletion during the controller's write, although the response contains it", async () => {
  for (const when of ["before", "after"] as const) {
    const w = new ServiceWorld();
    await w.start();
    let isDeleted = false;
    w.onCrossing = (what, side) => {
      if (isDeleted || side !== when || !/PATCH .*\/web\/status/.test(what)) return;
      if (w.get("web").metadata.finalizers === undefined || w.cloud.balancers.list().length === 0) return;
      isDeleted = true;
      w.delete("web");
    };
    w.create("web");
    await w.pass(60);
    expect([when, isDeleted]).toEqual([when, true]);
    expect([when, w.find("web")]).toEqual([when, undefined]);
    expect(w.cloud.balancers.list()).toEqual([]);
  }
});

test("reconciles an annotation written during the controller's write, although the response contains it", async () => {
  const w = new ServiceWorld();
  await w.start();
  let isChanged = false;
  w.onCrossing = (what, side) => {
    if (isChanged || side !== "before" || !/PATCH .*\/web\/status/.test(what)) return;
    if (w.cloud.balancers.list().length === 0) return;
    isChanged = true;
    w.annotate("web", { "service.beta.kubernetes.io/load-balancer-source-ranges": "10.0.0.0/8" });
  };
  w.create("web");
  await w.pass(60);
  expect(isChanged).toBe(true);
  expect(JSON.stringify(w.cloud.balancers.list())).toContain("10.0.0.0/8");
});
