import { expect, test } from "bun:test";
import { servesWithoutClass } from "../../../src/controllers/service/served-classes.ts";
import { ServiceRecords } from "../../../src/controllers/service/state/service-records.ts";
import { ServiceTracking } from "../../../src/controllers/service/triggers/service-tracking.ts";
import { milliseconds, serviceUID } from "../../../src/core/brand.ts";
import type { Service } from "../../../src/kube/objects.ts";
import { WorkQueue } from "../../../src/runtime/work-queue.ts";
import { resourceNamed } from "../../../src/testing/apiserver/objects/resource-table.ts";
import { VirtualClock } from "../../../src/testing/virtual-time/virtual-clock.ts";
import { scriptedWorld } from "../../support/scripted-world.ts";
import { problemsOf } from "../../support/service-problems.ts";

// Services that are deleted, recreated, or no longer need a load balancer: their load balancers are found and none is lost.

const [first, second] = [serviceUID("first"), serviceUID("second")];
const load = (uid: string): Service => ({
  metadata: { name: "web", namespace: "default", uid, resourceVersion: "1" },
  spec: { type: "LoadBalancer" },
  status: {},
});

test("a Service that is deleted during the operation that creates its load balancer stays until the load balancer is deleted", async () => {
  const { w, script } = scriptedWorld((one) => {
    one.operationLimit = 10;
  });
  script.outcomes.set("operation-2", "done");
  await w.start();
  const { uid } = w.create("web").metadata;
  await w.pass(5);
  w.delete("web");
  await w.pass(120);
  // The load balancer is not visible yet, and after a crash its owner would be unknown.
  expect([script.applied, script.operations, w.find("web") !== undefined]).toEqual([
    [`make ${uid}`],
    ["operation-1"],
    true,
  ]);
  script.outcomes.set("operation-1", "done");
  await w.pass(120);
  expect([script.applied.at(-1), script.things.size, w.find("web")]).toEqual([`remove ${uid}`, 0, undefined]);
});

test("a recreated Service does not inherit the load balancer of its predecessor", () => {
  const records = new ServiceRecords();
  let service = load(first);
  const clock = new VirtualClock();
  const tracking = new ServiceTracking({
    controller: {
      services: { get: () => service, list: () => [service] },
      classes: servesWithoutClass,
      annotations: {},
    } as never,
    records,
    evidenceUpdates: { noteTraces: () => undefined },
    queue: new WorkQueue(clock),
  });
  expect(tracking.track("default/web")).toEqual([first]);
  service = load(second);
  expect(tracking.track("default/web")).toEqual([first, second]);
  expect([first, second].map((uid) => records.get(uid)?.phase)).toEqual(["leaving", "managed"]);
  expect(records.managed("default/web")?.uid).toBe(second);
});

test("a recreated Service gets a new load balancer, and its predecessor's load balancer is deleted", async () => {
  const { w, script } = scriptedWorld();
  await w.start();
  const before = w.create("web").metadata.uid;
  await w.pass(30);
  w.edit("web", ({ metadata, ...rest }) => ({ ...rest, metadata: { ...metadata, finalizers: [] } }));
  w.delete("web");
  const after = w.create("web").metadata.uid;
  await w.pass(60);
  expect([...script.things.values()].map(({ owners }) => owners)).toEqual([[after]]);
  expect(script.applied.toSorted()).toEqual(
    [`make ${after}`, `make ${before}`, `remove ${before}`].toSorted(),
  );
});

test("a Service without type LoadBalancer loses an existing load balancer when a manager starts", async () => {
  const { w, script } = scriptedWorld();
  const { uid } = w.create("web", { spec: { type: "ClusterIP" } }).metadata;
  script.things.set("thing", { id: "thing", owners: [uid], targets: 3 });
  await w.start();
  await w.pass(60);
  expect([script.applied, script.things.size]).toEqual([[`remove ${uid}`], 0]);
  expect(w.events("web").join()).toContain("DeletingLoadBalancer");
});

test("a Service that no longer requests a load balancer is not managed when it is deleted with a condition", async () => {
  const { w, script } = scriptedWorld();
  script.conflict = "the port is in use";
  await w.start();
  const service = w.create("web");
  await w.pass(30);
  w.editSpec("web", { type: "NodePort" });
  await w.pass(30);
  const knowledge = () => w.manager.controllerReports().service?.knowledgeOf(service);
  expect(knowledge()?.uid).toBe(serviceUID(service.metadata.uid));
  w.delete("web");
  await w.pass(0);
  // Without a finalizer and with a different type, the deletion is not a relevant change.
  expect(knowledge()).toBeUndefined();
});

test("a deleted Service has no reported problems", async () => {
  const conflict = { severity: "error", reason: "PortConflict", text: "the port is in use" } as const;
  const { w } = scriptedWorld(undefined, ({ plan }) => ({
    plan: (desired, ...input) =>
      desired === undefined ? plan(desired, ...input) : { steps: [], problems: [conflict] },
  }));
  await w.start();
  w.create("web");
  await w.pass(30);
  expect(problemsOf(w.manager, "default/web")).toHaveLength(1);
  w.delete("web");
  await w.pass(0);
  expect(problemsOf(w.manager)).toEqual([]);
});

/** The Service has a problem, and the API server loses it. */
async function vanishedWorld() {
  const { w } = scriptedWorld();
  await w.start();
  w.create("web");
  await w.pass(60);
  w.annotate("web", { "scripted.example/size": "lagre" });
  await w.pass(5);
  expect(problemsOf(w.manager, "default/web")).toHaveLength(1);
  const vanished = w.server.store.get("services", "default", "web");
  if (vanished === undefined) throw new Error("There is no Service web.");
  w.server.store.remove(resourceNamed("services"), vanished);
  return w;
}

test("a vanished Service has no reported problems while its load balancer is kept", async () => {
  const w = await vanishedWorld();
  await w.pass(5);
  expect(w.manager.report().balancersOnHold).toMatchObject([{ reason: "ServiceVanished" }]);
  expect(problemsOf(w.manager)).toEqual([]);
});

test("a new Service does not have the problems of a vanished Service with its name", async () => {
  const w = await vanishedWorld();
  w.create("web");
  await w.pass(5);
  expect(problemsOf(w.manager, "default/web")).toEqual([]);
});

test("while a plan waits for the cloud, a newer listing causes a new plan", async () => {
  let isReady = false;
  const { w, script } = scriptedWorld(undefined, (balancers) => ({
    plan: (...input) => {
      const plan = balancers.plan(...input);
      const wait = { checkAfter: milliseconds(1000), waitingFor: "the cloud" };
      return plan.steps.length > 0 || isReady ? plan : { steps: [], wait };
    },
  }));
  await w.start();
  w.create("web");
  await w.pass(30);
  const { plans } = script;
  const listings = w.manager.balancers?.latest?.beganAt ?? 0;
  await w.pass(10);
  expect(script.plans).toBeGreaterThan(plans);
  expect(w.manager.balancers?.latest?.beganAt).toBeGreaterThan(listings);
  isReady = true;
  await w.pass(10);
  expect(w.events("web").join()).toContain("EnsuredLoadBalancer");
});
