// What a leadership session of the route controller starts with: the history of its process, and nothing that an earlier session
// learned from the cloud.

import { afterEach, describe, expect, test } from "bun:test";
import { exactly } from "../../../src/controllers/route/deps.ts";
import { seconds } from "../../../src/core/brand.ts";
import type { NamedRoutes } from "../../../src/provider/routes.ts";
import { type RouteSetup, RouteWorld } from "./route-world.ts";
import { refusal, ScriptedRoutes } from "./scripted-routes.ts";

let world: RouteWorld | undefined;
afterEach(() => world?.stop());

const setUp = (setup: RouteSetup = {}): RouteWorld => {
  world = new RouteWorld({ settings: { fullCheck: exactly(seconds(60)) }, ...setup });
  return world;
};

const rangeOf = (name: string): string => `10.244.${name.slice(1)}.0/24`;
const created = { type: "NetworkUnavailable", status: "False", reason: "RouteCreated" } as const;

/** This many Nodes with their routes. */
const settled = async (count: number): Promise<RouteWorld> => {
  const w = setUp();
  for (let index = 0; index < count; index += 1) {
    w.add(`n${index}`, rangeOf(`n${index}`), { conditions: [created] });
    w.cloud.put(rangeOf(`n${index}`), { targetKey: `n${index}` });
  }
  return w.settle();
};

/** Listings lack the routes of these Nodes. */
const hide = (w: RouteWorld, ...names: readonly string[]): void => {
  w.cloud.hides = ({ destination }) => names.map(rangeOf).includes(destination);
};

/** Checks that nothing of later sessions is left when they have ended. */
const subscriptionsOf = (w: RouteWorld): (() => number) => {
  const { store } = w.nodes;
  const subscribe = store.subscribe.bind(store);
  let active = 0;
  store.subscribe = (listener) => {
    const unsubscribe = subscribe(listener);
    active += 1;
    return () => {
      active -= 1;
      return unsubscribe();
    };
  };
  return () => active;
};

describe("the next session of the same process", () => {
  test("the next session of the process keeps a hold without reporting it again [N1]", async () => {
    const w = await settled(10);
    hide(w, "n1", "n2", "n3");
    await w.pass(240);
    const before = [w.held.length, w.reported.length, w.removals.held("routes").length];
    expect(before).toEqual([1, 3, 3]);
    await w.handOver("this process");
    await w.pass(10);
    expect([w.held.length, w.reported.length, w.removals.held("routes").length]).toEqual(before);
    await w.pass(600);
    expect([w.held.length, w.reported.length, w.cloud.changes]).toEqual([1, 3, []]);
    w.cloud.hides = () => false;
    await w.pass(180);
    expect(w.removals.held("routes")).toEqual([]);
  });

  test("the next session of the process keeps the limit of a hold, although Nodes have joined since", async () => {
    const w = await settled(10);
    hide(w, "n1", "n2", "n3");
    await w.pass(240);
    for (let index = 20; index < 40; index += 1) {
      w.add(`n${index}`, rangeOf(`n${index}`), { conditions: [created] });
      w.cloud.put(rangeOf(`n${index}`), { targetKey: `n${index}` });
    }
    w.inventory.requestListing(w.clock.monotonic(), "refresh");
    await w.pass(120);
    expect(w.removals.held("routes")).toHaveLength(3);
    await w.handOver("this process");
    await w.pass(240);
    expect([w.removals.held("routes").length, w.cloud.changes]).toEqual([3, []]);
  });

  test("the next session of the process does not apply a release to a route that existed between two sessions", async () => {
    const w = await settled(10);
    hide(w, "n1", "n2", "n3");
    await w.pass(240);
    w.cloud.failures.set("*", refusal("unavailable", "not now", "fenced"));
    w.removals.release("routes");
    await w.pass(5);
    w.cloud.hides = () => false;
    await w.handOver("this process");
    await w.pass(60);
    w.cloud.failures.clear();
    const { length } = w.cloud.changes;
    hide(w, "n1", "n2", "n3");
    await w.pass(400);
    expect([w.cloud.changes.length, w.removals.held("routes").length]).toEqual([length, 3]);
  });

  test("the next session of the process does not repeat a problem of a Node [N8]", async () => {
    const w = setUp().add("n1", "10.245.1.0/24").add("n2", "10.244.2.0/24").add("n3", "10.244.2.0/24");
    w.add("n4", "10.244.4.0/24", { hasMachine: false });
    await w.settle();
    await w.pass(600);
    const reasons = w.reported.map(({ reason }) => reason).toSorted();
    expect(reasons).toHaveLength(3);
    expect(reasons).toContain("RouteWaitsForMachine");
    for (const from of ["this process", "another process"] as const) {
      await w.handOver(from);
      await w.pass(900);
    }
    expect(w.reported.map(({ reason }) => reason).toSorted()).toEqual(reasons);
  });

  test("the next session of the process does not repeat a problem that only the second table has", async () => {
    const made: ScriptedRoutes[] = [];
    const w = setUp({
      routes: (clock) => {
        const table = (name: string): NamedRoutes => {
          const scripted = new ScriptedRoutes(clock, { takes: seconds(made.length) });
          made.push(scripted);
          return { ...scripted.routes, name, serves: () => true };
        };
        return [table("west"), table("east")];
      },
    });
    made[1]?.put("10.244.1.0/24", { targetKey: "other", ownership: "foreign" });
    await w.add("n1", "10.244.1.0/24").settle();
    await w.pass(120);
    const { length } = w.reported;
    expect(length).toBeGreaterThan(0);
    await w.handOver("this process");
    await w.pass(120);
    expect(w.reported).toHaveLength(length);
  });

  test("the next session of the process does not recreate a route that an earlier session created and no listing shows yet", async () => {
    const w = setUp();
    w.cloud.hides = () => true;
    await w.start().pass(5);
    w.add("n1", "10.244.1.0/24");
    w.inventory.requestListing(w.clock.monotonic(), "refresh");
    await w.clock.until(() => w.cloud.changes.length === 1, seconds(30), "the creation");
    await w.handOver("this process");
    await w.pass(20);
    w.cloud.hides = () => false;
    await w.pass(120);
    expect(w.cloud.changes).toEqual(["create 10.244.1.0/24"]);
  });

  test("the next session of the process does not recreate a route that the cloud is still creating without an operation id", async () => {
    const w = setUp();
    w.cloud.outcomes.push({ done: false, checkAfter: seconds(60), waitingFor: "the network" });
    await w.add("n1", "10.244.1.0/24").settle();
    await w.handOver("this process");
    await w.pass(20);
    expect(w.cloud.changes).toEqual(["create 10.244.1.0/24"]);
    w.cloud.put("10.244.1.0/24", { targetKey: "n1" });
    await w.pass(120);
    expect([w.cloud.changes.length, w.network("n1")]).toEqual([1, "False RouteCreated"]);
  });

  test("the next session of the process forgets backoffs", async () => {
    const w = setUp().add("n1", "10.244.1.0/24");
    w.cloud.failures.set("10.244.1.0/24", refusal("quota", "no route left"));
    await w.settle();
    await w.pass(3600);
    const { length } = w.cloud.changes;
    w.cloud.failures.clear();
    await w.handOver("this process");
    await w.pass(5);
    expect([w.cloud.changes.length, w.network("n1")]).toEqual([length + 1, "False RouteCreated"]);
  });

  test("the next session of the process lists the table before it changes or reports anything", async () => {
    const w = await settled(3);
    const { listings } = w.cloud;
    w.cloud.table = [];
    await w.handOver("this process");
    await w.pass(5);
    expect([w.cloud.listings, w.cloud.changes]).toEqual([listings + 1, []]);
  });

  test("the next session of the process leaves no subscription behind", async () => {
    const w = setUp().add("n1", "10.244.1.0/24");
    const active = subscriptionsOf(w);
    await w.settle();
    const during = active();
    expect(during).toBeGreaterThan(0);
    for (let count = 0; count < 5; count += 1) {
      await w.handOver("this process");
      await w.pass(10);
    }
    expect(active()).toBe(during);
    await w.stop();
    expect(active()).toBe(0);
  });
});

test.each([
  ["", 3],
  [", and created the Lease again", 1],
])(
  "a session after another process led%s drops a hold, and holds the routes whose absence is proved again",
  async (_, leaders) => {
    const w = await settled(10);
    await w.handOver("another process", 2);
    hide(w, "n1", "n2", "n3");
    await w.pass(240);
    await w.handOver("another process", leaders);
    await w.pass(10);
    expect(w.removals.held("routes")).toEqual([]);
    await w.pass(120);
    expect([w.removals.held("routes").length, w.cloud.changes]).toEqual([3, []]);
  },
);
