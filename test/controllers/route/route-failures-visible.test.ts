import { afterEach, expect, test } from "bun:test";
import { seconds } from "../../../src/core/brand.ts";
import type { Pending, StepOutcome } from "../../../src/provider/plan.ts";
import { type RouteSetup, RouteWorld } from "./route-world.ts";
import { refusal } from "./scripted-routes.ts";

// While the cloud rejects requests about routes, the controller's report states that for the table,
// and for each Node without a route.

let world: RouteWorld | undefined;
afterEach(() => world?.stop());
const setUp = (setup?: RouteSetup): RouteWorld => {
  world = new RouteWorld(setup);
  return world;
};

const found = (w: RouteWorld): readonly string[] => {
  const { problems, tables } = w.controller.report();
  return [...problems, ...tables].flatMap(([name, list]) =>
    list.map(
      ({ severity, reason, cause }) =>
        `${name}: ${severity} ${reason}${cause === undefined ? "" : ` (${cause})`}`,
    ),
  );
};

test("a failing listing is a problem of the table and of the Nodes without a route", async () => {
  const w = setUp().add("old", "10.244.1.0/24");
  await w.settle();
  expect(found(w)).toEqual([]);
  w.cloud.failures.set("list", refusal("unavailable"));
  w.add("new", "10.244.2.0/24");
  w.inventory.requestListing(w.clock.monotonic(), "refresh");
  await w.pass(120);
  expect(found(w)).toEqual([
    "new: error RoutesUnknown (CloudUnavailable)",
    "routes: error RoutesUnknown (CloudUnavailable)",
  ]);
  const [finding] = w.controller.report().problems.get("new") ?? [];
  expect(finding?.text).toStartWith(
    "Could not list the cloud's routes. No route is created or removed until a listing succeeds:",
  );
  w.cloud.failures.delete("list");
  await w.pass(600);
  expect([w.network("new"), found(w)]).toEqual(["False RouteCreated", []]);
});

test("a route that cannot be created is a problem of its Node until it exists, and each attempt is counted", async () => {
  const w = setUp().add("n1", "10.244.1.0/24");
  w.cloud.failures.set("10.244.1.0/24", refusal("unauthorized"));
  await w.settle();
  await w.pass(600);
  expect(found(w)).toEqual(["n1: error FailedToCreateRoute (CloudAuthFailed)"]);
  const attempts = w.cloud.lines.filter((line) => line.startsWith("create")).length;
  expect(w.syncs.reduce((sum, { failed }) => sum + failed, 0)).toBe(attempts);
  w.cloud.failures.set("list", refusal("unavailable"));
  await w.pass(3600);
  expect(found(w)[0]).toBe("n1: error FailedToCreateRoute (CloudAuthFailed)");
  w.cloud.failures.clear();
  await w.pass(3600);
  expect([w.network("n1"), found(w)]).toEqual(["False RouteCreated", []]);
});

test("a Node reports that it waits for a route that the cloud is still creating, and for the routes after it", async () => {
  const outcomes: StepOutcome[] = [
    { done: false, operation: "t1", checkAfter: seconds(10), waitingFor: "the network" },
  ];
  const ended = new Set<string>();
  const pending: Pending = {
    limit: 10,
    check: async (operations) =>
      new Map(
        operations.map((operation): [string, StepOutcome] => [
          operation,
          ended.has(operation)
            ? { done: true }
            : { done: false, operation, checkAfter: seconds(10), waitingFor: "the network" },
        ]),
      ),
  };
  const w = setUp({ pending, script: { oneAtATime: true } });
  w.add("n1", "10.244.1.0/24").add("n2", "10.244.2.0/24");
  w.cloud.outcomes.push(...outcomes);
  await w.settle();
  expect(found(w)).toEqual(["n1: wait RouteInProgress", "n2: wait RouteInProgress"]);
  const texts = [...w.controller.report().problems.values()].flat().map(({ text }) => text);
  expect(texts).toEqual([
    "The cloud has accepted the route for pod CIDR 10.244.1.0/24, and may still work on it. Fairlead asks until it is done.",
    "The route for pod CIDR 10.244.2.0/24 is created after the change that the cloud works on now.",
  ]);
  w.cloud.put("10.244.1.0/24", { targetKey: "n1" });
  ended.add("t1");
  await w.pass(60);
  expect([w.network("n1"), w.network("n2"), found(w)]).toEqual([
    "False RouteCreated",
    "False RouteCreated",
    [],
  ]);
});

test("a Node without its route in listings waits until the absence of the route is proved", async () => {
  const w = setUp().add("n1", "10.244.1.0/24");
  await w.settle();
  await w.pass(60);
  w.cloud.hides = () => true;
  w.add("n2", "10.244.2.0/24");
  w.inventory.requestListing(w.clock.monotonic(), "refresh");
  await w.pass(10);
  expect(found(w)).toContain("n1: wait RouteMissing");
  const [finding] = w.controller.report().problems.get("n1") ?? [];
  expect(finding?.text).toBe(
    "No listing shows the route for pod CIDR 10.244.1.0/24, which existed, or which an earlier request may have created, perhaps one of a former leader. It is created if a listing lacks it 30s later too.",
  );
  w.cloud.hides = () => false;
  await w.pass(600);
  expect([found(w), w.cloud.changes.length]).toEqual([[], 2]);
});

test("a failure is forgotten with its Node", async () => {
  const w = setUp().add("n1", "10.244.1.0/24");
  w.cloud.failures.set("10.244.1.0/24", refusal("unauthorized"));
  await w.settle();
  await w.pass(60);
  w.nodes.remove("n1");
  await w.pass(60);
  expect(found(w)).toEqual([]);
});

test("a route that cannot be removed is reported as a problem of its table", async () => {
  const w = setUp().add("n1", "10.244.1.0/24");
  await w.settle();
  w.cloud.failures.set("*", refusal("unauthorized"));
  w.nodes.remove("n1");
  await w.pass(120);
  expect(found(w)).toEqual(["routes: warning FailedToRemoveRoute"]);
  w.cloud.failures.clear();
  await w.pass(3600);
  expect(found(w)).toEqual([]);
});

test("a Node that has its route does not wait for its instance when the cloud shows no instance", async () => {
  const w = setUp().add("n1", "10.244.1.0/24");
  await w.settle();
  w.machines.machines.delete("n1");
  w.add("n2", "10.244.2.0/24", { hasMachine: false });
  w.inventory.requestListing(w.clock.monotonic(), "refresh");
  await w.pass(900);
  expect([w.reasons("n1"), w.reasons("n2")]).toEqual([[], ["RouteWaitsForMachine"]]);
});

test("in observe mode, no Node waits for a change in the cloud", async () => {
  const w = setUp({ mode: "observe" }).add("n1", "10.244.1.0/24");
  await w.settle();
  w.add("n2", "10.244.2.0/24");
  await w.pass(60);
  expect(found(w)).toEqual([]);
});
