import { afterEach, describe, expect, test } from "bun:test";
import { exactly } from "../../../src/controllers/route/deps.ts";
import { seconds } from "../../../src/core/brand.ts";
import type { Condition } from "../../../src/kube/objects.ts";
import { machine } from "../../support/scripted-source.ts";
import { type RouteSetup, RouteWorld } from "./route-world.ts";
import { refusal } from "./scripted-routes.ts";

// Routes and Nodes that are absent because the cloud's listing or the API server is incorrect.

let world: RouteWorld | undefined;
afterEach(() => world?.stop());

const created: Condition = { type: "NetworkUnavailable", status: "False", reason: "RouteCreated" };
const names = (amount: number, from = 0) => Array.from({ length: amount }, (_, index) => `n${from + index}`);
const rangeOf = (name: string) => `10.244.${name.slice(1)}.0/24`;
const every = (time: number) => ({ fullCheck: exactly(seconds(time)) });

describe.each(["one-by-one", "document"] as const)("absent routes, %s", (style) => {
  const setUp = (setup: RouteSetup = {}): RouteWorld => {
    world = new RouteWorld({ ...setup, script: { ...setup.script, style } });
    return world;
  };

  /** Nodes with their routes, as the last process left them. */
  const settled = async (amount: number, setup: RouteSetup = {}): Promise<RouteWorld> => {
    const w = setUp(setup);
    for (const name of names(amount)) {
      w.add(name, rangeOf(name), { conditions: [created] });
      w.cloud.put(rangeOf(name), { targetKey: name });
    }
    await w.settle();
    expect(w.cloud.changes).toEqual([]);
    return w;
  };

  const join = (w: RouteWorld, name: string): void => {
    w.add(name, rangeOf(name));
    w.inventory.requestListing(w.clock.monotonic(), "refresh");
  };

  test("an empty listing creates no route, even right after a start, and the hold ends with the next good listing", async () => {
    const w = setUp();
    for (const name of names(20)) {
      w.add(name, rangeOf(name), { conditions: [created] });
      w.cloud.put(rangeOf(name), { targetKey: name });
    }
    w.cloud.hides = () => true;
    await w.settle();
    await w.pass(300);
    expect(w.cloud.changes).toEqual([]);
    expect(w.held).toHaveLength(1);
    expect(w.held[0]).toStartWith(
      "Of 20 routes, 20 are affected by something absent: the cloud no longer lists 20 routes that Nodes need. More than 4 at once is treated as a fault",
    );
    expect(w.held[0]).toContain("--removal-limit=off");
    expect(w.reasons("n7")).toEqual(["MassRouteRecreationHeld"]);
    expect(w.network("n7")).toBe("False RouteCreated");
    expect(w.removals.held("routes")).toHaveLength(20);
    w.cloud.hides = () => false;
    await w.pass(120);
    expect([w.cloud.changes, w.removals.held("routes")]).toEqual([[], []]);
    const { listings } = w.cloud;
    await w.pass(600);
    expect(w.cloud.listings).toBe(listings);
  });

  test("recreates a lost route although listings lack many that were just created", async () => {
    const w = await settled(5, { settings: every(7) });
    const joined = [11, 12, 13, 14, 15].map((index) => `n${index}`);
    const hide = (...hidden: readonly string[]) => {
      w.cloud.hides = ({ destination }) => hidden.some((name) => destination === rangeOf(name));
    };
    hide("n3");
    await w.pass(20);
    for (const name of joined) join(w, name);
    await w.pass(5);
    hide("n3", ...joined);
    await w.pass(20);
    // The route was recreated.
    expect(w.removals.count("routes")).toBe(1);
    expect(w.held).toEqual([]);
    // Routes count once they are missing for longer than the lag.
    await w.pass(60);
    expect(w.held).toHaveLength(1);
    await w.stop();
  });

  test("does not create a route that one listing lacks", async () => {
    const w = await settled(5, { settings: every(60) });
    w.cloud.hides = ({ destination }) => destination === rangeOf("n3");
    await w.pass(60);
    w.cloud.hides = () => false;
    await w.pass(300);
    expect(w.cloud.changes).toEqual([]);
    expect(w.held).toEqual([]);
  });

  test("does not create a route because one listing lacks it and another Node has the same range", async () => {
    const w = await settled(5, { settings: every(60) });
    w.add("n9", rangeOf("n3"));
    await w.pass(10);
    w.cloud.hides = ({ destination }) => destination === rangeOf("n3");
    await w.pass(60);
    w.cloud.hides = () => false;
    await w.pass(300);
    expect(w.cloud.changes).toEqual([]);
    expect(w.reasons("n9")).toEqual(["PodCIDRTaken"]);
  });

  test("a route from another leader counts as absent when it is gone, even if a creation by this leader may have succeeded", async () => {
    const w = await settled(5);
    // The request reaches the cloud, and has no effect there.
    w.cloud.failures.set(rangeOf("n9"), refusal("unavailable"));
    join(w, "n9");
    await w.pass(5);
    w.cloud.failures.clear();
    w.nodes.change("n9", ({ status, ...rest }) => ({
      ...rest,
      status: { ...status, conditions: [created] },
    }));
    await w.handOver();
    await w.pass(120);
    expect(w.cloud.shown()).toContain(`${rangeOf("n9")} -> n9 10.0.0.1`);
    expect(w.removals.count("routes")).toBe(1);
  });

  test("recreates a missing route after a second listing, 30 s after the first", async () => {
    const w = await settled(5, { settings: every(300) });
    w.cloud.table = w.cloud.table.filter(({ destination }) => destination !== rangeOf("n3"));
    const before = w.cloud.listings;
    await w.clock.until(() => w.cloud.table.length === 5, seconds(400), "the route");
    const [first, second] = w.cloud.calls.filter(({ what }) => what === "list").slice(before);
    expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThanOrEqual(30_000);
    expect(w.cloud.changes).toHaveLength(1);
    expect(w.network("n3")).toBe("False RouteCreated");
    expect(w.removals.count("routes")).toBe(1);
  });

  test("creates a new route once although listings do not show it yet", async () => {
    const w = await settled(3, { settings: every(10) });
    const joinedAt = w.clock.monotonic();
    w.cloud.hides = ({ destination }) =>
      destination === rangeOf("n9") && w.clock.monotonic() < joinedAt + 25_000;
    join(w, "n9");
    await w.pass(120);
    expect(w.cloud.changes).toHaveLength(1);
    expect(w.network("n9")).toBe("False RouteCreated");
    expect(w.reported).toEqual([]);
  });

  test("a new Node gets its route immediately although other routes are held", async () => {
    const w = await settled(10, { settings: every(30) });
    w.cloud.hides = ({ destination }) => destination !== rangeOf("n99");
    await w.pass(120);
    expect(w.held).toHaveLength(1);
    join(w, "n99");
    await w.pass(10);
    expect(w.cloud.shown()).toContain(`${rangeOf("n99")} -> n99 10.0.0.1`);
    expect(w.cloud.changes).toHaveLength(1);
  });

  test("three of fourteen absent routes stay held when another Node joins, until an operator releases them", async () => {
    const w = await settled(14, { settings: every(60) });
    w.cloud.table = w.cloud.table.slice(3);
    await w.pass(180);
    expect(w.held).toHaveLength(1);
    join(w, "n14");
    await w.pass(1800);
    expect(w.cloud.table).toHaveLength(12);
    expect(w.removals.held("routes")).toHaveLength(3);
    w.removals.release("routes");
    await w.pass(120);
    expect(w.cloud.table).toHaveLength(15);
    w.cloud.table = w.cloud.table.slice(3);
    await w.pass(180);
    expect(w.cloud.table).toHaveLength(15);
  });

  test("Nodes of another cloud do not raise the limit of changes", async () => {
    const w = setUp({ settings: every(60) });
    for (const name of names(14)) {
      w.add(name, rangeOf(name), { conditions: [created] });
      w.cloud.put(rangeOf(name), { targetKey: name });
    }
    for (const name of names(20, 100))
      w.add(name, rangeOf(name), { hasMachine: false, providerID: `other://${name}` });
    await w.settle();
    w.cloud.table = w.cloud.table.slice(3);
    await w.pass(300);
    expect(w.cloud.changes).toEqual([]);
    expect(w.held[0]).toStartWith("Of 14 routes, 3 are affected by something absent");
  });

  test("Nodes that vanish from the API server without a deletion keep their routes, until an operator releases them", async () => {
    const w = await settled(20);
    w.nodes.vanish(...names(8));
    await w.pass(300);
    expect(w.cloud.table).toHaveLength(20);
    expect(w.held[0]).toStartWith(
      "Of 20 routes, 8 are affected by something absent: the Nodes of 8 routes vanished from the API server without a deletion that this process saw. More than 4 at once",
    );
    expect(w.removals.release("routes")).toHaveLength(8);
    await w.pass(10);
    expect(w.cloud.table).toHaveLength(12);
    expect(w.removals.count("routes")).toBe(0);
    w.nodes.vanish(...names(8, 10));
    await w.pass(300);
    expect(w.cloud.table).toHaveLength(12);
  });

  test("all routes of a small cluster stay when its Nodes vanish from the API server, until an operator releases them [N24]", async () => {
    const w = await settled(2);
    w.nodes.vanish(...names(2));
    await w.pass(3600);
    expect(w.cloud.table).toHaveLength(2);
    expect(w.held[0]).toStartWith(
      "Of 2 routes, 2 are affected by something absent: the Nodes of 2 routes vanished from the API server without a deletion that this process saw. More than 1 at once",
    );
    w.removals.release("routes");
    await w.pass(10);
    expect(w.cloud.table).toEqual([]);
  });

  test.each([1, 2, 3])("keeps all %i routes in a process that has seen no Node [N24]", async (amount) => {
    const w = setUp();
    for (const name of names(amount)) w.cloud.put(rangeOf(name), { targetKey: name });
    await w.settle();
    await w.pass(3600);
    expect(w.cloud.table).toHaveLength(amount);
  });

  test("one of two routes is removed when its Node vanishes, and both when both Nodes were deleted [N24]", async () => {
    const w = await settled(2);
    w.nodes.vanish("n0");
    await w.pass(60);
    expect(w.cloud.table).toHaveLength(1);
    w.nodes.remove("n1");
    await w.pass(60);
    expect(w.cloud.table).toEqual([]);
  });

  test("Nodes that vanish two at a time lose at most the limit of routes within ten minutes", async () => {
    const w = await settled(10);
    const lostAt: number[] = [];
    let left = 10;
    for (let turn = 0; turn < 5; turn += 1) {
      w.nodes.vanish(...names(2, 2 * turn));
      for (let second = 0; second < 60; second += 1) {
        await w.pass(1);
        for (; left > w.cloud.table.length; left -= 1) lostAt.push(w.clock.monotonic());
      }
    }
    expect(lostAt).toHaveLength(2);
    await w.pass(600);
    expect(w.cloud.table.length).toBeGreaterThanOrEqual(6);
  });

  test("routes that an earlier process removed count towards the limit until their ten minutes are over", async () => {
    const w = await settled(10);
    w.removals.load(
      ["a", "b"].map((id) => ({ kind: "routes", id, age: seconds(60) })),
      "another",
    );
    w.nodes.vanish(...names(2));
    await w.pass(480);
    expect([w.cloud.table.length, w.held.length]).toEqual([10, 1]);
    await w.pass(240);
    expect(w.cloud.table).toHaveLength(8);
  });

  test.each([
    ["deleted", (w: RouteWorld, name: string) => w.nodes.remove(name)],
    [
      "cordoned",
      (w: RouteWorld, name: string) => {
        w.nodes.change(name, (node) => ({ ...node, spec: { ...node.spec, unschedulable: true } }));
        w.nodes.vanish(name);
      },
    ],
    [
      "terminating in the cloud",
      async (w: RouteWorld, name: string) => {
        w.machines.put({ ...machine(name), state: "terminating" });
        w.inventory.requestListing(w.clock.monotonic(), "refresh");
        await w.pass(1);
        w.nodes.vanish(name);
      },
    ],
  ])(
    "the routes of any number of Nodes that were %s are removed, and do not count towards the limit",
    async (_, leave) => {
      const w = await settled(20);
      for (const name of names(15)) await leave(w, name);
      await w.pass(30);
      expect(w.cloud.table).toHaveLength(5);
      expect([w.held, w.removals.count("routes")]).toEqual([[], 0]);
    },
  );

  test("removes any number of routes that lead to no instance", async () => {
    const w = setUp();
    for (const name of names(10)) w.cloud.put(rangeOf(name), { leadsNowhere: true });
    await w.settle();
    expect([w.cloud.table, w.held]).toEqual([[], []]);
  });

  test("creates a route whose replacement failed with the next attempt, without another proof of absence", async () => {
    const w = await settled(3);
    w.cloud.failures.set(rangeOf("n1"), refusal("unavailable"));
    w.machines.put(machine("n1"));
    w.nodes.change("n1", (node) => ({
      ...node,
      status: { ...node.status, addresses: [{ type: "InternalIP", address: "10.0.0.9" }] },
    }));
    w.cloud.table = w.cloud.table.map((route) =>
      route.targetKey === "n1" ? { ...route, targetKey: "elsewhere" } : route,
    );
    await w.pass(15);
    w.cloud.failures.clear();
    await w.pass(20);
    expect(w.cloud.shown()).toContain(`${rangeOf("n1")} -> n1 10.0.0.9`);
    expect(w.removals.count("routes")).toBe(0);
  });

  test.each([
    ["that joins with its range", (w: RouteWorld) => w.add("late", "10.244.77.0/24")],
    [
      "that gets its range later",
      (w: RouteWorld) => {
        w.add("late", []);
        w.nodes.change("late", (node) => ({ ...node, spec: { ...node.spec, podCIDR: "10.244.77.0/24" } }));
      },
    ],
  ])(
    "a creation that may have had an effect is repeated only after a proof of absence, for a Node %s",
    async (_, addNode) => {
      const w = await settled(3);
      w.cloud.failures.set("10.244.77.0/24", refusal("unavailable"));
      addNode(w);
      w.inventory.requestListing(w.clock.monotonic(), "refresh");
      await w.pass(3);
      w.cloud.failures.clear();
      const attempts = w.cloud.changes.length;
      await w.pass(20);
      expect(w.cloud.changes).toHaveLength(attempts);
      await w.pass(60);
      expect(w.cloud.shown().join()).toContain("10.244.77.0/24 -> late");
    },
  );

  test("does not repeat a creation that may have had an effect while listings lack too many routes", async () => {
    const w = await settled(10, { settings: every(60) });
    w.cloud.failures.set("10.244.77.0/24", refusal("unavailable"));
    w.add("late", "10.244.77.0/24");
    w.inventory.requestListing(w.clock.monotonic(), "refresh");
    await w.pass(3);
    w.cloud.failures.clear();
    w.cloud.hides = () => true;
    const attempts = w.cloud.changes.length;
    await w.pass(600);
    expect(w.cloud.changes).toHaveLength(attempts);
    w.cloud.hides = () => false;
    await w.pass(120);
    expect(w.cloud.shown().join()).toContain("10.244.77.0/24 -> late");
    expect(w.removals.count("routes")).toBe(0);
  });

  test("does not repeat a creation that may have had an effect while listings lack the routes of Nodes without an instance", async () => {
    const w = await settled(7, { settings: every(60) });
    for (const name of names(7)) w.machines.machines.delete(name);
    w.cloud.hides = () => true;
    w.cloud.failures.set("10.244.77.0/24", refusal("unavailable"));
    w.add("late", "10.244.77.0/24");
    w.inventory.requestListing(w.clock.monotonic(), "refresh");
    await w.pass(3);
    w.cloud.failures.clear();
    const attempts = w.cloud.changes.length;
    await w.pass(600);
    expect(w.cloud.changes).toHaveLength(attempts);
    expect(w.reasons("late")).toContain("MassRouteRecreationHeld");
    expect(w.held[0]).toStartWith("Of 8 routes, 7 are affected by something absent");
    w.cloud.hides = () => false;
    await w.pass(120);
    expect(w.cloud.shown().join()).toContain("10.244.77.0/24 -> late");
    expect(w.removals.count("routes")).toBe(0);
  });

  test("absent routes of Nodes without an instance count towards the limit, because the same account lacks both", async () => {
    const w = await settled(10, { settings: every(60) });
    for (const name of names(9)) w.machines.machines.delete(name);
    w.inventory.requestListing(w.clock.monotonic(), "refresh");
    w.cloud.hides = () => true;
    await w.pass(600);
    expect(w.cloud.changes).toEqual([]);
    expect(w.reasons("n9")).toEqual(["MassRouteRecreationHeld"]);
    w.cloud.hides = () => false;
    await w.pass(180);
    expect([w.cloud.changes, w.removals.held("routes")]).toEqual([[], []]);
  });

  test("absent routes of Nodes without an instance count towards the limit even if another route was recreated before", async () => {
    const w = await settled(10, { settings: every(60) });
    w.cloud.table = w.cloud.table.filter(({ destination }) => destination !== rangeOf("n9"));
    await w.pass(240);
    expect(w.cloud.changes).toHaveLength(1);
    for (const name of names(9)) w.machines.machines.delete(name);
    w.inventory.requestListing(w.clock.monotonic(), "refresh");
    w.cloud.hides = () => true;
    await w.pass(300);
    expect([w.cloud.changes.length, w.reasons("n9")]).toEqual([1, ["MassRouteRecreationHeld"]]);
  });

  test("absent routes of paused Nodes count towards the limit, and are known when the Nodes are resumed", async () => {
    const w = await settled(10, { settings: every(60) });
    w.nodes.annotate("n0", { "fairlead.dev/paused": "true" });
    w.cloud.hides = ({ destination }) => names(3).map(rangeOf).includes(destination);
    await w.handOver();
    await w.pass(180);
    expect([w.cloud.changes, w.held.length]).toEqual([[], 1]);
    w.nodes.annotate("n0", { "fairlead.dev/paused": "false" });
    await w.pass(180);
    expect([w.cloud.changes, w.removals.held("routes").length]).toEqual([[], 3]);
    w.cloud.hides = () => false;
    await w.pass(180);
    expect([w.cloud.changes, w.removals.held("routes")]).toEqual([[], []]);
  });

  test("a Node that gets the range of a held route does not end the hold", async () => {
    const w = await settled(10, { settings: every(60) });
    w.cloud.hides = ({ destination }) => names(3).map(rangeOf).includes(destination);
    w.cloud.failures.set(rangeOf("n0"), refusal("conflict"));
    await w.pass(180);
    expect(w.held).toHaveLength(1);
    w.nodes.remove("n0");
    w.add("late", rangeOf("n0"));
    w.inventory.requestListing(w.clock.monotonic(), "refresh");
    await w.pass(600);
    expect(w.removals.held("routes").length).toBeGreaterThanOrEqual(2);
    expect(w.removals.count("routes")).toBe(0);
  });

  test("repeats the removal of a route that still exists 30 s later", async () => {
    const w = await settled(5);
    w.nodes.remove("n0");
    await w.pass(2);
    expect(w.cloud.table).toHaveLength(4);
    // The removal had no effect.
    w.cloud.put(rangeOf("n0"), { targetKey: "n0" });
    await w.pass(60);
    expect(w.cloud.table).toHaveLength(4);
    const { listings } = w.cloud;
    await w.pass(600);
    expect(w.cloud.listings).toBeLessThanOrEqual(listings + 1);
  });

  test("a release creates each absent route once, although the listings stay empty", async () => {
    const w = await settled(10, { settings: every(60) });
    w.cloud.table = [];
    w.cloud.hides = () => true;
    await w.pass(180);
    expect(w.cloud.changes).toEqual([]);
    w.removals.release("routes");
    await w.pass(100);
    expect(w.cloud.table).toHaveLength(10);
    const { length } = w.cloud.changes;
    await w.pass(200);
    expect([w.cloud.changes.length, w.removals.held("routes").length]).toEqual([length, 10]);
  });

  test("a release for the routes of vanished Nodes ends when the Nodes return", async () => {
    const w = await settled(10, { settings: every(60) });
    const vanish = () => w.nodes.vanish(...names(8));
    const back = () => {
      for (const name of names(8)) w.add(name, rangeOf(name), { conditions: [created] });
    };
    vanish();
    await w.pass(60);
    back();
    w.removals.release("routes");
    await w.pass(120);
    vanish();
    await w.pass(120);
    expect([w.cloud.changes, w.removals.held("routes").length]).toEqual([[], 8]);
  });

  test("a Node that returns while the removal of its route is stored keeps the route", async () => {
    const w = await settled(10);
    const store = () => new Promise<void>((resolve) => w.clock.after(seconds(5), resolve));
    w.removals.storeWith({ store, howToRelease: () => "" });
    w.nodes.vanish("n1");
    await w.pass(3);
    expect(w.removals.count("routes")).toBe(1);
    w.add("n1", rangeOf("n1"), { conditions: [created] });
    await w.pass(60);
    expect([w.cloud.changes, w.cloud.table.length]).toEqual([[], 10]);
  });

  test("routes that a listing has shown since the hold do not count as absent when another route is lost later", async () => {
    const w = await settled(10, { settings: every(60) });
    w.nodes.annotate("n0", { "fairlead.dev/paused": "true" });
    // The route of the paused Node is lost, and the cloud temporarily hides four others.
    w.cloud.table = w.cloud.table.slice(1);
    w.cloud.hides = ({ destination }) => names(5).map(rangeOf).includes(destination);
    await w.pass(180);
    expect(w.held).toHaveLength(1);
    for (const name of names(3, 1)) w.nodes.remove(name);
    w.cloud.hides = () => false;
    await w.pass(120);
    expect(w.cloud.table).toHaveLength(6);
    w.cloud.table = w.cloud.table.filter(({ destination }) => destination !== rangeOf("n9"));
    await w.pass(240);
    expect(w.cloud.shown().join()).toContain(`${rangeOf("n9")} -> n9`);
  });

  test("removes nothing while the removal cannot be stored", async () => {
    const w = await settled(10);
    let fails = true;
    const store = async () => {
      if (fails) throw new Error("The Lease could not be renewed.");
    };
    w.removals.storeWith({ store, howToRelease: () => "" });
    w.nodes.vanish("n1");
    await w.pass(60);
    expect([w.cloud.changes, w.reportedProblems.map(({ reason }) => reason)]).toEqual([
      [],
      ["RoutesUnfinished"],
    ]);
    fails = false;
    await w.pass(120);
    expect(w.cloud.table).toHaveLength(9);
  });

  test("removes any number of routes with --removal-limit=off", async () => {
    const w = await settled(10, { settings: { removalLimit: "off" } });
    w.nodes.vanish(...names(10));
    await w.pass(30);
    expect([w.cloud.table, w.removals.count("routes")]).toEqual([[], 0]);
  });
});
