import { expect, test } from "bun:test";
import { type RouteTable, routeTablesOf } from "../../src/cloud/ideal-route-tables.ts";
import { milliseconds, nodeName, seconds } from "../../src/core/brand.ts";
import { cidr } from "../../src/core/cidr.ts";
import type { Call } from "../../src/provider/call.ts";
import type { DesiredRoute, ObservedRoute, RoutesOneByOne } from "../../src/provider/routes.ts";
import { VirtualClock } from "../../src/testing/virtual-time/virtual-clock.ts";
import { ScriptedRoutes } from "../controllers/route/scripted-routes.ts";

const call: Call = { signal: new AbortController().signal, urgency: "refresh" };
const range = "10.244.1.0/24";
const wanted: DesiredRoute = {
  destination: cidr(range),
  target: {
    node: nodeName("n1"),
    uid: "1",
    machine: { source: "cloud", key: "n1" },
    addresses: [],
    internalIPs: [],
  },
};
const lag = seconds(20);

/** A cloud whose listings show the state from `lag` earlier, and a provider that declares this. */
const setUp = () => {
  const clock = new VirtualClock();
  const cloud = new ScriptedRoutes(clock);
  const { routes } = cloud;
  if (routes.style !== "one-by-one") throw new Error("It was not to be a document.");
  let shown: readonly ObservedRoute[] = [];
  const lagging: RoutesOneByOne = {
    ...routes,
    readsLag: lag,
    list: async function* () {
      yield { routes: shown };
    },
  };
  const [table] = routeTablesOf(lagging, clock) as [RouteTable];
  const listed = async (): Promise<readonly string[]> => {
    const found: string[] = [];
    for await (const page of table.list(call))
      found.push(...page.routes.map((route) => `${route.targetKey}${route.isUnshown ? " (not shown)" : ""}`));
    return found;
  };
  const catchUp = () => {
    shown = [...cloud.table];
  };
  return { clock, cloud, table, listed, catchUp };
};

test("a lagging listing shows a route from its creation, without a handle until the cloud lists it", async () => {
  const { clock, table, listed, catchUp } = setUp();
  await table.create(wanted, call);
  expect(await listed()).toEqual(["n1 (not shown)"]);
  expect(table.shownAt).toBe(clock.monotonic() + lag);
  catchUp();
  expect(await listed()).toEqual(["n1"]);
});

test("a lagging listing does not show a removed route", async () => {
  const { cloud, table, listed, catchUp } = setUp();
  const route = cloud.put(range, { targetKey: "n1" });
  catchUp();
  expect(await listed()).toEqual(["n1"]);
  await table.remove(route, call);
  expect(await listed()).toEqual([]);
});

test("a route that another program removed is missing once the read lag after its creation is over", async () => {
  const { clock, cloud, table, listed } = setUp();
  await table.create(wanted, call);
  cloud.table = [];
  await clock.advance(milliseconds(lag - 1));
  expect(await listed()).toEqual(["n1 (not shown)"]);
  await clock.advance(milliseconds(1));
  expect([await listed(), table.shownAt]).toEqual([[], undefined]);
});

test("a route that another program recreated is shown once the read lag after its removal is over", async () => {
  const { clock, cloud, table, listed, catchUp } = setUp();
  const route = cloud.put(range, { targetKey: "n1" });
  catchUp();
  await table.remove(route, call);
  cloud.table = [route];
  await clock.advance(lag);
  expect(await listed()).toEqual(["n1"]);
});

test("a change with an operation counts from the operation's end, and any other change is checked after the lag", async () => {
  const { cloud, table, listed } = setUp();
  const wait = { done: false, checkAfter: seconds(2), waitingFor: "the network" } as const;
  cloud.outcomes.push({ ...wait, operation: "op-1" }, wait);
  expect(await table.create(wanted, call)).toEqual({ ...wait, operation: "op-1" });
  expect(await listed()).toEqual([]);
  table.noteDone({ do: "create", route: wanted });
  expect(await listed()).toEqual(["n1 (not shown)"]);
  expect(await table.create(wanted, call)).toEqual({ ...wait, checkAfter: lag });
});

test("two proofs of absence are further apart than the lag of the table's listings", () => {
  const { table, cloud, clock } = setUp();
  expect([table.proofsApart(seconds(1)), table.proofsApart(seconds(60))]).toEqual([seconds(25), seconds(80)]);
  const [prompt] = routeTablesOf(cloud.routes, clock) as [RouteTable];
  expect(prompt.proofsApart(seconds(1))).toBe(seconds(1));
});
