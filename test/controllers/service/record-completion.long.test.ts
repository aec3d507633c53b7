import { expect, test } from "bun:test";
import { resourceNamed } from "../../../src/testing/apiserver/objects/resource-table.ts";
import { refused } from "../../support/scripted-balancers.ts";
import { scriptedWorld } from "../../support/scripted-world.ts";
import { TrackedCollections } from "../../support/tracked-collections.ts";

// The end of a reconcile: records that stay while cloud objects are left, records that are dropped, and clouds
// that end in unexpected states.

const size = "scripted.example/size";
const onDelete = "fairlead.dev/on-delete";

/** A cloud with deletion protection: plans have no steps while it is enabled. */
const protectedWorld = () => {
  const guard = { isOn: true };
  const world = scriptedWorld(undefined, ({ plan }) => ({
    plan: (desired, observed, given) =>
      guard.isOn && (desired === undefined || desired.ending !== undefined)
        ? { steps: [] }
        : plan(desired, observed, given),
  }));
  return { ...world, guard };
};

test("a deleted Service stays while the cloud shows its load balancer, even if the plan has no steps", async () => {
  const { w, script, guard } = protectedWorld();
  await w.start();
  w.create("web");
  await w.pass(30);
  w.delete("web");
  await w.pass(60);
  expect([script.things.size, w.find("web") !== undefined]).toEqual([1, true]);
  guard.isOn = false;
  await w.pass(60);
  expect([script.things.size, w.find("web")]).toEqual([0, undefined]);
});

test("a load balancer that could not be deleted with its Service is deleted later", async () => {
  const { w, script, guard } = protectedWorld();
  await w.start();
  w.create("web");
  await w.pass(30);
  w.edit("web", ({ metadata, ...rest }) => ({ ...rest, metadata: { ...metadata, finalizers: [] } }));
  w.delete("web");
  await w.pass(3600);
  expect([script.things.size, w.find("web")]).toEqual([1, undefined]);
  guard.isOn = false;
  await w.pass(3600);
  expect(script.things.size).toBe(0);
});

test("a Service with a corrected annotation gets the events of a new load balancer", async () => {
  const { w } = scriptedWorld();
  await w.start();
  w.create("web", { annotations: { [size]: "lagre" } });
  await w.pass(60);
  expect(w.events("web").join()).not.toContain("Normal EnsuringLoadBalancer");
  w.annotate("web", { [size]: "large" });
  await w.pass(30);
  const reported = w.events("web").join();
  expect(reported).toContain("Normal EnsuringLoadBalancer");
  expect(reported).toContain("Normal EnsuredLoadBalancer");
});

test("a Service whose address another program announces gets no status write", async () => {
  const { w } = scriptedWorld(undefined, () => ({
    plan: () => ({ steps: [] }),
    publish: () => ({ kind: "not-ours" }),
  }));
  await w.start();
  w.create("web");
  await w.pass(60);
  expect([w.written, w.get("web").metadata.finalizers ?? []]).toEqual([[], []]);
});

test("continues to release a load balancer whose Service disappears during the release until it has no mark", async () => {
  const asked: (readonly [observed: string | undefined, ending: string | undefined])[] = [];
  const { w, script } = scriptedWorld(
    (one) => {
      one.releases = true;
    },
    ({ plan }) => ({
      plan: (desired, observed, given) => {
        asked.push([observed?.name, desired?.ending]);
        return plan(desired, observed, given);
      },
    }),
  );
  await w.start();
  const { uid } = w.create("web", { annotations: { [onDelete]: "release" } }).metadata;
  await w.pass(30);
  w.edit("web", ({ metadata, ...rest }) => ({ ...rest, metadata: { ...metadata, finalizers: [] } }));
  await w.pass(0);
  asked.length = 0;
  w.delete("web");
  await w.pass(60);
  expect([...script.things.values()]).toMatchObject([{ owners: [] }]);
  const marked = asked.filter(([observed]) => observed !== undefined);
  expect(marked).toEqual(marked.map(() => [`thing-of-${uid}`, "release"]));
  expect(marked).not.toEqual([]);
  expect(asked.at(-1)).toEqual([undefined, undefined]);
});

test("forgets a released load balancer, whether its Service remains or is deleted", async () => {
  const tracked = new TrackedCollections();
  try {
    const { w, script } = scriptedWorld((one) => {
      one.releases = true;
    });
    await w.start();
    for (const name of ["stays", "goes"]) w.create(name, { annotations: { [onDelete]: "release" } });
    await w.pass(30);
    w.editSpec("stays", { type: "ClusterIP" });
    w.edit("goes", ({ metadata, ...rest }) => ({ ...rest, metadata: { ...metadata, finalizers: [] } }));
    w.delete("goes");
    await w.pass(60);
    expect([...script.things.values()].map(({ owners }) => owners)).toEqual([[], []]);
    expect(await tracked.leaks("service/state/")).toEqual([]);
    await w.stop();
  } finally {
    tracked.restore();
  }
});

test("forgets a load balancer that is left as an orphan", async () => {
  const tracked = new TrackedCollections();
  try {
    const { w, script } = scriptedWorld((one) => {
      one.releases = true;
    });
    await w.start();
    w.create("web", { annotations: { [onDelete]: "release" } });
    await w.pass(30);
    w.annotate("web", { [onDelete]: "keep" });
    await w.pass(5);
    w.edit("web", ({ metadata, ...rest }) => ({ ...rest, metadata: { ...metadata, finalizers: [] } }));
    w.delete("web");
    await w.pass(60);
    expect([script.things.size, w.find("web")]).toEqual([1, undefined]);
    expect(await tracked.leaks("service/state/")).toEqual([]);
    await w.stop();
  } finally {
    tracked.restore();
  }
});

test("forgets a failed check of an operation when its load balancer is gone", async () => {
  const tracked = new TrackedCollections();
  try {
    const { w, script } = scriptedWorld((one) => {
      one.operationLimit = 10;
    });
    await w.start();
    w.create("web");
    await w.pass(5);
    script.checkRefusal = refused("checks are refused");
    await w.pass(600);
    expect(Object.keys(await tracked.sizes()).join()).toContain("service/state/");
    script.checkRefusal = undefined;
    for (let operation = 1; operation < 5; operation += 1)
      script.outcomes.set(`operation-${operation}`, "done");
    w.delete("web");
    await w.pass(3600);
    expect([script.things.size, w.find("web")]).toEqual([0, undefined]);
    expect(await tracked.leaks("service/state/")).toEqual([]);
    await w.stop();
  } finally {
    tracked.restore();
  }
});

test("still reports a vanished Service when another Service takes its name", async () => {
  const { w } = scriptedWorld();
  await w.start();
  w.create("web");
  await w.pass(60);
  const vanished = w.server.store.get("services", "default", "web");
  if (vanished === undefined) throw new Error("There is no Service web.");
  w.server.store.remove(resourceNamed("services"), vanished);
  w.create("web");
  await w.pass(5);
  expect(w.manager.report().balancersOnHold).toMatchObject([
    { service: "default/web", reason: "ServiceVanished" },
  ]);
});
