import { expect, test } from "bun:test";
import type { ServiceUID } from "../../../src/core/brand.ts";
import { resourceNamed } from "../../../src/testing/apiserver/objects/resource-table.ts";
import { refused } from "../../support/scripted-balancers.ts";
import { scriptedWorld } from "../../support/scripted-world.ts";
import { TrackedCollections } from "../../support/tracked-collections.ts";

// The end of a reconcile: records that stay while something is left in the cloud, records that are dropped, and
// clouds that end in unexpected states.

const group = "scripted.example/group";
const size = "scripted.example/size";
const onDelete = "fairlead.dev/on-delete";

/** A cloud with deletion protection: plans have no steps while it is on. */
const protectedWorld = () => {
  const guard = { isOn: true };
  const world = scriptedWorld(undefined, ({ plan }) => ({
    plan: (members, observed, given) =>
      guard.isOn && members.every(({ ending }) => ending !== undefined)
        ? { steps: [] }
        : plan(members, observed, given),
  }));
  return { ...world, guard };
};

test("a deleted Service stays while the cloud shows its load balancer, even when the plan has no steps", async () => {
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

test("a Service that joins a group late gets its own events from the beginning", async () => {
  const { w, script } = scriptedWorld();
  await w.start();
  w.create("a", { annotations: { [group]: "x" } });
  await w.pass(30);
  w.create("late", { annotations: { [group]: "x", [size]: "lagre" } });
  w.annotate("a", { [group]: "y" });
  await w.pass(60);
  expect([...script.things.keys()]).toEqual(["thing-of-group-y"]);
  w.annotate("late", { [size]: "large" });
  await w.pass(30);
  const reported = w.events("late").join();
  expect(reported).toContain("Normal EnsuringLoadBalancer");
  expect(reported).toContain("Normal EnsuredLoadBalancer");
});

test("the shorter of two drain times applies to a load balancer that two Services share", async () => {
  const { w, script } = scriptedWorld(undefined, () => ({ drains: true }));
  await w.start();
  w.create("a", { annotations: { [group]: "x", "fairlead.dev/target-drain": "1m" } });
  w.create("b", { annotations: { [group]: "x" } });
  await w.pass(30);
  w.changeNode("node-1", ({ metadata, ...node }) => ({
    ...node,
    metadata: {
      ...metadata,
      labels: { ...metadata.labels, "node.kubernetes.io/exclude-from-external-load-balancers": "true" },
    },
  }));
  const targets = () => script.things.get("thing-of-group-x")?.targets;
  await w.pass(30);
  expect(targets()).toBe(3);
  await w.pass(60);
  expect(targets()).toBe(2);
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

test("a released load balancer is not passed to the plan as an orphan, and its owner only once it is gone", async () => {
  const asked: (readonly [readonly (string | undefined)[], readonly ServiceUID[]])[] = [];
  const { w, script } = scriptedWorld(
    (one) => {
      one.releases = true;
    },
    ({ plan }) => ({
      plan: (members, observed, given) => {
        asked.push([members.map(({ ending }) => ending), given.orphans]);
        return plan(members, observed, given);
      },
    }),
  );
  await w.start();
  const { uid } = w.create("web", { annotations: { [onDelete]: "release" } }).metadata;
  await w.pass(30);
  w.edit("web", ({ metadata, ...rest }) => ({ ...rest, metadata: { ...metadata, finalizers: [] } }));
  asked.length = 0;
  // The release begins before the deletion is seen.
  await w.pass(0);
  w.delete("web");
  await w.pass(60);
  expect([...script.things.values()]).toMatchObject([{ owners: [] }]);
  const released = asked.filter(([endings]) => endings.includes("release"));
  expect(released).toEqual(released.map(() => [["release"], []]));
  expect(released).not.toEqual([]);
  expect(asked.at(-1)).toEqual([[], [uid as ServiceUID]]);
});

test("a released load balancer is forgotten, whether its Service remains or is deleted", async () => {
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

test("a load balancer left as an orphan is forgotten", async () => {
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

test("a failed check of an operation is forgotten when its load balancer is gone", async () => {
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

test("a group whose last Service leaves still reports a Service that vanished before", async () => {
  const { w } = scriptedWorld();
  await w.start();
  for (const name of ["a", "b"]) w.create(name, { annotations: { [group]: "x" } });
  await w.pass(60);
  const vanished = w.server.store.get("services", "default", "b");
  if (vanished === undefined) throw new Error("There is no Service b.");
  w.server.store.remove(resourceNamed("services"), vanished);
  // It leaves the group at once. A deleted one stays until its finalizer is removed, and the hold would be known by then.
  w.editSpec("a", { type: "ClusterIP" });
  await w.pass(5);
  expect(w.manager.report().balancersOnHold).toMatchObject([{ reason: "ServiceVanished" }]);
});
