import { afterEach, expect, test } from "bun:test";
import { exactly } from "../../../src/controllers/route/deps.ts";
import { seconds } from "../../../src/core/brand.ts";
import { isProblem } from "../../../src/core/problem.ts";
import type { Condition } from "../../../src/kube/objects.ts";
import { CloudError } from "../../../src/provider/errors.ts";
import type { NamedRoutes } from "../../../src/provider/routes.ts";
import { machine } from "../../support/scripted-source.ts";
import { type RouteSetup, RouteWorld } from "./route-world.ts";
import { refusal, ScriptedRoutes } from "./scripted-routes.ts";

// Listings that never show the routes that Fairlead creates, for example because of an incorrect filter or a project that the
// credential cannot list.

let world: RouteWorld | undefined;
afterEach(() => world?.stop());

const created: Condition = { type: "NetworkUnavailable", status: "False", reason: "RouteCreated" };
const rangeOf = (name: string) => `10.244.${name.slice(1)}.0/24`;
const every = (time: number) => ({ fullCheck: exactly(seconds(time)) });
const reason = "RouteCreatedButNotListed";

const setUp = (setup: RouteSetup = {}): RouteWorld => {
  world = new RouteWorld({ settings: every(60), ...setup });
  world.cloud.hides = () => true;
  return world;
};

/** Nodes that had routes. `isThere`: whether the cloud still has them. */
const hidden = async (isThere: boolean, setup: RouteSetup = {}): Promise<RouteWorld> => {
  const w = setUp(setup);
  for (const name of ["n1", "n2"]) {
    w.add(name, rangeOf(name), { conditions: [created] });
    if (isThere) w.cloud.put(rangeOf(name), { targetKey: name });
  }
  await w.settle();
  return w;
};

/** Lets time pass in a cloud that accepts every creation and keeps none. */
const passForgetting = async (w: RouteWorld, minutes: number): Promise<void> => {
  for (let minute = 0; minute < minutes; minute += 1) {
    await w.pass(60);
    w.cloud.table = [];
  }
};

const problemsOf = (w: RouteWorld, node: string): readonly string[] =>
  (w.controller.report().problems.get(node) ?? []).flatMap((problem) =>
    isProblem(problem) ? problem.reason : [],
  );

test("creates a route that no listing shows at most twice, and reports RouteCreatedButNotListed on its Node", async () => {
  const w = await hidden(false);
  await w.pass(3600);
  expect(w.cloud.changes).toHaveLength(4);
  expect(w.reasons("n1").filter((each) => each !== "FailedToCreateRoute")).toEqual([reason]);
  expect(w.reported.find((each) => each.reason === reason)?.message).toStartWith(
    "Fairlead sent 2 requests to create the route for pod CIDR 10.244.1.0/24, and no listing shows it, so it is not created again until a listing does. ",
  );
  expect(w.network("n1")).toBe("False RouteCreated");
  expect([problemsOf(w, "n1"), problemsOf(w, "n2")]).toEqual([[reason], [reason]]);
  expect(w.removals.held("routes")).toEqual(["10.244.1.0/24", "10.244.2.0/24"]);
  expect(w.held).toEqual([]);
});

test("stops creating a route that the cloud reports as existing", async () => {
  const w = await hidden(true);
  await w.pass(3600);
  expect(w.cloud.changes).toHaveLength(4);
  expect(problemsOf(w, "n1")).toEqual([reason]);
});

test("creates a route of a document at most twice if no listing shows it", async () => {
  const w = await hidden(false, { settings: every(60), script: { style: "document" } });
  await passForgetting(w, 60);
  expect(w.cloud.changes).toEqual(["change +2 -0", "change +2 -0"]);
  expect(problemsOf(w, "n2")).toEqual([reason]);
});

test("creates the route of a new Node at most twice if no listing shows it", async () => {
  const w = setUp();
  w.add("n1", rangeOf("n1"));
  await w.settle();
  await passForgetting(w, 60);
  expect(w.cloud.changes).toHaveLength(2);
  expect(problemsOf(w, "n1")).toEqual([reason]);
});

test("a listing that shows the routes ends the hold and the problem", async () => {
  const w = await hidden(false);
  await w.pass(600);
  w.cloud.hides = () => false;
  await w.pass(120);
  expect([w.cloud.changes.length, w.removals.held("routes"), problemsOf(w, "n1")]).toEqual([4, [], []]);
  w.cloud.table = w.cloud.table.filter(({ destination }) => destination !== rangeOf("n1"));
  await w.pass(180);
  expect(w.cloud.changes).toHaveLength(5);
});

test("a release creates each route once more", async () => {
  const w = await hidden(false);
  await w.pass(600);
  expect(w.removals.release("routes")).toHaveLength(2);
  await passForgetting(w, 30);
  expect(w.cloud.changes).toHaveLength(6);
  expect(w.removals.held("routes")).toHaveLength(2);
});

test("a release creates a route once more although the response is lost", async () => {
  const w = await hidden(false);
  await w.pass(600);
  w.cloud.failures.set("*", refusal("unavailable"));
  w.removals.release("routes");
  await passForgetting(w, 30);
  expect(w.cloud.changes).toHaveLength(6);
});

test("creates the route once more when the Node gets another instance", async () => {
  const w = await hidden(false);
  await w.pass(600);
  w.cloud.table = [];
  w.nodes.change("n1", (node) => ({
    ...node,
    status: { ...node.status, addresses: [{ type: "InternalIP", address: "10.0.0.9" }] },
  }));
  await passForgetting(w, 30);
  expect(w.cloud.changes.slice(4)).toEqual(["create 10.244.1.0/24"]);
});

test("a Node that registers again gets its route", async () => {
  const w = await hidden(false);
  await w.pass(600);
  w.cloud.table = [];
  w.nodes.remove("n1");
  await w.pass(10);
  w.add("n1", rangeOf("n1"));
  w.inventory.requestListing(w.clock.monotonic(), "refresh");
  await w.pass(20);
  expect(w.cloud.changes.slice(4)).toEqual(["create 10.244.1.0/24"]);
  expect(problemsOf(w, "n2")).toEqual([reason]);
});

test("a temporarily unknown instance does not end the hold", async () => {
  const w = await hidden(false);
  await w.pass(600);
  w.cloud.table = [];
  w.machines.machines.delete("n1");
  w.inventory.requestListing(w.clock.monotonic(), "refresh");
  await w.pass(120);
  w.machines.put(machine("n1"));
  w.inventory.requestListing(w.clock.monotonic(), "refresh");
  await passForgetting(w, 30);
  expect(w.cloud.changes).toHaveLength(4);
});

test("a creation with a lost response counts as the second attempt after an accepted creation", async () => {
  const w = setUp();
  w.add("n1", rangeOf("n1"));
  await w.settle();
  w.cloud.failures.set("*", refusal("unavailable"));
  await passForgetting(w, 60);
  expect(w.cloud.changes).toHaveLength(2);
  expect(problemsOf(w, "n1")).toEqual([reason]);
});

test("creates a route as soon as the cloud can, although many creations failed", async () => {
  const w = setUp();
  w.cloud.failures.set("*", refusal("unavailable"));
  w.add("n1", rangeOf("n1"));
  await w.settle();
  await w.pass(3600);
  expect(w.cloud.changes.length).toBeGreaterThan(5);
  expect(problemsOf(w, "n1")).toEqual([]);
  w.cloud.failures.clear();
  w.cloud.hides = () => false;
  await w.pass(600);
  expect(w.cloud.table).toHaveLength(1);
});

test("recreates a route each time that it is removed in the cloud, because it is listed after each creation", async () => {
  const w = await hidden(true, { settings: every(3600) });
  w.cloud.hides = () => false;
  await w.pass(600);
  const { length } = w.cloud.changes;
  for (let count = 1; count <= 4; count += 1) {
    w.cloud.table = w.cloud.table.filter(({ destination }) => destination !== rangeOf("n1"));
    await w.pass(3700);
    expect(w.cloud.changes).toHaveLength(length + count);
  }
  expect(problemsOf(w, "n1")).toEqual([]);
});

test("does not count a route whose operation fails as created", async () => {
  const w = setUp({
    pending: {
      limit: 10,
      check: async (ids) =>
        new Map(ids.map((id) => [id, new CloudError("quota", "no room", { operation: "GET /operations" })])),
    },
  });
  const wait = { done: false, checkAfter: seconds(10), waitingFor: "the network" } as const;
  for (let index = 0; index < 50; index += 1) w.cloud.outcomes.push({ ...wait, operation: `t${index}` });
  w.add("n1", rangeOf("n1"));
  await w.settle();
  await w.pass(7200);
  expect(w.cloud.changes.length).toBeGreaterThan(4);
  expect(problemsOf(w, "n1")).toEqual(["FailedToCreateRoute"]);
});

test("creates a route that the cloud accepts without completing it at most twice", async () => {
  const w = setUp();
  const wait = { done: false, checkAfter: seconds(5), waitingFor: "the network" } as const;
  for (let index = 0; index < 50; index += 1) w.cloud.outcomes.push(wait);
  w.add("n1", rangeOf("n1"));
  await w.settle();
  await w.pass(3600);
  expect(w.cloud.changes).toHaveLength(2);
  expect(problemsOf(w, "n1")).toEqual([reason]);
});

test("changes by Fairlead that lagging listings do not show yet do not count as shown", async () => {
  let table: ScriptedRoutes | undefined;
  const w = setUp({
    routes: (clock) => {
      table = new ScriptedRoutes(clock);
      table.hides = () => true;
      return { ...table.routes, readsLag: seconds(20) };
    },
  });
  w.add("n1", rangeOf("n1"), { conditions: [created] });
  await w.settle();
  await w.pass(3600);
  expect(table?.changes).toHaveLength(2);
  expect(problemsOf(w, "n1")).toEqual([reason]);
});

test("holds a route only in the table that does not show it, even while another table fails", async () => {
  const made: ScriptedRoutes[] = [];
  const w = setUp({
    routes: (clock) => {
      const table = (name: string): NamedRoutes => {
        const scripted = new ScriptedRoutes(clock);
        made.push(scripted);
        return { ...scripted.routes, name, serves: () => true };
      };
      return [table("west"), table("east"), table("south")];
    },
  });
  const [west, east, south] = made;
  if (west === undefined || east === undefined || south === undefined) throw new Error("There are 3 tables.");
  west.hides = () => true;
  south.failures.set("list", refusal("unavailable"));
  w.add("n1", rangeOf("n1"));
  await w.settle();
  await w.pass(3600);
  expect([west.changes.length, east.changes.length, south.changes.length]).toEqual([2, 1, 0]);
  expect(problemsOf(w, "n1")).toEqual([reason, "RoutesUnknown"]);
  expect(w.removals.held("routes")).toEqual(["10.244.1.0/24 in table west"]);
});
