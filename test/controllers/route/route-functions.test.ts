import { describe, expect, test } from "bun:test";
import type { Inventory } from "../../../src/cloud/inventory/instances.ts";
import type { NodeIdentity } from "../../../src/cloud/inventory/node-identity.ts";
import { OpenChanges, type RouteChange } from "../../../src/controllers/route/apply/open-changes.ts";
import { exactly, routeDefaults } from "../../../src/controllers/route/deps.ts";
import { readClusterCIDRs } from "../../../src/controllers/route/desired/cluster-cidrs.ts";
import { planDesiredRoutes } from "../../../src/controllers/route/desired/plan-desired.ts";
import { TableHistory } from "../../../src/controllers/route/history.ts";
import { listTable } from "../../../src/controllers/route/observe/table-listing.ts";
import { tableNearLimit } from "../../../src/controllers/route/texts.ts";
import { isRelevantForRoutes, nextFullCheck } from "../../../src/controllers/route/triggers/schedule.ts";
import { pausedAnnotation } from "../../../src/controllers/well-known.ts";
import { milliseconds, minutes, nodeName, providerID, seconds } from "../../../src/core/brand.ts";
import { cidr } from "../../../src/core/cidr.ts";
import { goDuration } from "../../../src/core/duration.ts";
import type { Node } from "../../../src/kube/objects.ts";
import { seededRandom } from "../../../src/platform/random.ts";
import { VirtualClock } from "../../../src/testing/virtual-time/virtual-clock.ts";
import { type NodeDraft, toNode } from "../../support/api-server-nodes.ts";
import { openChanges } from "./scripted-routes.ts";

describe("--cluster-cidr", () => {
  test.each([
    ["10.244.0.0/16", ["10.244.0.0/16"]],
    ["10.244.0.0/16,fd00:10:244::/48", ["10.244.0.0/16", "fd00:10:244::/48"]],
    [" fd00:10:244::/48 , 10.244.0.0/16,", ["fd00:10:244::/48", "10.244.0.0/16"]],
    ["10.244.7.1/16", ["10.244.0.0/16"]],
  ])("accepts the cluster CIDRs %p", (text, expected) => {
    expect(readClusterCIDRs(text)).toMatchObject({ kind: "run", cidrs: expected });
  });

  test.each([
    [undefined, "--cluster-cidr is not set"],
    ["", "--cluster-cidr is not set"],
    ["10.244.0.0", 'contains "10.244.0.0", which is not an address range'],
    ["10.244.0.0/16,10.245.0.0/16", "more than one IPv4 range"],
    ["10.244.0.0/16,fd00::/48,fd01::/48", "more than one IPv6 range"],
  ])("disables routes with a warning for %p", (text, expected) => {
    const read = readClusterCIDRs(text);
    if (read.kind !== "skip") throw new Error("It was to be skipped.");
    expect(read.problem).toMatchObject({ severity: "warning", key: "--cluster-cidr" });
    expect(read.problem.text).toContain(expected);
    expect(read.problem.text).toContain("--configure-cloud-routes=false");
  });
});

describe("isRelevantForRoutes", () => {
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
    ["accepts a new Node with a range", undefined, node(), true],
    ["ignores a new Node without a range", undefined, bare, false],
    ["accepts the deletion of a Node with a range", node(), undefined, true],
    ["ignores the deletion of a Node without a range", bare, undefined, false],
    ["accepts a Node's first range", bare, node(), true],
    ["accepts a new Node with the same name", node(), node({ uid: "other" }), true],
    ["accepts a Node's new provider id", node({ spec: { podCIDRs: ["10.244.1.0/24"] } }), node(), true],
    ["accepts a pause", node(), node({ annotations: { [pausedAnnotation]: "true" } }), true],
    ["ignores another annotation", node(), node({ annotations: { a: "b" } }), false],
    [
      "accepts a different address",
      node(),
      changed({ addresses: [{ type: "InternalIP", address: "10.0.0.2" }] }),
      true,
    ],
    [
      "accepts another kind of the same address",
      node(),
      changed({ addresses: [{ type: "ExternalIP", address: "10.0.0.1" }] }),
      true,
    ],
    [
      "ignores an additional host name",
      node(),
      changed({
        addresses: [
          { type: "Hostname", address: "n1" },
          { type: "InternalIP", address: "10.0.0.1" },
        ],
      }),
      false,
    ],
    ["accepts NetworkUnavailable set by another writer", node(), changed(network("True")), true],
    [
      "ignores a repeated NetworkUnavailable",
      changed(network("True")),
      changed(network("True", "NotMine")),
      false,
    ],
    ["ignores a network that becomes available", changed(network("True")), changed(network("False")), false],
    [
      "ignores a different spelling of the range",
      node(),
      node({ spec: { providerID: "fake://1", podCIDRs: ["10.244.1.9/24"] } }),
      false,
    ],
  ])("%s", (_, before, after, expected) => {
    expect(isRelevantForRoutes(before, after, () => true)).toBe(expected);
  });
});

describe("planDesiredRoutes", () => {
  const inventoryWith = (kind: "exists" | "unknown" | "foreign"): Inventory => {
    const key = (id: string): string => id.replace("fake://", "key-");
    const check = ({ providerID: id }: NodeIdentity) => ({
      kind,
      source: "cloud",
      instance: { key: key(id ?? "") },
    });
    return { check, sources: [{ keyOf: key }], unreadableMachineOf: () => undefined } as never;
  };
  const plan = (drafts: readonly NodeDraft[], kind: "exists" | "unknown" | "foreign" = "exists") =>
    planDesiredRoutes(
      drafts.map(({ spec, ...draft }) =>
        toNode({ ...draft, spec: { ...spec, providerID: providerID(`fake://${draft.name}`) } }),
      ),
      {
        inventory: inventoryWith(kind),
        isSelected: () => true,
        clusterCIDRs: [cidr("10.244.0.0/16"), cidr("fd00::/48")],
        tables: [{ name: undefined, serves: () => true, families: ["IPv4"] }],
        table: undefined,
      },
    );
  const spec = { podCIDRs: ["10.244.1.0/24", "10.9.0.0/24", "nonsense", "fd00::/64", "10.244.1.3/24"] };

  test("plans only possible routes, and reports impossible routes on their Nodes or once for all Nodes", () => {
    const { routes, nodeProblems, problems, exempt } = plan([{ name: "n1", spec }]);
    expect(routes.map(({ destination }) => destination)).toEqual([cidr("10.244.1.0/24")]);
    expect(nodeProblems.get("n1")?.map(({ reason }) => reason)).toEqual([
      "PodCIDROutsideCluster",
      "InvalidPodCIDR",
    ]);
    expect(problems.map(({ reason }) => reason)).toEqual(["RouteFamilyUnsupported"]);
    expect(exempt.keys.size).toBe(0);
  });

  test.each(["unknown", "foreign"] as const)(
    "keeps the routes of a Node whose machine is %s unchanged",
    (kind) => {
      const { routes, exempt, waiting } = plan([{ name: "n1", spec }], kind);
      expect(routes).toEqual([]);
      expect([...exempt.keys]).toEqual(["key-n1"]);
      expect(exempt.destinations.has(cidr("10.244.1.0/24"))).toBe(true);
      expect(waiting).toHaveLength(kind === "unknown" ? 1 : 0);
    },
  );

  test("describes a target by its addresses and its internal addresses", () => {
    const addresses = [
      { type: "ExternalIP", address: "203.0.113.1" },
      { type: "InternalIP", address: "fd00::1" },
      { type: "InternalIP", address: "10.0.0.1" },
    ];
    const { routes } = plan([{ name: "n1", spec, status: { addresses } }]);
    expect(routes[0]?.target).toMatchObject({
      addresses: ["203.0.113.1", "fd00::1", "10.0.0.1"],
      internalIPs: ["fd00::1", "10.0.0.1"],
    });
  });

  test("prefers older Nodes in any order of the store", () => {
    const at = (name: string, createdAt: number) => ({
      name,
      createdAt,
      spec: { podCIDRs: ["10.244.1.0/24"] },
    });
    const { routes } = plan([at("c", 2000), at("b", 1000), at("a", 1000)]);
    expect(routes.map(({ target }) => target.node as string)).toEqual(["a", "b", "c"]);
  });
});

describe("OpenChanges", () => {
  test("open changes track each route separately, reset when the request changes, and forget routes that are not requested", async () => {
    const clock = new VirtualClock();
    const open = openChanges(clock);
    const toUid = (range: string, uid: string): RouteChange => ({
      do: "create",
      route: {
        destination: cidr(range),
        target: { node: nodeName("n1"), uid, addresses: [], internalIPs: [] },
      },
    });
    const [a, b] = [toUid("10.244.1.0/24", "x"), toUid("10.244.2.0/24", "x")];
    const aElsewhere = toUid("10.244.1.0/24", "y");
    open.failed(a, seconds(10));
    open.wait(b, seconds(5));
    expect([open.of(a), open.of(b), open.of(aElsewhere)]).toEqual(["held", "waiting", undefined]);
    expect(open.nextAfter(clock.monotonic())).toBe(5000);
    await clock.advance(seconds(10));
    expect([open.of(a), open.failuresOf(a), open.failuresOf(aElsewhere)]).toEqual([undefined, 1, 0]);
    // Both backoffs have ended: a change that was still not attempted waits for something else.
    expect(open.nextAfter(clock.monotonic())).toBeUndefined();
    // A sync that began earlier may have found the changes too early.
    expect(open.nextAfter(7000)).toBe(10_000);
    open.failed(a, seconds(10));
    expect(open.failuresOf(a)).toBe(2);
    open.keepOnly([]);
    expect(open.nextAfter(clock.monotonic())).toBeUndefined();
  });

  test("OpenChanges returns lost operations after completed operations, so that the loss of a range is kept", async () => {
    const clock = new VirtualClock();
    const pending = { limit: 10, check: async () => new Map([["second", { done: true } as const]]) };
    const open = new OpenChanges(
      { pending, clock, random: seededRandom(1), note: () => undefined, history: new TableHistory() },
      () => undefined,
    );
    open.start(new AbortController().signal);
    const toNode = (name: string): RouteChange => ({
      do: "create",
      route: {
        destination: cidr("10.244.1.0/24"),
        target: { node: nodeName(name), uid: name, addresses: [], internalIPs: [] },
      },
    });
    for (const [node, operation] of [
      ["n1", "first"],
      ["n2", "second"],
    ] as const)
      open.accepted(toNode(node), { kind: "pending", operation, checkAfter: seconds(1) });
    await clock.advance(seconds(5));
    expect(open.takeEnded().map(({ outcome: { kind } }) => kind)).toEqual(["done", "lost"]);
  });
});

test("a listing of routes that ignores the signal ends when it is aborted", async () => {
  const controller = new AbortController();
  const table = {
    list: () => ({ [Symbol.asyncIterator]: () => ({ next: () => new Promise<never>(() => undefined) }) }),
  };
  const clock = new VirtualClock();
  let ended: unknown;
  listTable(table, clock, { signal: controller.signal, urgency: "refresh" }).catch((error: unknown) => {
    ended = error;
  });
  controller.abort(new Error("the command ends"));
  await clock.advance(seconds(1));
  expect(String(ended)).toContain("the command ends");
});

test.each([
  [79, 100, 0],
  [80, 100, 1],
  [130, 100, 1],
  [1_000_000, undefined, 0],
])("describeFill warns from four fifths on: %p routes of %p", (routes, limit, expected) => {
  expect(tableNearLimit(routes, limit, undefined)).toHaveLength(expected);
});

test.each([
  [0, "0s"],
  [200, "200ms"],
  [1500, "1.5s"],
  [62_500, "1m2.5s"],
  [3_600_000, "1h0m0s"],
])("asGoPrints formats %p ms as Go does", (duration, expected) => {
  expect(goDuration(milliseconds(duration))).toBe(expected);
});

test("the full check has jitter around twelve hours, and is exact when configured", () => {
  const { fullCheck } = routeDefaults;
  const hours = [0, 0.5, 1].map((fraction) => nextFullCheck(fullCheck, fraction) / minutes(60));
  expect(hours.map((each) => Math.round(each * 10) / 10)).toEqual([9.6, 12, 14.4]);
  expect(nextFullCheck(exactly(seconds(10)), 0.99)).toBe(seconds(10));
});
