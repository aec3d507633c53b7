import { expect, test } from "bun:test";
import { scriptedWorld } from "../support/scripted-world.ts";
import { ServiceWorld } from "../support/service-world.ts";

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
