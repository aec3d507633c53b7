import { expect, test } from "bun:test";
import { ListingIndex } from "../../../src/controllers/service/observed/listing-index.ts";
import { GroupAssignment } from "../../../src/controllers/service/queue/group-assignment.ts";
import { GroupStates } from "../../../src/controllers/service/state/group-states.ts";
import { ServiceStates } from "../../../src/controllers/service/state/service-states.ts";
import { milliseconds, serviceUID } from "../../../src/core/brand.ts";
import type { Service } from "../../../src/kube/objects.ts";
import { WorkQueue } from "../../../src/runtime/work-queue.ts";
import { VirtualClock } from "../../../src/testing/virtual-time/virtual-clock.ts";
import { scriptedWorld } from "../../support/scripted-world.ts";
import { problemsOf } from "../../support/service-problems.ts";

// Services that move between load balancers, are recreated, or have an unknown group: their load balancers are found
// and none is lost.

const group = "scripted.example/group";
const size = "scripted.example/size";
const [first, second] = [serviceUID("first"), serviceUID("second")];
const key = "default/web";
const load = (uid: string): Service => ({
  metadata: { name: "web", namespace: "default", uid, resourceVersion: "1" },
  spec: { type: "LoadBalancer" },
  status: {},
});

test("a Service with a wrong annotation keeps the load balancer it moved to after a crash, and loses the one it left", async () => {
  const { w, script } = scriptedWorld();
  const { uid } = w.create("web", { annotations: { [group]: "y", [size]: "lagre" } }).metadata;
  for (const id of ["x", "y"]) {
    script.things.set(`thing-of-group-${id}`, {
      id: `thing-of-group-${id}`,
      group: `group-${id}`,
      owners: [uid],
      targets: 3,
    });
  }
  await w.start();
  await w.pass(60);
  expect([...script.things.keys()]).toEqual(["thing-of-group-y"]);
});

test("a Service that moved and is deleted stays until the operation in its old group is undone", async () => {
  const { w, script } = scriptedWorld((one) => {
    one.operationLimit = 10;
  });
  for (let operation = 2; operation < 10; operation += 1)
    script.outcomes.set(`operation-${operation}`, "done");
  await w.start();
  w.create("web", { annotations: { [group]: "x" } });
  await w.pass(5);
  w.annotate("web", { [group]: "y" });
  await w.pass(5);
  w.delete("web");
  await w.pass(120);
  // The new load balancer is not visible yet, and after a crash its owner would be unknown.
  expect([script.applied, script.things.size]).toEqual([
    ["make group-x", "make group-y", "remove group-y"],
    0,
  ]);
  expect([script.operations, w.find("web") !== undefined]).toEqual([["operation-1"], true]);
  script.outcomes.set("operation-1", "done");
  await w.pass(120);
  expect([script.applied.at(-1), script.things.size, w.find("web")]).toEqual([
    "remove group-x",
    0,
    undefined,
  ]);
});

const assignmentOf = (service: Service) => {
  const serviceStates = new ServiceStates();
  const groups = new GroupStates(serviceStates);
  const desiredServices = {
    of: () => {
      throw new TypeError("no group");
    },
  };
  const clock = new VirtualClock();
  const services = { get: () => service, list: () => [service] };
  const assignment = new GroupAssignment({
    controller: { services, annotations: {}, clock } as never,
    groupStates: groups,
    serviceStates,
    desiredServices,
    evidenceUpdates: { noteTraces: () => undefined },
    reporter: { report: () => undefined },
    queue: new WorkQueue(clock),
  });
  return { assignment, groups };
};

test("a Service with an unknown group keeps the load balancer that it owns", () => {
  const { assignment, groups } = assignmentOf(load(first));
  groups.assign(key, first, "y");
  const latest = { items: [{ group: "x", ownership: "ours", owners: [first] }] };
  assignment.enqueueLeftovers(new ListingIndex({ latest } as never));
  expect([groups.groupOf(first), groups.pendingReleasesOf("x")]).toEqual(["x", []]);
});

test("a recreated Service with an unknown group does not inherit the load balancer of the first", () => {
  const { assignment, groups } = assignmentOf(load(second));
  groups.assign(key, first, "x");
  expect(assignment.assign(key)).toEqual(["x"]);
  expect([groups.membersOf("x"), groups.pendingReleasesOf("x")]).toEqual([[], [first]]);
});

test("a Service that returns to its group before its release is not pending there", () => {
  const groups = new GroupStates(new ServiceStates());
  for (const name of ["x", "y", "x"]) groups.assign(key, first, name);
  expect([groups.pendingReleasesOf("x"), groups.pendingReleasesOf("y")]).toEqual([[], [first]]);
});

test("a Service without type LoadBalancer whose group is unknown gets an event until its load balancer is deleted", async () => {
  const { w, script } = scriptedWorld((one) => {
    one.unplaceable.add("web");
  });
  const { uid } = w.create("web", { annotations: { [group]: "x" }, spec: { type: "ClusterIP" } }).metadata;
  script.things.set("thing", { id: "thing", group: "group-x", owners: [uid], targets: 3 });
  await w.start();
  await w.pass(60);
  expect(w.events("web").join()).toContain("DeleteLoadBalancerFailed");
  expect(script.things.size).toBe(1);
  script.unplaceable.clear();
  await w.pass(600);
  expect(script.things.size).toBe(0);
});

test("a Service that no longer asks for a load balancer leaves its group when it is deleted with a condition", async () => {
  const { w, script } = scriptedWorld();
  script.conflict = "the port is in use";
  await w.start();
  const { uid } = w.create("web").metadata;
  await w.pass(30);
  w.editSpec("web", { type: "NodePort" });
  await w.pass(30);
  expect(w.manager.controllerReports().service?.membersOf(uid)).toEqual(["default/web"]);
  w.delete("web");
  await w.pass(0);
  // Without a finalizer and another type, its deletion is no relevant change.
  expect(w.manager.controllerReports().service?.membersOf(uid)).toEqual([]);
});

test("a deleted Service whose group is unknown has no reported problems any more", async () => {
  const { w } = scriptedWorld((one) => {
    one.unplaceable.add("web");
  });
  await w.start();
  w.create("web");
  await w.pass(30);
  expect(problemsOf(w.manager, "default/web")).toHaveLength(1);
  w.delete("web");
  await w.pass(0);
  expect(problemsOf(w.manager)).toEqual([]);
});

test("a plan that waits for the cloud is made again from a newer listing", async () => {
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

test("finds the load balancer of a Service in another group only if the listing has its mark there", () => {
  const isElsewhere = (name: string, ownership: string, uid: typeof first): boolean => {
    const latest = { items: [{ group: name, ownership, owners: [first] }] };
    return new ListingIndex({ latest } as never).isElsewhere(uid, "y");
  };
  expect(isElsewhere("x", "ours", first)).toBe(true);
  expect(isElsewhere("x", "ours", second)).toBe(false);
  expect(isElsewhere("y", "ours", first)).toBe(false);
  expect(isElsewhere("x", "unmarked", first)).toBe(false);
});
