import { afterEach, describe, expect, test } from "bun:test";
import { exactly } from "../../../src/controllers/route/deps.ts";
import { seconds } from "../../../src/core/brand.ts";
import type { Condition } from "../../../src/kube/objects.ts";
import type { NamedRoutes, RouteTarget } from "../../../src/provider/routes.ts";
import type { VirtualClock } from "../../../src/testing/virtual-time/virtual-clock.ts";
import { type RouteSetup, RouteWorld } from "./route-world.ts";
import { type RoutesScript, refusal, ScriptedRoutes } from "./scripted-routes.ts";

// Clouds with several route tables. Nodes "w…" are in west, "e…" in east, "b…" in both, "x…" in neither.

let world: RouteWorld | undefined;
afterEach(() => world?.stop());

const created: Condition = { type: "NetworkUnavailable", status: "False", reason: "RouteCreated" };
const rangeOf = (index: number) => `10.244.${index}.0/24`;

interface Tables {
  readonly w: RouteWorld;
  readonly west: ScriptedRoutes;
  readonly east: ScriptedRoutes;
  readonly moved: Set<string>;
}

const setUp = (setup: RouteSetup = {}, west: RoutesScript = {}, east: RoutesScript = {}): Tables => {
  const made: ScriptedRoutes[] = [];
  const moved = new Set<string>();
  const table = (clock: VirtualClock, name: "west" | "east", script: RoutesScript): NamedRoutes => {
    const scripted = new ScriptedRoutes(clock, script);
    made.push(scripted);
    const serves = ({ machine }: RouteTarget): boolean => {
      const key = machine?.key ?? "";
      return (key.startsWith(name.charAt(0)) && !moved.has(key)) || key.startsWith("b");
    };
    return { ...scripted.routes, name, serves };
  };
  const w = new RouteWorld({
    ...setup,
    routes: (clock) => [table(clock, "west", west), table(clock, "east", east)],
  });
  world = w;
  const [one, other] = made;
  if (one === undefined || other === undefined) throw new Error("There are two tables.");
  return { w, west: one, east: other, moved };
};

/** Nodes with their routes, as the last process left them. */
const settled = async (west: number, east: number, setup: RouteSetup = {}): Promise<Tables> => {
  const tables = setUp(setup);
  const put = (table: ScriptedRoutes, prefix: string, index: number) => {
    tables.w.add(`${prefix}${index}`, rangeOf(index), { conditions: [created] });
    table.put(rangeOf(index), { targetKey: `${prefix}${index}` });
  };
  for (let index = 0; index < west; index += 1) put(tables.west, "w", index);
  for (let index = 100; index < 100 + east; index += 1) put(tables.east, "e", index);
  await tables.w.settle();
  expect([tables.west.changes, tables.east.changes]).toEqual([[], []]);
  return tables;
};

test.each([
  ["one-by-one", "one-by-one"],
  ["document", "one-by-one"],
  ["document", "document"],
] as const)(
  "creates routes in every table that serves the Node, with tables %s and %s [F58]",
  async (...styles) => {
    const { w, west, east } = setUp({}, { style: styles[0] }, { style: styles[1] });
    w.add("w1", rangeOf(1)).add("e2", rangeOf(2)).add("b3", rangeOf(3));
    await w.settle();
    expect(west.shown()).toEqual(["10.244.1.0/24 -> w1 10.0.0.1", "10.244.3.0/24 -> b3 10.0.0.1"]);
    expect(east.shown()).toEqual(["10.244.2.0/24 -> e2 10.0.0.1", "10.244.3.0/24 -> b3 10.0.0.1"]);
    expect(["w1", "e2", "b3"].map((name) => w.network(name))).toEqual(Array(3).fill("False RouteCreated"));
    const [changed, sent] = [west.changes.length + east.changes.length, w.nodes.sent.length];
    await w.pass(3600);
    expect([west.changes.length + east.changes.length, w.nodes.sent.length]).toEqual([changed, sent]);
  },
);

test("a table that cannot be listed blocks only its own routes, and only its own Nodes stay unavailable", async () => {
  const { w, west, east } = setUp();
  west.failures.set("list", refusal("unavailable", "west is down"));
  w.add("w1", rangeOf(1)).add("e2", rangeOf(2)).add("b3", rangeOf(3));
  await w.settle();
  expect(east.shown()).toHaveLength(2);
  expect(["w1", "e2", "b3"].map((name) => w.network(name))).toEqual([
    undefined,
    "False RouteCreated",
    undefined,
  ]);
  expect(w.reportedProblems.map(({ text }) => text)).toEqual([
    "Could not list the routes of table west. None of its routes is created or removed until a listing succeeds; other tables are not affected: west is down",
  ]);
  west.failures.clear();
  await w.pass(120);
  expect(["w1", "b3"].map((name) => w.network(name))).toEqual(["False RouteCreated", "False RouteCreated"]);
});

test("a change of a Node syncs only the tables that serve it", async () => {
  const { w, west, east } = await settled(2, 2);
  await w.pass(60);
  const before = [west.listings, east.listings];
  for (let count = 0; count < 3; count++) {
    w.nodes.change("w0", (node) => ({
      ...node,
      status: { ...node.status, addresses: [{ type: "InternalIP", address: `10.0.1.${count}` }] },
    }));
    await w.pass(60);
  }
  expect(west.listings).toBeGreaterThan(before[0] ?? 0);
  expect(east.listings).toBe(before[1] ?? 0);
});

test("a slow table does not delay another table", async () => {
  const { w, east } = setUp({}, { takes: seconds(300) });
  w.add("w1", rangeOf(1)).add("e2", rangeOf(2));
  await w.settle();
  expect(w.network("e2")).toBe("False RouteCreated");
  w.add("e3", rangeOf(3));
  w.inventory.requestListing(w.clock.monotonic(), "refresh");
  await w.pass(20);
  expect(east.table).toHaveLength(2);
  expect(w.network("w1")).toBeUndefined();
});

test("a rejected route in one table makes the Node unavailable, and its message names the table", async () => {
  const { w, west, east } = setUp();
  west.failures.set(rangeOf(3), refusal("quota", "the table is full"));
  w.add("b3", rangeOf(3)).add("w1", rangeOf(1));
  await w.settle();
  expect(east.table).toHaveLength(1);
  expect([w.network("b3"), w.network("w1")]).toEqual(["True NoRouteCreated", "False RouteCreated"]);
  expect(w.reported[0]?.message).toContain("for node b3 in table west after");
  west.failures.clear();
  await w.pass(600);
  expect(w.network("b3")).toBe("False RouteCreated");
});

test("reports the number and the maximum of routes for each table", async () => {
  const { w } = setUp({}, { limit: 2 }, { limit: 100 });
  w.add("w1", rangeOf(1)).add("w2", rangeOf(2)).add("e3", rangeOf(3));
  await w.settle();
  const last = new Map(w.syncs.map((sync) => [sync.table, sync] as const));
  expect([...last].map(([table, { there, limit }]) => [table, there, limit]).toSorted()).toEqual([
    ["east", 1, 100],
    ["west", 2, 2],
  ]);
  expect(w.reportedProblems.map(({ text }) => text)).toEqual([
    "The cloud's route table west is at least 80% full (limit: 2), so new Nodes may soon get no route. Remove unused routes or request a higher limit.",
  ]);
});

test("reports a Node that no table serves, and a problem of several tables once", async () => {
  const { w, west, east } = setUp();
  w.add("x1", rangeOf(1)).add("b2", "10.99.0.0/24");
  await w.settle();
  await w.pass(600);
  expect([west.changes, east.changes, w.network("x1")]).toEqual([[], [], undefined]);
  expect(w.reasons("b2")).toEqual(["PodCIDROutsideCluster"]);
  expect(w.reported.find(({ node }) => node === "x1")).toEqual({
    node: "x1",
    reason: "NoRouteTable",
    message:
      "No route table of the cloud serves the instance of this Node (in cloud). No route is created for pod CIDR 10.244.1.0/24. Configure the route table of its network, or attach the instance to a network that has one.",
  });
});

test("uses the tables that support each family", async () => {
  const { w, west, east } = setUp(
    { clusterCIDRs: ["10.244.0.0/16", "fd00:10:244::/48"] },
    { families: ["IPv4"] },
    { families: ["IPv6"] },
  );
  w.add("b1", [rangeOf(1), "fd00:10:244:1::/64"]);
  await w.settle();
  expect([west.table.length, east.table.length]).toEqual([1, 1]);
  expect(w.network("b1")).toBe("False RouteCreated");
  expect(w.reportedProblems).toEqual([]);
});

describe("mass limit of several tables", () => {
  const recheck = { settings: { fullCheck: exactly(seconds(60)) } };

  test("holds the routes of a table whose listing is empty, but recreates the absent routes of another table", async () => {
    const { w, west, east } = await settled(20, 20, recheck);
    west.hides = () => true;
    east.table = east.table.slice(1);
    await w.pass(300);
    expect([west.changes.length, east.changes.length, east.table.length]).toEqual([0, 1, 20]);
    expect(w.held).toHaveLength(1);
    expect(w.held[0]).toStartWith("Of 20 routes in table west, 20 are affected by something absent:");
    expect(w.removals.held("routes")).toContain("10.244.7.0/24 in table west");
    expect(w.removals.release("routes")).toHaveLength(20);
    west.hides = () => false;
    await w.pass(120);
    expect([west.changes, w.removals.held("routes")]).toEqual([[], []]);
  });

  test("removals in one table do not count towards the limit of another table", async () => {
    const { w, west, east } = await settled(20, 20, recheck);
    west.table = west.table.slice(4);
    east.table = east.table.slice(4);
    await w.pass(300);
    expect([west.table.length, east.table.length, w.held]).toEqual([20, 20, []]);
  });

  test("removes the route of a Node that the table no longer serves, but not too many routes at once", async () => {
    const { w, west, moved } = await settled(20, 2, recheck);
    moved.add("w7");
    await w.pass(120);
    expect(west.table).toHaveLength(19);
    expect(w.held).toEqual([]);
    for (let index = 8; index < 18; index += 1) moved.add(`w${index}`);
    await w.pass(120);
    expect(west.table).toHaveLength(19);
    expect(w.held[0]).toContain("the table no longer serves the Nodes of 10 routes");
  });
});
