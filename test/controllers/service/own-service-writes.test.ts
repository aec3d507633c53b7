import { expect, test } from "bun:test";
import { scriptedWorld } from "../../support/scripted-world.ts";
import { ServiceWorld } from "../../support/service-world.ts";

// Our own writes to Services come back through the watch: they wake nobody, and what comes with them is not overlooked.

test("a status that we write brings no second look at the Service", async () => {
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

test("a change by somebody else while a write of ours is under way is seen", async () => {
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

test("a Service that stops asking is let go of with the write that takes its finalizer", async () => {
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

test("a deletion while a write of ours is under way is seen, although our answer brings it too", async () => {
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

test("an annotation written while a write of ours is under way is seen, although our answer brings it too", async () => {
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
