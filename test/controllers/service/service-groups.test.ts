import { expect, test } from "bun:test";
import { milliseconds } from "../../../src/core/brand.ts";
import { refused } from "../../support/scripted-balancers.ts";
import { scriptedWorld } from "../../support/scripted-world.ts";
import type { ServiceWorld } from "../../support/service-world.ts";

// Load balancers that several Services share, that are adopted, or that have long-running operations, and plans that
// need a prefetch from the cloud.

const inGroup = (group: string) => ({ annotations: { "scripted.example/group": group } });
const hostnames = (w: ServiceWorld, name: string) =>
  (w.get(name).status.loadBalancer?.ingress ?? []).map(({ hostname }) => hostname);

test("Services of one group share a load balancer, which is deleted with the last of them [F38 N13]", async () => {
  const { w, script } = scriptedWorld();
  await w.start();
  for (const name of ["a", "b", "c"]) w.create(name, inGroup("x"));
  await w.pass(30);
  expect(script.things.size).toBe(1);
  expect(["a", "b", "c"].map((name) => hostnames(w, name)[0])).toEqual(
    Array(3).fill("thing-of-group-x.example"),
  );
  w.delete("a");
  w.editSpec("b", { type: "ClusterIP" });
  await w.pass(30);
  expect(script.things.get("thing-of-group-x")?.owners).toEqual([w.get("c").metadata.uid]);
  expect(w.get("b").metadata.finalizers ?? []).toEqual([]);
  w.delete("c");
  await w.pass(30);
  expect([...script.things]).toEqual([]);
  expect(w.services().map(({ metadata }) => metadata.name)).toEqual(["b"]);
});

test("a Service moves between groups that are never changed at the same time [F38]", async () => {
  const { w, script } = scriptedWorld((one) => {
    one.takes = milliseconds(700);
  });
  await w.start("--concurrent-service-syncs=10");
  for (const name of ["a", "b"]) w.create(name, inGroup("x"));
  w.create("c", inGroup("y"));
  await w.pass(30);
  const uid = w.get("a").metadata.uid;
  for (const group of ["y", "x", "z", "y"]) {
    w.annotate("a", { "scripted.example/group": group });
    await w.pass(0.5);
  }
  await w.pass(60);
  expect(script.overlaps).toEqual([]);
  const ownersOf = (group: string) => script.things.get(`thing-of-group-${group}`)?.owners ?? [];
  expect(ownersOf("y").toSorted()).toEqual([uid, w.get("c").metadata.uid].toSorted());
  expect(ownersOf("x")).toEqual([w.get("b").metadata.uid]);
  expect(ownersOf("z")).toEqual([]);
  expect(hostnames(w, "a")).toEqual(["thing-of-group-y.example"]);
  const { length } = script.applied;
  await w.pass(3600);
  expect(script.applied).toHaveLength(length);
});

test("an invalid new member waits until it is corrected, and its group continues [F38 F47 N13]", async () => {
  const { w, script } = scriptedWorld();
  await w.start();
  w.create("a", inGroup("x"));
  await w.pass(30);
  w.create("wrong", { annotations: { "scripted.example/group": "x", "scripted.example/size": "lagre" } });
  await w.pass(5);
  w.addNode("late");
  await w.pass(30);
  expect(script.things.get("thing-of-group-x")).toMatchObject({
    owners: [w.get("a").metadata.uid],
    targets: 4,
  });
  expect(w.events("wrong").join()).toContain('did you mean "large"');
  w.annotate("wrong", { "scripted.example/size": "large" });
  await w.pass(30);
  expect(script.things.get("thing-of-group-x")?.owners).toHaveLength(2);
});

test("an unmarked load balancer is adopted only by the Service that names it [F39]", async () => {
  const { w, script } = scriptedWorld();
  for (const id of ["mine", "other"]) script.things.set(id, { id, owners: [], targets: 0 });
  await w.start();
  w.create("a", { annotations: { "scripted.example/adopt": "mine" } });
  await w.pass(30);
  expect(script.applied).toEqual(["adopt mine"]);
  expect(script.things.get("other")).toEqual({ id: "other", owners: [], targets: 0 });
  expect(hostnames(w, "a")).toEqual(["mine.example"]);
});

test("a load balancer that two Services name is adopted by neither, and none is created in its place [F39]", async () => {
  const { w, script } = scriptedWorld();
  script.things.set("mine", { id: "mine", owners: [], targets: 0 });
  for (const name of ["a", "b"]) w.create(name, { annotations: { "scripted.example/adopt": "mine" } });
  await w.start();
  await w.pass(60);
  expect(script.applied).toEqual([]);
  expect(w.events("a").join()).toContain("AmbiguousAdoption");
  w.annotate("b", { "scripted.example/adopt": undefined });
  await w.pass(1800);
  expect(script.applied.toSorted()).toEqual(["adopt mine", `make ${w.get("b").metadata.uid}`]);
});

test("one prefetch serves all Services that are created together, and a later one gets a new prefetch", async () => {
  const { w, script } = scriptedWorld();
  await w.start();
  const names = Array.from({ length: 20 }, (_, index) => `s${index}`);
  for (const name of names) w.create(name);
  await w.pass(5);
  expect(script.prefetches).toHaveLength(1);
  w.create("late");
  await w.pass(5);
  expect(script.prefetches).toHaveLength(2);
  expect(hostnames(w, "late")).toHaveLength(1);
});

test("operations of many groups are checked together, and their results are observed [F51]", async () => {
  const { w, script } = scriptedWorld((one) => {
    one.operationLimit = 10;
  });
  await w.start();
  const names = Array.from({ length: 15 }, (_, index) => `s${index}`);
  for (const name of names) w.create(name);
  await w.pass(1.5);
  expect(script.operations).toHaveLength(15);
  expect(script.checks.map(({ length }) => length)).toEqual([10, 5]);
  for (const operation of script.operations) script.outcomes.set(operation, "done");
  await w.pass(5);
  expect(script.things.size).toBe(15);
  expect(script.applied).toHaveLength(15);
  expect(names.flatMap((name) => hostnames(w, name))).toHaveLength(15);
  const { length } = script.checks;
  await w.pass(600);
  expect(script.checks).toHaveLength(length);
});

test("a failed operation is reported on its Service and retried later, and a lost one is observed", async () => {
  const { w, script } = scriptedWorld((one) => {
    one.operationLimit = 10;
  });
  await w.start();
  w.create("a");
  await w.pass(0.5);
  script.outcomes.set("operation-1", "failed");
  script.outcomes.set("operation-2", "lost");
  await w.pass(5);
  const error = "Warning SyncLoadBalancerFailed Error syncing load balancer: no capacity in this zone";
  expect(w.events("a")).toContain(error);
  expect(script.applied).toHaveLength(1);
  await w.pass(120);
  expect(script.applied).toHaveLength(2);
  expect(hostnames(w, "a")).toHaveLength(1);
});

test("operations that keep failing are retried with growing backoff and reported on the Service [F51 F54]", async () => {
  const { w, script } = scriptedWorld((one) => {
    one.operationLimit = 10;
  });
  for (let operation = 1; operation <= 20; operation += 1)
    script.outcomes.set(`operation-${operation}`, "failed");
  await w.start();
  w.create("a");
  const triedAt: number[] = [];
  for (let second = 0; second < 1200 && triedAt.length < 6; second += 1) {
    await w.pass(1);
    while (triedAt.length < script.applied.length) triedAt.push(second);
  }
  const backoffs = triedAt.slice(1).map((at, index) => at - (triedAt[index] ?? 0));
  expect(backoffs.at(-1)).toBeGreaterThan(4 * (backoffs[0] ?? 0));
  expect(w.get("a").status.conditions?.map(({ type, status }) => `${type}=${status}`)).toEqual([
    "CloudReady=False",
  ]);
});

test("an exceeded quota is reported only on its Service, retried slowly, and forgotten when solved", async () => {
  const { w, script } = scriptedWorld();
  await w.start();
  w.create("before");
  await w.pass(5);
  script.refusal = refused("20 of 20 balancers are in use", "quota");
  w.create("full");
  await w.pass(5);
  expect(w.events("full").join()).toContain("20 of 20 balancers are in use");
  expect(w.events("before").join()).not.toContain("20 of 20");
  script.refusal = undefined;
  w.annotate("before", { "scripted.example/size": "large" });
  await w.pass(5);
  expect(hostnames(w, "full")).toEqual([]);
  await w.pass(120);
  expect(hostnames(w, "full")).toHaveLength(1);
});

test("a plan that never converges is applied with growing backoff", async () => {
  const { w, script } = scriptedWorld((one) => {
    one.neverSettles = true;
  });
  await w.start();
  w.create("a");
  await w.pass(3600);
  expect(script.applied.length).toBeLessThan(50);
});

test("an invalid new member does not keep a former member's load balancer in its group", async () => {
  const { w, script } = scriptedWorld();
  await w.start();
  w.create("a", inGroup("x"));
  await w.pass(30);
  w.create("wrong", { annotations: { "scripted.example/group": "x", "scripted.example/size": "lagre" } });
  w.annotate("a", { "scripted.example/group": "y" });
  await w.pass(60);
  expect([...script.things.keys()]).toEqual(["thing-of-group-y"]);
  w.annotate("wrong", { "scripted.example/size": "large" });
  await w.pass(30);
  expect([...script.things.keys()].toSorted()).toEqual(["thing-of-group-x", "thing-of-group-y"]);
});

test("a shared load balancer stays while one owner's group is unknown, although another owner moved away", async () => {
  const { w, script } = scriptedWorld();
  await w.start();
  for (const name of ["a", "b"]) w.create(name, inGroup("x"));
  await w.pass(30);
  await w.stop();
  w.annotate("b", { "scripted.example/group": "y" });
  script.unplaceable.add("a");
  await w.start();
  await w.pass(600);
  expect([...script.things.keys()].toSorted()).toEqual(["thing-of-group-x", "thing-of-group-y"]);
  script.unplaceable.clear();
  await w.pass(600);
  expect(script.things.get("thing-of-group-x")?.owners).toEqual([w.get("a").metadata.uid]);
  expect(w.unexpectedErrors).toEqual([]);
});

test("a Service that shares a load balancer with a paused one reports that it waits, and continues after the pause", async () => {
  const { w, script } = scriptedWorld();
  await w.start();
  w.create("a", { annotations: { ...inGroup("x").annotations, "fairlead.dev/paused": "true" } });
  w.create("b", inGroup("x"));
  await w.pass(30);
  expect([...script.things]).toEqual([]);
  expect(w.events("a")).toEqual([expect.stringContaining("Normal Paused ")]);
  expect(w.events("b")).toEqual([
    "Normal WaitingForCloud Waiting for default/a, which shares its load balancer and is paused",
  ]);
  w.annotate("a", { "fairlead.dev/paused": undefined });
  await w.pass(30);
  expect(hostnames(w, "b")).toEqual(["thing-of-group-x.example"]);
});
