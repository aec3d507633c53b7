import { afterEach, describe, expect, test } from "bun:test";
import { exactly } from "../../../src/controllers/route/deps.ts";
import { minutes, seconds } from "../../../src/core/brand.ts";
import { ipAddress } from "../../../src/core/ip.ts";
import { machine } from "../../support/scripted-source.ts";
import { type RouteSetup, RouteWorld } from "./route-world.ts";
import { refusal } from "./scripted-routes.ts";

let world: RouteWorld | undefined;
afterEach(() => world?.stop());
const setUp = (setup?: RouteSetup): RouteWorld => {
  world = new RouteWorld(setup);
  return world;
};

const styles = ["one-by-one", "document"] as const;

describe.each(styles)("route controller, %s", (style) => {
  const withStyle = (setup: RouteSetup = {}): RouteWorld =>
    setUp({ ...setup, script: { ...setup.script, style } });

  test("waits for an unknown machine without listing the table", async () => {
    const w = withStyle().add("n1", "10.244.1.0/24", { hasMachine: false });
    await w.settle();
    await w.pass(120);
    expect([w.cloud.changes, w.nodes.sent]).toEqual([[], []]);
    expect(w.cloud.listings).toBe(1);
    expect(w.reasons("n1")).toEqual(["RouteWaitsForMachine"]);
    w.machines.put(machine("n1"));
    await w.pass(300);
    expect(w.network("n1")).toBe("False RouteCreated");
  });

  test("keeps the routes of Nodes whose machines cannot be determined", async () => {
    const w = withStyle().add("n1", "10.244.1.0/24");
    w.machines.failure = { error: refusal("unavailable") };
    w.cloud.put("10.244.1.0/24", { targetKey: "n1" });
    w.cloud.put("10.244.3.0/24", { targetKey: "n1" });
    await w.settle();
    expect(w.cloud.changes).toEqual([]);
  });

  test("ignores Nodes of another cloud and routes for their ranges", async () => {
    const w = withStyle().add("n1", "10.244.1.0/24", { providerID: "other://n1" });
    w.cloud.put("10.244.1.0/24", { ownership: "unmarked", targetAddress: ipAddress("10.0.0.1") });
    await w.settle();
    expect([w.cloud.changes, w.nodes.sent]).toEqual([[], []]);
  });

  test("creates no route for a range outside the cluster's ranges, reports it once, and sets no condition", async () => {
    const w = withStyle({ settings: { fullCheck: exactly(minutes(1)) } }).add("n1", "10.99.1.0/24");
    await w.settle();
    await w.pass(600);
    expect([w.cloud.changes, w.nodes.sent]).toEqual([[], []]);
    expect(w.reasons("n1")).toEqual(["PodCIDROutsideCluster"]);
  });

  test("sets no condition on a Node with one of two ranges outside the cluster's ranges", async () => {
    const w = withStyle({ clusterCIDRs: ["10.244.0.0/16", "fd00:10:244::/48"] });
    w.add("n1", ["10.244.1.0/24", "fd00:99::/64"]);
    await w.settle();
    expect(w.cloud.changes).toHaveLength(1);
    expect(w.network("n1")).toBeUndefined();
    expect(w.reasons("n1")).toEqual(["PodCIDROutsideCluster"]);
  });

  test("keeps the route of a range that two Nodes have", async () => {
    const w = withStyle().add("n1", "10.244.1.0/24").add("n2", "10.244.1.0/24");
    w.cloud.put("10.244.1.0/24", { targetKey: "n2" });
    await w.settle();
    expect(w.cloud.changes).toEqual([]);
    expect([w.network("n1"), w.network("n2")]).toEqual(["True NoRouteCreated", "False RouteCreated"]);
    expect(w.reasons("n1")).toEqual(["PodCIDRTaken"]);
  });

  test("reports a table once when it is four fifths full, and again if this recurs", async () => {
    const w = withStyle({ script: { limit: 5 } });
    for (const index of [1, 2, 3]) w.add(`n${index}`, `10.244.${index}.0/24`);
    await w.settle();
    expect(w.reportedProblems).toEqual([]);
    const join = async () => {
      w.add("n4", "10.244.4.0/24");
      w.inventory.requestListing(w.clock.monotonic(), "refresh");
      await w.pass(12);
    };
    await join();
    expect(w.reportedProblems.map(({ reason }) => reason)).toEqual(["RouteTableNearLimit"]);
    w.nodes.remove("n4");
    await w.pass(12);
    await join();
    expect(w.reportedProblems).toHaveLength(2);
    expect(w.syncs.at(-1)).toMatchObject({ isComplete: true, limit: 5, wanted: 4, there: 4 });
  });

  test("retries a failed condition update without another listing", async () => {
    const w = withStyle().add("n1", "10.244.1.0/24");
    w.nodes.server.faults.intercept = ({ method }) =>
      method === "PATCH" ? new Response("{}", { status: 500 }) : undefined;
    await w.settle();
    const { listings } = w.cloud;
    w.nodes.server.faults.intercept = undefined;
    await w.pass(60);
    expect(w.network("n1")).toBe("False RouteCreated");
    expect(w.cloud.listings).toBe(listings);
  });

  test("makes no cloud request when kubelets update their status [F59]", async () => {
    const w = withStyle().add("n1", "10.244.1.0/24");
    await w.settle();
    const before = w.cloud.lines.length;
    for (let index = 0; index < 100; index += 1) {
      w.nodes.setReady("n1", index % 2 === 0 ? "False" : "True");
      await w.pass(10);
    }
    expect(w.cloud.lines).toHaveLength(before);
  });

  test("reconciles exactly once per --route-reconciliation-period", async () => {
    const w = withStyle({ settings: { fullCheck: exactly(seconds(10)) } });
    await w.start().pass(60.5);
    expect(w.cloud.calls.map(({ at }) => at)).toEqual([0, 10, 20, 30, 40, 50, 60].map((at) => at * 1000));
  });
});
