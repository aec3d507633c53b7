// Upstream's controllers/route/route_controller_test.go, row by row. What its test double calls EnableNodeAddresses is
// here a cloud that knows the address a route leads to; routes without any are routes that lead nowhere.

import { afterEach, describe, expect, test } from "bun:test";
import { exactly } from "../../src/controllers/route/settings.ts";
import { minutes, seconds } from "../../src/core/brand.ts";
import type { Condition } from "../../src/kube/objects.ts";
import { type RouteSetup, RouteWorld } from "../controllers/route/route-world.ts";
import { refusal } from "../controllers/route/scripted-routes.ts";

let world: RouteWorld | undefined;
afterEach(() => world?.stop());
const setUp = (setup: RouteSetup = {}): RouteWorld => {
  world = new RouteWorld({
    clusterCIDRs: ["10.120.0.0/16", "ace:cab:deca::/8"],
    ...setup,
    script: {
      knows: ({ node, addresses: [address] }) => ({
        targetName: node,
        ...(address !== undefined && { targetAddress: address }),
      }),
      ownership: "unmarked",
      ...setup.script,
    },
  });
  return world;
};

describe("TestHandleNodeUpdate", () => {
  const quiet = { fullCheck: exactly(minutes(24 * 60)) };
  const settledWith = async (settings: NonNullable<RouteSetup["settings"]>): Promise<RouteWorld> => {
    const w = setUp({ settings }).add("node-1", ["10.120.0.0/24"], { address: "10.0.1.1" });
    return w.settle();
  };
  const looksAfter = async (w: RouteWorld, change: () => void): Promise<number> => {
    const before = w.syncs.length;
    change();
    await w.pass(9);
    return w.syncs.length - before;
  };

  test("TestHandleNodeUpdate 1: another InternalIP brings a look [F59 F61]", async () => {
    const w = await settledWith(quiet);
    const change = () =>
      w.nodes.change("node-1", (node) => ({
        ...node,
        status: { ...node.status, addresses: [{ type: "InternalIP", address: "10.0.1.2" }] },
      }));
    expect(await looksAfter(w, change)).toBe(1);
    expect(w.cloud.shown()).toEqual(["10.120.0.0/24 -> node-1 10.0.1.2"]);
  });

  test("TestHandleNodeUpdate 2: another range brings a look [F59]", async () => {
    const w = await settledWith(quiet);
    const change = () =>
      w.nodes.change("node-1", (node) => ({
        ...node,
        spec: { ...node.spec, podCIDR: "10.120.7.0/24", podCIDRs: ["10.120.7.0/24"] },
      }));
    expect(await looksAfter(w, change)).toBe(1);
    expect(w.cloud.shown()).toEqual(["10.120.7.0/24 -> node-1 10.0.1.1"]);
  });

  // Upstream's informer tells of equal objects from time to time, and each of them is a look: its only full check. Ours
  // has a full check of its own, with a period that is kept.
  test("TestHandleNodeUpdate 3, upstream's way: without any change there is a look from time to time", async () => {
    const w = await settledWith({ fullCheck: exactly(seconds(10)) });
    expect(await looksAfter(w, () => undefined)).toBe(1);
  });

  test("TestHandleNodeUpdate 3, ours: an identical object brings no look [F59]", async () => {
    const w = await settledWith(quiet);
    expect(await looksAfter(w, () => w.nodes.change("node-1", (node) => node))).toBe(0);
  });

  test("TestHandleNodeUpdate 4: a change of nothing but the status brings no look [F59]", async () => {
    const w = await settledWith(quiet);
    expect(await looksAfter(w, () => w.nodes.setReady("node-1", "True"))).toBe(0);
  });
});

const conditionOf = (status: string, reason: string): Condition => ({
  type: "NetworkUnavailable",
  status,
  reason,
});
const madeIt = { status: "False", reason: "RouteCreated", message: "RouteController created a route" };
const failed = {
  status: "True",
  reason: "NoRouteCreated",
  message: "RouteController failed to create a route",
};

describe("TestUpdateNetworkingCondition", () => {
  const conditionRows: readonly (readonly [
    string,
    Condition | undefined,
    boolean,
    typeof madeIt | undefined,
  ])[] = [
    ["1", undefined, true, madeIt],
    ["2", undefined, false, failed],
    ["3", conditionOf("False", "RouteCreated"), true, undefined],
    ["4", conditionOf("False", "CalicoIsUp"), true, madeIt],
    ["5", conditionOf("False", "ExternalCNI"), true, madeIt],
    ["6", conditionOf("True", "SomeOtherReason"), false, failed],
    ["7", conditionOf("False", "RouteCreated"), false, failed],
    ["8", conditionOf("True", "NoRouteCreated"), false, undefined],
  ];

  const run = async (present: Condition | undefined, hasRoute: boolean): Promise<RouteWorld> => {
    const w = setUp().add("test-node", "10.120.0.0/24", {
      ...(present !== undefined && { conditions: [present] }),
    });
    if (!hasRoute) w.cloud.failures.set("10.120.0.0/24", refusal("quota", "no more"));
    await w.start().pass(1);
    return w;
  };

  test.each(conditionRows)("TestUpdateNetworkingCondition %s", async (_, present, hasRoute, expected) => {
    const w = await run(present, hasRoute);
    expect(w.nodes.sent).toEqual(expected === undefined ? [] : ["PATCH /api/v1/nodes/test-node/status"]);
    if (expected === undefined) return;
    const stamp = expect.stringMatching(/^2026-01-01T00:00:0\dZ$/);
    expect(w.conditionOf("test-node")).toMatchObject({ ...expected, lastTransitionTime: stamp });
  });

  test("TestUpdateNetworkingConditionWithCalicoScenario: a foreign reason is replaced", async () => {
    const w = await run(conditionOf("False", "CalicoIsUp"), true);
    expect(w.conditionOf("test-node")).toMatchObject(madeIt);
  });
});

describe("what no test of upstream pins (9.15, 4)", () => {
  test("a node that lost its range loses its route, and its condition is left alone", async () => {
    const w = setUp().add("node-1", ["10.120.0.0/24"]);
    await w.settle();
    const before = w.nodes.sent.length;
    w.nodes.change("node-1", ({ spec: { providerID = "" }, ...node }) => ({ ...node, spec: { providerID } }));
    await w.pass(6);
    expect(w.cloud.table).toEqual([]);
    // Upstream sets it to True here: a stray route could take a node out of service (10.5, 13).
    expect(w.nodes.sent).toHaveLength(before);
  });

  test("a blackhole whose target is known is replaced", async () => {
    const w = setUp().add("node-1", ["10.120.0.0/24"]);
    w.cloud.put("10.120.0.0/24", { targetName: "node-1", leadsNowhere: true });
    await w.settle();
    expect(w.cloud.shown()).toEqual(["10.120.0.0/24 -> node-1 10.0.0.1"]);
  });

  // Upstream forgets what failed until a node changes or its informer tells of everything again (10.5, 1).
  test("what failed is tried again without any event", async () => {
    const w = setUp().add("node-1", ["10.120.0.0/24"]);
    w.cloud.put("10.120.9.0/24", { targetName: "gone" });
    w.cloud.failures.set("*", refusal("unavailable", "500"));
    await w.settle();
    expect(w.network("node-1")).toBe("True NoRouteCreated");
    w.cloud.failures.clear();
    await w.pass(120);
    expect(w.cloud.shown()).toEqual(["10.120.0.0/24 -> node-1 10.0.0.1"]);
    expect(w.network("node-1")).toBe("False RouteCreated");
  });
});
