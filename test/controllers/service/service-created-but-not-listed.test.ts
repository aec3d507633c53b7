import { expect, test } from "bun:test";
import { trueView } from "../../../providers/fake/simulator/view.ts";
import { resourceNamed } from "../../../src/testing/apiserver/objects/resource-table.ts";
import { refused } from "../../support/scripted-balancers.ts";
import { scriptedWorld } from "../../support/scripted-world.ts";
import { ServiceWorld } from "../../support/service-world.ts";

// Listings that never show what Fairlead creates, for example because of an incorrect filter or a project that the
// credential cannot list.

async function hiddenWorld(): Promise<ServiceWorld> {
  const w = new ServiceWorld();
  w.cloud.balancers.hasUniqueNames = false;
  w.cloud.view = { ...trueView, balancers: () => [] };
  await w.start("--leader-elect=true");
  w.create("web");
  await w.pass(900);
  return w;
}

/** Counts the sent steps, whether or not they fail. */
const countingWorld = () => {
  let count = 0;
  const world = scriptedWorld(undefined, ({ apply }) => ({
    apply: (...given) => {
      count += 1;
      return apply(...given);
    },
  }));
  return { ...world, attempts: () => count };
};

const created = (w: ServiceWorld): number => w.changes.filter((what) => what === "POST /balancers").length;

test("creates at most two load balancers for a Service whose load balancer is never listed, and reports CreatedButNotListed", async () => {
  const w = await hiddenWorld();
  expect(created(w)).toBe(2);
  expect(w.get("web").status.conditions).toMatchObject([
    { type: "CloudReady", status: "False", reason: "CreatedButNotListed" },
  ]);
  expect(w.events("web").at(-1)).toMatch(
    /^Warning CreatedButNotListed Fairlead sent 2 requests to create the load balancer of this Service \(\S+\), and no listing shows one, so none is created until a listing does\. /,
  );
  expect(w.manager.report().balancersOnHold).toMatchObject([
    { service: "default/web", reason: "CreatedButNotListed" },
  ]);
  w.addNode("late");
  await w.pass(600);
  expect(created(w)).toBe(2);
  await w.stop();
});

test("a creation with a lost response counts as the second attempt after an accepted creation", async () => {
  const { w, script, attempts } = countingWorld();
  script.neverSettles = true;
  await w.start();
  w.create("web");
  await w.pass(20);
  expect(attempts()).toBe(1);
  script.refusal = refused("no answer", "unavailable");
  await w.pass(1800);
  expect(attempts()).toBe(2);
  expect(w.manager.report().balancersOnHold).toMatchObject([{ reason: "CreatedButNotListed" }]);
  await w.stop();
});

test("creates a load balancer as soon as the cloud can, although many creations failed", async () => {
  const { w, script, attempts } = countingWorld();
  script.refusal = refused("no answer", "unavailable");
  await w.start();
  w.create("web");
  await w.pass(1800);
  expect(attempts()).toBeGreaterThan(3);
  script.refusal = undefined;
  await w.pass(600);
  expect(script.things.size).toBe(1);
  await w.stop();
});

test("a change of the Service creates one more load balancer if listings do not show it", async () => {
  const w = await hiddenWorld();
  w.editSpec("web", { sessionAffinity: "ClientIP" });
  await w.pass(300);
  expect(created(w)).toBe(3);
  w.editSpec("web", { sessionAffinity: "None" });
  await w.pass(300);
  expect(created(w)).toBe(3);
  await w.stop();
});

test("a release creates one more load balancer that listings do not show", async () => {
  const w = await hiddenWorld();
  const lease = w.server.store.get("leases", "kube-system", "cloud-controller-manager");
  if (lease === undefined) throw new Error("There is no Lease.");
  const annotations = { ...lease.metadata.annotations, "fairlead.dev/release-hold": "load-balancers" };
  w.server.store.put(resourceNamed("leases"), { ...lease, metadata: { ...lease.metadata, annotations } });
  await w.pass(300);
  expect(created(w)).toBe(3);
  await w.stop();
});

test("a listing that shows the created load balancers ends the hold", async () => {
  const w = await hiddenWorld();
  w.cloud.view = trueView;
  await w.pass(120);
  expect([w.addressesOf("web").length, w.manager.report().balancersOnHold, created(w)]).toEqual([1, [], 2]);
  expect(w.get("web").status.conditions ?? []).toEqual([]);
  await w.stop();
});

test("recreates load balancers each time that they are deleted in the cloud, because listings showed them", async () => {
  const { w, script } = scriptedWorld();
  await w.start();
  w.create("web");
  for (let count = 1; count <= 4; count += 1) {
    await w.pass(60);
    expect(script.applied.filter((what) => what.startsWith("make"))).toHaveLength(count);
    script.things.clear();
    w.manager.balancers?.request(Number.POSITIVE_INFINITY, "refresh");
  }
  await w.stop();
});

test("does not create a load balancer twice that a lost operation creates late", async () => {
  const { w, script } = scriptedWorld((cloud) => {
    cloud.operationLimit = 10;
  });
  await w.start();
  w.create("web");
  await w.until(() => script.operations.length === 1, "the operation");
  // Everything is listed twice while it is running.
  for (let at = 0; at < 3; at += 1) {
    w.manager.balancers?.request(Number.POSITIVE_INFINITY, "refresh");
    await w.pass(20);
    w.create(`other-${at}`);
  }
  script.neverSettles = true;
  script.outcomes.set("operation-1", "lost");
  await w.pass(10);
  script.neverSettles = false;
  const { uid } = w.get("web").metadata;
  script.things.set(`thing-of-${uid}`, { id: `thing-of-${uid}`, owners: [uid], targets: 3 });
  await w.pass(120);
  expect(script.applied.filter((step) => step === `make ${uid}`)).toHaveLength(1);
  await w.stop();
});
