import { describe, expect, test } from "bun:test";
import { matchTarget } from "../../../../src/cloud/own-route-changes.ts";
import type { Exempt } from "../../../../src/controllers/route/desired/plan-desired.ts";
import { planRoutes } from "../../../../src/controllers/route/plan/plan.ts";
import type { Cidr, NodeName } from "../../../../src/core/brand.ts";
import { cidr } from "../../../../src/core/cidr.ts";
import { ipAddress } from "../../../../src/core/ip.ts";
import type { DesiredRoute, ObservedRoute, RouteTarget } from "../../../../src/provider/routes.ts";

const target = (name: string, changes: Partial<RouteTarget> = {}): RouteTarget => ({
  node: name as NodeName,
  uid: `uid-${name}`,
  machine: { source: "cloud", key: `m-${name}` },
  addresses: [ipAddress("10.0.0.1")],
  internalIPs: [],
  ...changes,
});
const wanted = (range: string, name: string): DesiredRoute => ({
  destination: cidr(range),
  target: target(name),
});
const there = (handle: string, range: string, changes: Partial<ObservedRoute> = {}): ObservedRoute => ({
  handle,
  destination: cidr(range),
  ownership: "marked",
  ...changes,
});
const none: Exempt = {
  destinations: new Set(),
  keys: new Set(),
  addresses: new Set(),
};

interface Case {
  readonly name: string;
  readonly desired?: readonly DesiredRoute[];
  readonly observed: readonly ObservedRoute[];
  readonly exempt?: Partial<Exempt>;
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
  { name: "creates a route when the table is empty", desired: [a], observed: [], create: [range] },
  {
    name: "keeps a route that matches by machine",
    desired: [a],
    observed: [there("1", range, { targetKey: "m-a" })],
    present: [range],
  },
  {
    name: "keeps a route that matches by address",
    desired: [a],
    observed: [there("1", range, { targetAddress: ipAddress("10.0.0.1") })],
    present: [range],
  },
  {
    name: "replaces a route to the right machine with an outdated address",
    desired: [a],
    observed: [there("1", range, { targetKey: "m-a", targetAddress: ipAddress("10.0.0.2") })],
    remove: ["1"],
    create: [range],
  },
  {
    name: "replaces a route whose target does not exist, although it matches",
    desired: [a],
    observed: [there("1", range, { targetKey: "m-a", leadsNowhere: true })],
    remove: ["1"],
    create: [range],
  },
  {
    name: "replaces a route with an unknown target",
    desired: [a],
    observed: [there("1", range)],
    remove: ["1"],
    create: [range],
  },
  {
    name: "leaves a route with an address undecided while the Node has no address",
    desired: [{ ...a, target: target("a", { addresses: [] }) }],
    observed: [there("1", range, { targetAddress: ipAddress("10.0.0.1") })],
    undecided: [range],
  },
  { name: "removes an unwanted route", observed: [there("1", range, { targetKey: "m-x" })], remove: ["1"] },
  { name: "keeps an unwanted foreign route", observed: [there("1", range, { ownership: "foreign" })] },
  { name: "keeps an unwanted route outside the cluster's ranges", observed: [there("1", "10.9.0.0/24")] },
  {
    name: "keeps an unwanted route partly outside the cluster's ranges",
    observed: [there("1", "10.244.0.0/15")],
  },
  {
    name: "keeps an unwanted unmarked route wider than the cluster's ranges",
    observed: [there("1", "10.0.0.0/8", { ownership: "unmarked" })],
  },
  {
    name: "removes an unwanted unmarked route",
    observed: [there("1", range, { ownership: "unmarked" })],
    remove: ["1"],
  },
  {
    name: "removes an incorrect duplicate and keeps the correct route",
    desired: [a],
    observed: [there("1", range, { targetKey: "m-x" }), there("2", range, { targetKey: "m-a" })],
    remove: ["1"],
    present: [range],
  },
  {
    name: "keeps a correct foreign route and a correct own route",
    desired: [a],
    observed: [
      there("1", range, { targetKey: "m-a", ownership: "foreign" }),
      there("2", range, { targetKey: "m-a" }),
    ],
    present: [range],
  },
  {
    name: "gives a range to the first of two Nodes if no route exists",
    desired: [a, b],
    observed: [],
    create: [range],
    refused: ["b PodCIDRTaken"],
  },
  {
    name: "gives a range to the Node that already has its route",
    desired: [a, b],
    observed: [there("1", range, { targetKey: "m-b" })],
    present: [range],
    refused: ["a PodCIDRTaken"],
  },
  {
    name: "rejects a range with a foreign route elsewhere",
    desired: [a],
    observed: [there("1", range, { ownership: "foreign", targetKey: "m-x" })],
    refused: ["a RouteTaken"],
  },
  {
    name: "rejects a range with a route to an exempt Node",
    desired: [a],
    observed: [there("1", range, { targetKey: "m-paused" })],
    exempt: { keys: new Set(["m-paused"]) },
    refused: ["a RouteTaken"],
  },
  {
    name: "keeps a route to an exempt Node's address",
    observed: [there("1", range, { targetAddress: ipAddress("10.0.0.7") })],
    exempt: { addresses: new Set(["10.0.0.7"]) },
  },
  {
    name: "keeps a route for an exempt Node's range",
    observed: [there("1", range, { targetKey: "m-x" })],
    exempt: { destinations: new Set<Cidr>([cidr(range)]) },
  },
];

describe("planRoutes", () => {
  test.each(cases)("$name", (each) => {
    const plan = planRoutes({
      desired: each.desired ?? [],
      observed: each.observed,
      exempt: { ...none, ...each.exempt },
      clusterCIDRs: [cidr("10.244.0.0/16")],
    });
    const ranges = (routes: readonly DesiredRoute[]) =>
      routes.map(({ destination }) => destination as string);
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

test("matchTarget returns unknown rather than a difference when the Node's machine is unknown", () => {
  const { machine: _, ...unknown } = target("a");
  expect(matchTarget(unknown, there("1", range, { targetKey: "m-a" }))).toBe("unknown");
});
