import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { readClusterCIDRs } from "../../../src/controllers/route/desired/cluster-cidrs.ts";
import { overlaps } from "../../../src/controllers/route/desired/overlaps.ts";
import { planWanted } from "../../../src/controllers/route/desired/plan-desired.ts";
import { isRelevantForRoutes } from "../../../src/controllers/route/queue/relevant-change.ts";
import { RouteBackoffs } from "../../../src/controllers/route/reconcile/backoffs.ts";
import { exactly, nextFullCheck, routeDefaults } from "../../../src/controllers/route/settings.ts";
import { asGoPrints } from "../../../src/controllers/route/status/describe-failure.ts";
import { describeFill } from "../../../src/controllers/route/status/describe-fill.ts";
import { pausedAnnotation } from "../../../src/controllers/well-known.ts";
import { milliseconds, minutes, seconds } from "../../../src/core/brand.ts";
import { cidr, cidrsOverlap } from "../../../src/core/cidr.ts";
import type { Node } from "../../../src/kube/objects.ts";
import { VirtualClock } from "../../../src/testing/virtual-time/virtual-clock.ts";
import { type NodeDraft, toNode } from "../../support/api-server-nodes.ts";

describe("--cluster-cidr", () => {
  test.each([
    ["10.244.0.0/16", ["10.244.0.0/16"]],
    ["10.244.0.0/16,fd00:10:244::/48", ["10.244.0.0/16", "fd00:10:244::/48"]],
    [" fd00:10:244::/48 , 10.244.0.0/16,", ["fd00:10:244::/48", "10.244.0.0/16"]],
    ["10.244.7.1/16", ["10.244.0.0/16"]],
  ])("%p is read", (text, expected) => {
    expect(readClusterCIDRs(text)).toMatchObject({ kind: "run", cidrs: expected });
  });

  test.each([
    [undefined, "it is not set"],
    ["", "it is not set"],
    ["10.244.0.0", '"10.244.0.0" is no address range'],
    ["10.244.0.0/16,10.245.0.0/16", "more than one IPv4 range"],
    ["10.244.0.0/16,fd00::/48,fd01::/48", "more than one IPv6 range"],
  ])("%p switches routes off with a warning", (text, expected) => {
    const read = readClusterCIDRs(text);
    if (read.kind !== "skip") throw new Error("It was to be skipped.");
    expect(read.problem).toMatchObject({ severity: "warning", key: "--cluster-cidr" });
    expect(read.problem.text).toContain(expected);
    expect(read.problem.text).toContain("--configure-cloud-routes=false");
  });
});

describe("which changes concern routes", () => {
  const node = (draft: Omit<NodeDraft, "name"> = {}): Node =>
    toNode({
      name: "n1",
      spec: { providerID: "fake://1", podCIDRs: ["10.244.1.0/24"] },
      status: { addresses: [{ type: "InternalIP", address: "10.0.0.1" }] },
      ...draft,
    });
  const bare = toNode({ name: "n1" });
  const addresses = [{ type: "InternalIP", address: "10.0.0.1" }];
  const changed = (status: Node["status"]): Node => node({ status: { addresses, ...status } });
  const network = (status: string, reason = "NoRouteCreated"): Node["status"] => ({
    conditions: [{ type: "NetworkUnavailable", status, reason }],
  });
  test.each<[string, Node | undefined, Node | undefined, boolean]>([
    ["a node with a range", undefined, node(), true],
    ["a node without a range", undefined, bare, false],
    ["a node with a range goes", node(), undefined, true],
    ["a node without a range goes", bare, undefined, false],
    ["its range comes", bare, node(), true],
    ["another node of the name", node(), node({ uid: "other" }), true],
    ["its provider id comes", node({ spec: { podCIDRs: ["10.244.1.0/24"] } }), node(), true],
    ["it is paused", node(), node({ annotations: { [pausedAnnotation]: "true" } }), true],
    ["another annotation", node(), node({ annotations: { a: "b" } }), false],
    ["another address", node(), changed({ addresses: [{ type: "InternalIP", address: "10.0.0.2" }] }), true],
    [
      "a host name more",
      node(),
      changed({
        addresses: [
          { type: "Hostname", address: "n1" },
          { type: "InternalIP", address: "10.0.0.1" },
        ],
      }),
      false,
    ],
    ["somebody says that it has no network", node(), changed(network("True")), true],
    ["that is said once more", changed(network("True")), changed(network("True", "NotMine")), false],
    ["it has its network", changed(network("True")), changed(network("False")), false],
    [
      "another spelling of the range",
      node(),
      node({ spec: { providerID: "fake://1", podCIDRs: ["10.244.1.9/24"] } }),
      false,
    ],
  ])("%s", (_, before, after, expected) => {
    expect(isRelevantForRoutes(before, after)).toBe(expected);
  });
});

describe("planWanted", () => {
  const plan = (drafts: readonly NodeDraft[], kind: "found" | "unknown" | "foreign" = "found") =>
    planWanted({
      nodes: drafts.map((draft) => toNode(draft)),
      machineOf: ({ metadata }) =>
        kind === "found" ? { kind, machine: { source: "cloud", key: metadata.name } } : { kind },
      isSelected: () => true,
      keysOf: ({ metadata }) => [`key-${metadata.name}`],
      clusterCIDRs: [cidr("10.244.0.0/16"), cidr("fd00::/48")],
      families: ["IPv4"],
    });
  const spec = { podCIDRs: ["10.244.1.0/24", "10.9.0.0/24", "nonsense", "fd00::/64", "10.244.1.3/24"] };

  test("only what can be made is asked for, and the rest is said where it belongs", () => {
    const { routes, nodeProblems, problems, spared } = plan([{ name: "n1", spec }]);
    expect(routes.map(({ destination }) => destination)).toEqual([cidr("10.244.1.0/24")]);
    expect(nodeProblems.get("n1")?.map(({ reason }) => reason)).toEqual([
      "PodCIDROutsideCluster",
      "InvalidPodCIDR",
    ]);
    expect(problems.map(({ reason }) => reason)).toEqual(["RouteFamilyUnsupported"]);
    expect(spared.names.size).toBe(0);
  });

  test.each(["unknown", "foreign"] as const)("a node whose machine is %s is left alone", (kind) => {
    const { routes, spared, waiting } = plan([{ name: "n1", spec }], kind);
    expect(routes).toEqual([]);
    expect([...spared.keys, ...spared.names]).toEqual(["key-n1", "n1"]);
    expect(spared.destinations.has(cidr("10.244.1.0/24"))).toBe(true);
    expect(waiting).toHaveLength(kind === "unknown" ? 1 : 0);
  });

  test("older nodes come first, whatever the order of the store", () => {
    const at = (name: string, createdAt: number) => ({
      name,
      createdAt,
      spec: { podCIDRs: ["10.244.1.0/24"] },
    });
    const { routes } = plan([at("c", 2000), at("b", 1000), at("a", 1000)]);
    expect(routes.map(({ target }) => target.node as string)).toEqual(["a", "b", "c"]);
  });
});

test("overlaps finds exactly the ranges that overlap", () => {
  const range = fc
    .tuple(fc.integer({ min: 0, max: 15 }), fc.integer({ min: 20, max: 32 }), fc.boolean())
    .map(([part, bits, isIPv4]) =>
      cidr(isIPv4 ? `10.0.${part}.${part}/${bits}` : `fd00::${part}:0/${bits + 80}`),
    );
  fc.assert(
    fc.property(fc.array(range), fc.array(range), (ranges, others) => {
      const found = overlaps(ranges, others);
      for (const each of ranges) {
        const expected = others.filter((other) => cidrsOverlap(each, other));
        expect(new Set(found.get(each) ?? [])).toEqual(new Set(expected));
      }
    }),
  );
});

describe("rests", () => {
  test("each by itself; another question rests no more, and what is not asked for is forgotten", async () => {
    const clock = new VirtualClock();
    const backoffs = new RouteBackoffs(clock);
    backoffs.failed("a", "x", seconds(10));
    backoffs.wait("b", "x", seconds(5));
    expect([backoffs.of("a", "x"), backoffs.of("b", "x"), backoffs.of("a", "y")]).toEqual([
      "failed",
      "waiting",
      undefined,
    ]);
    expect(backoffs.next).toBe(5000);
    await clock.advance(seconds(10));
    expect([backoffs.of("a", "x"), backoffs.failuresOf("a", "x"), backoffs.failuresOf("a", "y")]).toEqual([
      undefined,
      1,
      0,
    ]);
    // Both have ended: whoever was not tried all the same waits for something else.
    expect(backoffs.next).toBeUndefined();
    backoffs.failed("a", "x", seconds(10));
    expect(backoffs.failuresOf("a", "x")).toBe(2);
    backoffs.keepOnly(new Set());
    expect(backoffs.next).toBeUndefined();
  });
});

test.each([
  [79, 100, 0],
  [80, 100, 1],
  [130, 100, 1],
  [1_000_000, undefined, 0],
])("%p routes of %p", (routes, limit, expected) => {
  expect(describeFill({ routes, ...(limit !== undefined && { limit }) }, 0.8)).toHaveLength(expected);
});

test.each([
  [0, "0s"],
  [200, "200ms"],
  [1500, "1.5s"],
  [62_500, "1m2.5s"],
  [3_600_000, "1h0m0s"],
])("%p ms is printed as Go prints it", (duration, expected) => {
  expect(asGoPrints(milliseconds(duration))).toBe(expected);
});

test("the full check is jittered around twelve hours, and exact when it is given", () => {
  const { fullCheck } = routeDefaults;
  const hours = [0, 0.5, 1].map((fraction) => nextFullCheck(fullCheck, fraction) / minutes(60));
  expect(hours.map((each) => Math.round(each * 10) / 10)).toEqual([9.6, 12, 14.4]);
  expect(nextFullCheck(exactly(seconds(10)), 0.99)).toBe(seconds(10));
});
