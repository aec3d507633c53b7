import { afterEach, describe, expect, test } from "bun:test";
import { exactly } from "../../../src/controllers/route/deps.ts";
import { pausedAnnotation } from "../../../src/controllers/well-known.ts";
import { minutes } from "../../../src/core/brand.ts";
import { ipAddress } from "../../../src/core/ip.ts";
import { type RouteSetup, RouteWorld } from "./route-world.ts";
import { refusal } from "./scripted-routes.ts";

let world: RouteWorld | undefined;
afterEach(() => world?.stop());
const setUp = (setup?: RouteSetup): RouteWorld => {
  world = new RouteWorld(setup);
  return world;
};

const styles = ["one-by-one", "document"] as const;
const created = { type: "NetworkUnavailable", status: "False", reason: "RouteCreated" };

describe.each(styles)("route controller, %s", (style) => {
  const withStyle = (setup: RouteSetup = {}): RouteWorld =>
    setUp({ ...setup, script: { ...setup.script, style } });

  test("creates a route per pod range to the Node's machine and sets the Node's condition [F58]", async () => {
    const w = withStyle().add("n1", "10.244.1.0/24", { address: "10.0.0.1" });
    w.add("n2", "10.244.2.0/24", { address: "10.0.0.2" });
    await w.settle();
    expect(w.cloud.shown()).toEqual(["10.244.1.0/24 -> n1 10.0.0.1", "10.244.2.0/24 -> n2 10.0.0.2"]);
    expect(w.conditionOf("n1")).toMatchObject({
      ...created,
      message: "RouteController created a route",
      lastTransitionTime: expect.any(String),
    });
    expect(w.network("n2")).toBe("False RouteCreated");
    expect(w.reported).toEqual([]);
  });

  test("writes nothing when all routes match, even at later full checks [F58]", async () => {
    const w = withStyle().add("n1", "10.244.1.0/24", { conditions: [created] });
    w.cloud.put("10.244.1.0/24", { targetKey: "n1", targetAddress: ipAddress("10.0.0.1") });
    await w.settle();
    expect(w.cloud.listings).toBe(1);
    await w.pass(48 * 3600);
    expect(w.cloud.changes).toEqual([]);
    expect(w.nodes.sent).toEqual([]);
    // One at the start, then one every twelve hours, plus or minus a fifth.
    expect(w.cloud.listings).toBeGreaterThanOrEqual(4);
    expect(w.cloud.listings).toBeLessThanOrEqual(6);
  });

  test("handles a burst of Nodes with one reconcile and one listing [F59]", async () => {
    const w = withStyle();
    await w.settle();
    const before = w.cloud.listings;
    for (let index = 0; index < 100; index += 1) {
      w.add(`n${index}`, `10.244.${index}.0/24`);
      await w.pass(0.004);
    }
    w.inventory.requestListing(w.clock.monotonic(), "refresh");
    await w.pass(10);
    expect(w.cloud.table).toHaveLength(100);
    expect(w.cloud.listings - before).toBeLessThanOrEqual(2);
    expect(w.network("n99")).toBe("False RouteCreated");
  });

  test("removes the route of a deleted Node [F59]", async () => {
    const w = withStyle().add("n1", "10.244.1.0/24").add("n2", "10.244.2.0/24");
    await w.settle();
    w.nodes.remove("n1");
    await w.pass(6);
    expect(w.cloud.shown()).toEqual(["10.244.2.0/24 -> n2 10.0.0.1"]);
  });

  test("replaces the route of a Node with a new address, removing the old route first [F61]", async () => {
    const w = withStyle().add("n1", "10.244.1.0/24");
    await w.settle();
    w.nodes.change("n1", (node) => ({
      ...node,
      status: { ...node.status, addresses: [{ type: "InternalIP", address: "10.0.0.9" }] },
    }));
    await w.pass(6);
    expect(w.cloud.shown()).toEqual(["10.244.1.0/24 -> n1 10.0.0.9"]);
    expect(w.cloud.changes.slice(1)).toEqual(
      style === "document" ? ["change +1 -1"] : ["remove r1", "create 10.244.1.0/24"],
    );
  });

  test("when a range moves to another Node, removes the old route before creating the new route", async () => {
    const w = withStyle().add("n1", "10.244.1.0/24");
    await w.settle();
    w.nodes.remove("n1");
    w.add("n2", "10.244.1.0/24");
    w.inventory.requestListing(w.clock.monotonic(), "refresh");
    await w.pass(10);
    expect(w.cloud.shown()).toEqual(["10.244.1.0/24 -> n2 10.0.0.1"]);
    expect(w.reported).toEqual([]);
  });

  test("creates a route per range in dual stack, and reports the Node reachable only with both [F63]", async () => {
    const w = withStyle({ clusterCIDRs: ["10.244.0.0/16", "fd00:10:244::/48"] });
    w.add("n1", ["10.244.1.0/24", "fd00:10:244:1::/64"]);
    w.cloud.failures.set("fd00:10:244:1::/64", refusal("invalid", "not today"));
    await w.settle();
    expect(w.cloud.shown()).toEqual(["10.244.1.0/24 -> n1 10.0.0.1"]);
    expect(w.network("n1")).toBe("True NoRouteCreated");
    w.cloud.failures.clear();
    await w.pass(300);
    expect(w.cloud.shown()).toEqual(["10.244.1.0/24 -> n1 10.0.0.1", "fd00:10:244:1::/64 -> n1 10.0.0.1"]);
    expect(w.network("n1")).toBe("False RouteCreated");
  });

  test("reports an unsupported address family only once, without an error on the Node [F63]", async () => {
    const w = withStyle({
      clusterCIDRs: ["10.244.0.0/16", "fd00:10:244::/48"],
      script: { families: ["IPv4"] },
      settings: { fullCheck: exactly(minutes(1)) },
    });
    w.add("n1", ["10.244.1.0/24", "fd00:10:244:1::/64"]);
    await w.settle();
    await w.pass(600);
    expect(w.cloud.changes).toHaveLength(1);
    expect(w.network("n1")).toBe("False RouteCreated");
    expect(w.reportedProblems.map(({ reason }) => reason)).toEqual(["RouteFamilyUnsupported"]);
    expect(w.reported).toEqual([]);
  });

  test("treats a different spelling of a range as the same range", async () => {
    const w = withStyle({ clusterCIDRs: ["a00::/8"] }).add("n1", "a00:0100:0000::/24", {
      conditions: [created],
    });
    w.cloud.put("a00:100::/24", { targetKey: "n1" });
    await w.settle();
    expect(w.cloud.changes).toEqual([]);
  });

  test("never touches foreign routes or routes outside the cluster's ranges [F60]", async () => {
    const w = withStyle().add("n1", "10.244.1.0/24");
    const foreign = [
      w.cloud.put("10.244.7.0/24", { ownership: "foreign", targetKey: "x" }),
      w.cloud.put("10.9.0.0/24", { ownership: "marked", leadsNowhere: true }),
      w.cloud.put("10.0.0.0/8", { ownership: "unmarked", targetKey: "x" }),
      w.cloud.put("0.0.0.0/0", { ownership: "unmarked" }),
    ];
    w.cloud.put("10.244.8.0/24", { ownership: "unmarked", targetKey: "gone" });
    w.cloud.put("10.244.9.0/24", { ownership: "marked", leadsNowhere: true });
    await w.settle();
    expect(w.cloud.table.slice(0, 4)).toEqual(foreign);
    expect(w.cloud.shown()).toContain("10.244.1.0/24 -> n1 10.0.0.1");
    expect(w.cloud.table).toHaveLength(5);
  });

  test("accepts a foreign route that leads to the right machine", async () => {
    const w = withStyle().add("n1", "10.244.1.0/24");
    w.cloud.put("10.244.1.0/24", { ownership: "foreign", targetKey: "n1" });
    await w.settle();
    expect(w.cloud.changes).toEqual([]);
    expect(w.network("n1")).toBe("False RouteCreated");
  });

  test("reports a foreign route that leads the pod range of a Node elsewhere once on the Node [F60]", async () => {
    const w = withStyle({ settings: { fullCheck: exactly(minutes(1)) } }).add("n1", "10.244.1.0/24");
    w.cloud.put("10.244.1.0/24", { ownership: "foreign", targetKey: "x" });
    await w.settle();
    await w.pass(600);
    expect(w.cloud.changes).toEqual([]);
    expect(w.network("n1")).toBe("True NoRouteCreated");
    expect(w.reasons("n1")).toEqual(["RouteTaken"]);
  });

  test("keeps the routes and the condition of a paused Node", async () => {
    const w = withStyle().add("n1", "10.244.1.0/24", { isPaused: true }).add("n2", []);
    w.cloud.put("10.244.1.0/24", { targetKey: "elsewhere" });
    w.cloud.put("10.244.5.0/24", { targetKey: "n1" });
    await w.settle();
    expect([w.cloud.changes, w.nodes.sent]).toEqual([[], []]);
    w.nodes.annotate("n1", { [pausedAnnotation]: "false" });
    await w.pass(6);
    expect(w.cloud.shown()).toEqual(["10.244.1.0/24 -> n1 10.0.0.1"]);
  });

  test("never writes to a Node without pod ranges, whatever routes lead to it", async () => {
    const w = withStyle().add("n1", []).add("n2", "10.244.2.0/24");
    w.cloud.put("10.244.5.0/24", { targetKey: "n1" });
    await w.settle();
    expect(w.cloud.table.map(({ destination }) => String(destination))).toEqual(["10.244.2.0/24"]);
    expect(w.nodes.sentTo("n1")).toEqual([]);
  });

  test("only writes its plan to the journal in observe mode", async () => {
    const w = withStyle({ mode: "observe" }).add("n1", "10.244.1.0/24");
    w.cloud.put("10.244.2.0/24", { targetKey: "gone" });
    await w.settle();
    await w.pass(3600);
    expect([w.cloud.changes, w.nodes.sent, w.reported]).toEqual([[], [], []]);
    expect(w.journal("cloud")).toEqual([
      "observed: remove route 10.244.2.0/24 (route/r1)",
      "observed: create route 10.244.1.0/24 (node/n1)",
    ]);
    expect(w.journal("cluster")).toEqual(["observed: patch status: merge conditions (node/n1)"]);
  });
});
