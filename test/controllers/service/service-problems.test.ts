import { expect, test } from "bun:test";
import { refused } from "../../support/scripted-balancers.ts";
import { scriptedWorld } from "../../support/scripted-world.ts";
import { ServiceWorld } from "../../support/service-world.ts";

// Conditions on Services in a whole manager: they exist only during a problem, and cost no write otherwise.

const algorithm = "balancer.fake.example/algorithm";

const conditionsOf = (w: ServiceWorld, name: string) =>
  (w.get(name).status.conditions ?? []).map(({ type, status, reason }) => `${type}=${status} ${reason}`);

test("a rejection that a retry does not fix immediately becomes a condition, which is removed with the write of the address [F54 N8]", async () => {
  const { w, script } = scriptedWorld();
  script.refusal = refused("12 of 12 balancers are in use", "quota");
  await w.start();
  w.create("web");
  await w.pass(1);
  expect(conditionsOf(w, "web")).toEqual(["CloudReady=False QuotaExceeded"]);
  await w.pass(3600);
  expect(conditionsOf(w, "web")).toEqual(["CloudReady=False QuotaExceeded"]);
  expect(w.get("web").status.conditions?.[0]?.message).toContain("12 of 12 balancers are in use");
  // The finalizer and the condition, but no write per attempt.
  expect(w.written).toHaveLength(2);
  w.crash();
  w.forget();
  await w.start();
  await w.pass(60);
  expect([conditionsOf(w, "web"), w.written]).toEqual([["CloudReady=False QuotaExceeded"], []]);
  script.refusal = undefined;
  await w.pass(1800);
  expect(conditionsOf(w, "web")).toEqual([]);
  expect(w.addressesOf("web")).toHaveLength(1);
  expect(w.written).toHaveLength(1);
});

test("a single failure causes an event without a condition [N8]", async () => {
  const w = new ServiceWorld();
  await w.start();
  w.cloud.faults.add({ operation: "POST /balancers", kind: "status", status: 503, calls: 1 });
  w.create("web");
  await w.pass(60);
  expect(w.events("web").join()).toContain("SyncLoadBalancerFailed");
  expect(w.addressesOf("web")).toHaveLength(1);
  expect(w.written).toHaveLength(2);
});

test("failing listings set no condition on Services that have the load balancer they request [N8]", async () => {
  const w = new ServiceWorld();
  await w.start();
  w.create("old");
  await w.pass(30);
  w.cloud.faults.add({ operation: "GET /balancers", kind: "status", status: 503, calls: 1000 });
  w.annotate("old", { "balancer.fake.example/algorithm": "least-connections" });
  w.create("new");
  await w.pass(600);
  expect(conditionsOf(w, "new")).toEqual(["CloudReady=False CloudUnavailable"]);
  expect(conditionsOf(w, "old")).toEqual([]);
  w.cloud.faults.clear();
  await w.pass(600);
  expect(conditionsOf(w, "new")).toEqual([]);
});

test("a problem of the plan causes an event with the provider's reason, and a condition until solved [F54 F89 N8]", async () => {
  const { w, script } = scriptedWorld();
  script.conflict = "port 80 is taken";
  await w.start();
  w.create("web");
  await w.pass(30);
  expect(conditionsOf(w, "web")).toEqual(["CloudReady=False PortConflict"]);
  expect(w.events("web")).toContain("Warning PortConflict port 80 is taken");
  const { length } = w.written;
  await w.pass(3600);
  expect(w.written).toHaveLength(length);
  script.conflict = undefined;
  w.annotate("web", { "scripted.example/size": "large" });
  await w.pass(30);
  expect(conditionsOf(w, "web")).toEqual([]);
});

test("a warning is included in a necessary write but causes no write, even after a restart [F54 N8]", async () => {
  const w = new ServiceWorld();
  const unknown = { annotations: { "balancer.fake.example/algorithmn": "x" } };
  await w.start();
  w.create("web", unknown);
  await w.pass(30);
  expect(conditionsOf(w, "web")).toEqual(["CloudWarning=True UnknownAnnotation"]);
  expect(w.written).toHaveLength(2);
  w.create("plain");
  await w.pass(30);
  w.forget();
  w.annotate("plain", unknown.annotations);
  await w.pass(30);
  expect([conditionsOf(w, "plain"), w.written]).toEqual([[], []]);
  w.crash();
  await w.start();
  await w.pass(60);
  expect(w.written).toEqual([]);
  w.annotate("web", { "balancer.fake.example/algorithmn": undefined });
  await w.pass(30);
  expect(conditionsOf(w, "web")).toEqual([]);
});

test("a Service that becomes a ClusterIP loses its conditions [F54]", async () => {
  const w = new ServiceWorld();
  await w.start();
  w.create("web", { annotations: { "balancer.fake.example/algorithmn": "x" } });
  await w.pass(30);
  w.editSpec("web", { type: "ClusterIP" });
  await w.pass(30);
  expect([conditionsOf(w, "web"), w.get("web").metadata.finalizers ?? []]).toEqual([[], []]);
});

test("a rejected Service that becomes a ClusterIP loses its condition, even while no manager runs", async () => {
  for (const isWatched of [true, false]) {
    const w = new ServiceWorld();
    await w.start();
    w.create("web", { annotations: { [algorithm]: "round-robbin" } });
    await w.pass(5);
    expect(w.get("web").status.conditions).toMatchObject([{ type: "CloudReady", status: "False" }]);
    if (!isWatched) await w.stop();
    w.editSpec("web", { type: "ClusterIP" });
    if (!isWatched) await w.start();
    await w.pass(5);
    expect(w.get("web").status.conditions ?? []).toEqual([]);
    expect(w.get("web").metadata.finalizers ?? []).toEqual([]);
    w.forget();
    await w.pass(3600);
    expect(w.written).toEqual([]);
    await w.stop();
  }
});
