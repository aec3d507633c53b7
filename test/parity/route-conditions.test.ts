// Rows of upstream's controllers/route/route_controller_test.go. Its EnableNodeAddresses is here a cloud that reports
// the target address of a route; routes without any target lead nowhere.

import { afterEach, describe, expect, test } from "bun:test";
import { exactly, type RouteSettings } from "../../src/controllers/route/deps.ts";
import { milliseconds, minutes, seconds } from "../../src/core/brand.ts";
import type { Condition } from "../../src/kube/objects.ts";
import { type RouteSetup, RouteWorld } from "../controllers/route/route-world.ts";
import { refusal } from "../controllers/route/scripted-routes.ts";

let world: RouteWorld | undefined;
afterEach(() => world?.stop());
const setUp = (setup: RouteSetup = {}): RouteWorld => {
  world = new RouteWorld({
    clusterCIDRs: ["10.120.0.0/16", "ace:cab:deca::/8"],
    ...setup,
    script: { ownership: "unmarked", ...setup.script },
  });
  return world;
};

describe("TestHandleNodeUpdate", () => {
  const quiet = { fullCheck: exactly(minutes(24 * 60)) };
  const convergedWith = async (settings: NonNullable<RouteSetup["settings"]>): Promise<RouteWorld> => {
    const w = setUp({ settings }).add("node-1", ["10.120.0.0/24"], { address: "10.0.1.1" });
    return w.settle();
  };
  const reconcilesAfter = async (w: RouteWorld, change: () => void): Promise<number> => {
    const before = w.syncs.length;
    change();
    await w.pass(9);
    return w.syncs.length - before;
  };

  test("TestHandleNodeUpdate 1: another InternalIP triggers a reconcile [F59 F61]", async () => {
    const w = await convergedWith(quiet);
    const change = () =>
      w.nodes.change("node-1", (node) => ({
        ...node,
        status: { ...node.status, addresses: [{ type: "InternalIP", address: "10.0.1.2" }] },
      }));
    expect(await reconcilesAfter(w, change)).toBe(1);
    expect(w.syncs.at(-1)?.isPeriodic).toBe(false);
    expect(w.cloud.shown()).toEqual(["10.120.0.0/24 -> node-1 10.0.1.2"]);
  });

  test("TestHandleNodeUpdate 2: another pod range triggers a reconcile [F59]", async () => {
    const w = await convergedWith(quiet);
    const change = () =>
      w.nodes.change("node-1", (node) => ({
        ...node,
        spec: { ...node.spec, podCIDR: "10.120.7.0/24", podCIDRs: ["10.120.7.0/24"] },
      }));
    expect(await reconcilesAfter(w, change)).toBe(1);
    expect(w.syncs.at(-1)?.isPeriodic).toBe(false);
    expect(w.cloud.shown()).toEqual(["10.120.7.0/24 -> node-1 10.0.1.1"]);
  });

  // Upstream's informer repeats equal objects from time to time and each one triggers a reconcile, which is its only
  // full check. Fairlead has a full check with a fixed period.
  test("TestHandleNodeUpdate 3 (upstream): routes are reconciled periodically without any change", async () => {
    const w = await convergedWith({ fullCheck: exactly(seconds(10)) });
    expect(await reconcilesAfter(w, () => undefined)).toBe(1);
    expect(w.syncs.at(-1)?.isPeriodic).toBe(true);
  });

  test("TestHandleNodeUpdate 3 (Fairlead): an identical object triggers no reconcile [F59]", async () => {
    const w = await convergedWith(quiet);
    expect(await reconcilesAfter(w, () => w.nodes.change("node-1", (node) => node))).toBe(0);
  });

  test("TestHandleNodeUpdate 4: a change of only the status triggers no reconcile [F59]", async () => {
    const w = await convergedWith(quiet);
    expect(await reconcilesAfter(w, () => w.nodes.setReady("node-1", "True"))).toBe(0);
  });
});

const conditionOf = (status: string, reason: string): Condition => ({
  type: "NetworkUnavailable",
  status,
  reason,
});
const succeeded = { status: "False", reason: "RouteCreated", message: "RouteController created a route" };
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
    typeof succeeded | undefined,
  ])[] = [
    ["1: sets RouteCreated without a condition", undefined, true, succeeded],
    ["2: sets NoRouteCreated without a condition", undefined, false, failed],
    ["3: keeps RouteCreated when it is set", conditionOf("False", "RouteCreated"), true, undefined],
    ["4: replaces CalicoIsUp when the route exists", conditionOf("False", "CalicoIsUp"), true, succeeded],
    ["5: replaces ExternalCNI when the route exists", conditionOf("False", "ExternalCNI"), true, succeeded],
    [
      "6: replaces another True reason when the route fails",
      conditionOf("True", "SomeOtherReason"),
      false,
      failed,
    ],
    ["7: replaces RouteCreated when the route fails", conditionOf("False", "RouteCreated"), false, failed],
    ["8: keeps NoRouteCreated when it is set", conditionOf("True", "NoRouteCreated"), false, undefined],
  ];

  const run = async (
    present: Condition | undefined,
    hasRoute: boolean,
    settings: Partial<RouteSettings> = {},
  ): Promise<RouteWorld> => {
    const w = setUp({ settings }).add("test-node", "10.120.0.0/24", {
      ...(present !== undefined && { conditions: [present] }),
    });
    if (!hasRoute) w.cloud.failures.set("10.120.0.0/24", refusal("quota", "no more"));
    await w.start().pass(1);
    return w;
  };

  test.each(conditionRows)("TestUpdateNetworkingCondition %s", async (_, present, hasRoute, expected) => {
    const w = await run(present, hasRoute, { confirmAfter: milliseconds(0) });
    expect(w.nodes.sent).toEqual(expected === undefined ? [] : ["PATCH /api/v1/nodes/test-node/status"]);
    if (expected === undefined) return;
    const stamp = expect.stringMatching(/^2026-01-01T00:00:0\dZ$/);
    expect(w.conditionOf("test-node")).toMatchObject({ ...expected, lastTransitionTime: stamp });
  });

  test("TestUpdateNetworkingCondition 7 by default: keeps RouteCreated until the absence of the route is proved", async () => {
    const w = await run(conditionOf("False", "RouteCreated"), false);
    expect(w.nodes.sent).toEqual([]);
    await w.pass(32);
    expect(w.conditionOf("test-node")).toMatchObject(failed);
  });

  test("TestUpdateNetworkingConditionWithCalicoScenario: a condition of Calico is replaced", async () => {
    const w = await run(conditionOf("False", "CalicoIsUp"), true);
    expect(w.conditionOf("test-node")).toMatchObject(succeeded);
  });
});

describe("route behavior that upstream does not test", () => {
  test("a Node that lost its pod range loses its route and keeps its condition", async () => {
    const w = setUp().add("node-1", ["10.120.0.0/24"]);
    await w.settle();
    const before = w.nodes.sent.length;
    w.nodes.change("node-1", ({ spec: { providerID = "" }, ...node }) => ({ ...node, spec: { providerID } }));
    await w.pass(6);
    expect(w.cloud.table).toEqual([]);
    // Upstream sets the condition to True here, so a stray route could take a Node out of service.
    expect(w.nodes.sent).toHaveLength(before);
  });

  test("a blackhole route to a known target is replaced", async () => {
    const w = setUp().add("node-1", ["10.120.0.0/24"]);
    w.cloud.put("10.120.0.0/24", { targetKey: "node-1", leadsNowhere: true });
    await w.settle();
    expect(w.cloud.shown()).toEqual(["10.120.0.0/24 -> node-1 10.0.0.1"]);
  });

  // Upstream retries a failed route only when a Node changes or its informer repeats all Nodes.
  test("failed routes are retried without any event", async () => {
    const w = setUp().add("node-1", ["10.120.0.0/24"]);
    w.cloud.put("10.120.9.0/24", { targetKey: "gone" });
    w.cloud.failures.set("*", refusal("unavailable", "500"));
    await w.settle();
    expect(w.network("node-1")).toBe("True NoRouteCreated");
    w.cloud.failures.clear();
    await w.pass(120);
    expect(w.cloud.shown()).toEqual(["10.120.0.0/24 -> node-1 10.0.0.1"]);
    expect(w.network("node-1")).toBe("False RouteCreated");
  });
});
