import { describe, expect, test } from "bun:test";
import { matchTarget, type Spared } from "../../../src/controllers/route/desired/match-target.ts";
import { planRoutes } from "../../../src/controllers/route/reconcile/plan.ts";
import type { Cidr, NodeName } from "../../../src/core/brand.ts";
import { cidr } from "../../../src/core/cidr.ts";
import { ipAddress } from "../../../src/core/ip.ts";
import type { ObservedRoute, RouteTarget, WantedRoute } from "../../../src/provider/routes.ts";

const target = (name: string, changes: Partial<RouteTarget> = {}): RouteTarget => ({
  node: name as NodeName,
  uid: `uid-${name}`,
  machine: { source: "cloud", key: `m-${name}` },
  addresses: [ipAddress("10.0.0.1")],
  ...changes,
});
const wanted = (range: string, name: string): WantedRoute => ({
  destination: cidr(range),
  target: target(name),
});
const there = (handle: string, range: string, changes: Partial<ObservedRoute> = {}): ObservedRoute => ({
  handle,
  destination: cidr(range),
  ownership: "marked",
  ...changes,
});
const nobody: Spared = {
  destinations: new Set(),
  keys: new Set(),
  names: new Set(),
  addresses: new Set(),
};

interface Case {
  readonly name: string;
  readonly wanted?: readonly WantedRoute[];
  readonly observed: readonly ObservedRoute[];
  readonly spared?: Partial<Spared>;
  readonly remove?: readonly string[];
  readonly create?: readonly string[];
  readonly present?: readonly string[];
  readonly undecided?: readonly string[];
  readonly refused?: readonly string[];
}

const a = wanted("10.244.1.0/24", "a");
const b = wanted("10.244.1.0/24", "b");
const range = "10.244.1.0/24";

const cases: readonly Case[] = [
  { name: "nothing there", wanted: [a], observed: [], create: [range] },
  {
    name: "right by machine",
    wanted: [a],
    observed: [there("1", range, { targetKey: "m-a" })],
    present: [range],
  },
  {
    name: "right by name",
    wanted: [a],
    observed: [there("1", range, { targetName: "a" })],
    present: [range],
  },
  {
    name: "right by address",
    wanted: [a],
    observed: [there("1", range, { targetAddress: ipAddress("10.0.0.1") })],
    present: [range],
  },
  {
    name: "the machine counts before the name",
    wanted: [a],
    observed: [there("1", range, { targetKey: "m-a", targetName: "called otherwise" })],
    present: [range],
  },
  {
    name: "the right machine under an address it has no more",
    wanted: [a],
    observed: [there("1", range, { targetKey: "m-a", targetAddress: ipAddress("10.0.0.2") })],
    remove: ["1"],
    create: [range],
  },
  {
    name: "nowhere, although the target is known",
    wanted: [a],
    observed: [there("1", range, { targetKey: "m-a", leadsNowhere: true })],
    remove: ["1"],
    create: [range],
  },
  {
    name: "a target nobody knows",
    wanted: [a],
    observed: [there("1", range)],
    remove: ["1"],
    create: [range],
  },
  {
    name: "an address, and the node tells none yet",
    wanted: [{ ...a, target: target("a", { addresses: [] }) }],
    observed: [there("1", range, { targetAddress: ipAddress("10.0.0.1") })],
    undecided: [range],
  },
  { name: "not wanted", observed: [there("1", range, { targetKey: "m-x" })], remove: ["1"] },
  { name: "not wanted and foreign", observed: [there("1", range, { ownership: "foreign" })] },
  { name: "not wanted and outside", observed: [there("1", "10.9.0.0/24")] },
  { name: "not wanted and only half inside", observed: [there("1", "10.244.0.0/15")] },
  {
    name: "not wanted and wider than the cluster",
    observed: [there("1", "10.0.0.0/8", { ownership: "unmarked" })],
  },
  {
    name: "not wanted and unmarked",
    observed: [there("1", range, { ownership: "unmarked" })],
    remove: ["1"],
  },
  {
    name: "twice, the second one right",
    wanted: [a],
    observed: [there("1", range, { targetKey: "m-x" }), there("2", range, { targetKey: "m-a" })],
    remove: ["1"],
    present: [range],
  },
  {
    name: "right twice, once ours",
    wanted: [a],
    observed: [
      there("1", range, { targetKey: "m-a", ownership: "foreign" }),
      there("2", range, { targetKey: "m-a" }),
    ],
    present: [range],
  },
  {
    name: "two nodes with one range, none there: the first has it",
    wanted: [a, b],
    observed: [],
    create: [range],
    refused: ["b PodCIDRTaken"],
  },
  {
    name: "two nodes with one range, the second has the route: it keeps it",
    wanted: [a, b],
    observed: [there("1", range, { targetKey: "m-b" })],
    present: [range],
    refused: ["a PodCIDRTaken"],
  },
  {
    name: "taken by a foreign route",
    wanted: [a],
    observed: [there("1", range, { ownership: "foreign", targetKey: "m-x" })],
    refused: ["a RouteTaken"],
  },
  {
    name: "taken by a route of a node that is left alone",
    wanted: [a],
    observed: [there("1", range, { targetKey: "m-paused" })],
    spared: { keys: new Set(["m-paused"]) },
    refused: ["a RouteTaken"],
  },
  {
    name: "to a node that is left alone, by name",
    observed: [there("1", range, { targetName: "paused" })],
    spared: { names: new Set(["paused"]) },
  },
  {
    name: "to a node that is left alone, by address",
    observed: [there("1", range, { targetAddress: ipAddress("10.0.0.7") })],
    spared: { addresses: new Set(["10.0.0.7"]) },
  },
  {
    name: "of the range of a node that is left alone",
    observed: [there("1", range, { targetKey: "m-x" })],
    spared: { destinations: new Set<Cidr>([cidr(range)]) },
  },
];

describe("planRoutes", () => {
  test.each(cases)("$name", (each) => {
    const plan = planRoutes({
      wanted: each.wanted ?? [],
      observed: each.observed,
      spared: { ...nobody, ...each.spared },
      clusterCIDRs: [cidr("10.244.0.0/16")],
    });
    const ranges = (routes: readonly WantedRoute[]) => routes.map(({ destination }) => destination as string);
    expect({
      remove: plan.remove.map(({ handle }) => handle),
      create: ranges(plan.create),
      present: ranges(plan.present),
      undecided: ranges(plan.undecided),
      refused: plan.refused.map(({ route, problem }) => `${route.target.node} ${problem.reason}`),
    }).toEqual({
      remove: [...(each.remove ?? [])],
      create: [...(each.create ?? [])],
      present: [...(each.present ?? [])],
      undecided: [...(each.undecided ?? [])],
      refused: [...(each.refused ?? [])],
    });
  });
});

test("a machine that is not known makes a match unknown, never a difference", () => {
  const { machine: _, ...unknown } = target("a");
  expect(matchTarget(unknown, there("1", range, { targetKey: "m-a" }))).toBe("unknown");
});
