import { afterEach, describe, expect, test } from "bun:test";
import { exactly } from "../../../src/controllers/route/settings.ts";
import { pausedAnnotation } from "../../../src/controllers/well-known.ts";
import { milliseconds, minutes, seconds } from "../../../src/core/brand.ts";
import { cidr } from "../../../src/core/cidr.ts";
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

describe.each(styles)("%s", (style) => {
  const withStyle = (setup: RouteSetup = {}): RouteWorld =>
    setUp({ ...setup, script: { ...setup.script, style } });

  test("every pod range gets a route to its node's machine, and the node says so [F58]", async () => {
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
    expect(w.told).toEqual([]);
  });

  test("on a settled state nothing is written, nor at the full checks that follow [F58]", async () => {
    const w = withStyle().add("n1", "10.244.1.0/24", { conditions: [created] });
    w.cloud.put("10.244.1.0/24", { targetKey: "n1", targetAddress: ipAddress("10.0.0.1") });
    await w.settle();
    expect(w.cloud.listings).toBe(1);
    await w.pass(48 * 3600);
    expect(w.cloud.changes).toEqual([]);
    expect(w.nodes.sent).toEqual([]);
    // One at the start, then every twelve hours give or take a fifth.
    expect(w.cloud.listings).toBeGreaterThanOrEqual(4);
    expect(w.cloud.listings).toBeLessThanOrEqual(6);
  });

  test("a burst of nodes is one pass with one listing [F59]", async () => {
    const w = withStyle();
    await w.settle();
    const before = w.cloud.listings;
    for (let index = 0; index < 100; index += 1) {
      w.add(`n${index}`, `10.244.${index}.0/24`);
      await w.pass(0.004);
    }
    w.inventory.wantListing(w.clock.monotonic(), "refresh");
    await w.pass(10);
    expect(w.cloud.table).toHaveLength(100);
    expect(w.cloud.listings - before).toBeLessThanOrEqual(2);
    expect(w.network("n99")).toBe("False RouteCreated");
  });

  test("the route of a node goes when the node is gone [F59]", async () => {
    const w = withStyle().add("n1", "10.244.1.0/24").add("n2", "10.244.2.0/24");
    await w.settle();
    w.nodes.remove("n1");
    await w.pass(6);
    expect(w.cloud.shown()).toEqual(["10.244.2.0/24 -> n2 10.0.0.1"]);
  });

  test("a node that changed its address gets its route changed, the old one first [F61]", async () => {
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

  test("a range that moved to another node has its old route removed before the new one is made", async () => {
    const w = withStyle().add("n1", "10.244.1.0/24");
    await w.settle();
    w.nodes.remove("n1");
    w.add("n2", "10.244.1.0/24");
    w.inventory.wantListing(w.clock.monotonic(), "refresh");
    await w.pass(10);
    expect(w.cloud.shown()).toEqual(["10.244.1.0/24 -> n2 10.0.0.1"]);
    expect(w.told).toEqual([]);
  });

  test("dual stack: one route per range, and the node is reachable only when both are there [F63]", async () => {
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

  test("a family the cloud lacks is said once and is no error [F63]", async () => {
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
    expect(w.reported.map(({ reason }) => reason)).toEqual(["RouteFamilyUnsupported"]);
    expect(w.told).toEqual([]);
  });

  test("another spelling of a range is the same range", async () => {
    const w = withStyle({ clusterCIDRs: ["a00::/8"] }).add("n1", "a00:0100:0000::/24", {
      conditions: [created],
    });
    w.cloud.put("a00:100::/24", { targetKey: "n1" });
    await w.settle();
    expect(w.cloud.changes).toEqual([]);
  });

  test("what is not ours, or lies outside the cluster's ranges, is never touched [F60]", async () => {
    const w = withStyle().add("n1", "10.244.1.0/24");
    const theirs = [
      w.cloud.put("10.244.7.0/24", { ownership: "foreign", targetKey: "x" }),
      w.cloud.put("10.9.0.0/24", { ownership: "marked", leadsNowhere: true }),
      w.cloud.put("10.0.0.0/8", { ownership: "unmarked", targetKey: "x" }),
      w.cloud.put("0.0.0.0/0", { ownership: "unmarked" }),
    ];
    w.cloud.put("10.244.8.0/24", { ownership: "unmarked", targetKey: "gone" });
    w.cloud.put("10.244.9.0/24", { ownership: "marked", leadsNowhere: true });
    await w.settle();
    expect(w.cloud.table.slice(0, 4)).toEqual(theirs);
    expect(w.cloud.shown()).toContain("10.244.1.0/24 -> n1 10.0.0.1");
    expect(w.cloud.table).toHaveLength(5);
  });

  test("a foreign route that already leads where ours would is left to do its work", async () => {
    const w = withStyle().add("n1", "10.244.1.0/24");
    w.cloud.put("10.244.1.0/24", { ownership: "foreign", targetKey: "n1" });
    await w.settle();
    expect(w.cloud.changes).toEqual([]);
    expect(w.network("n1")).toBe("False RouteCreated");
  });

  test("a range that somebody else's route takes elsewhere is shown on the node, once [F60]", async () => {
    const w = withStyle({ settings: { fullCheck: exactly(minutes(1)) } }).add("n1", "10.244.1.0/24");
    w.cloud.put("10.244.1.0/24", { ownership: "foreign", targetKey: "x" });
    await w.settle();
    await w.pass(600);
    expect(w.cloud.changes).toEqual([]);
    expect(w.network("n1")).toBe("True NoRouteCreated");
    expect(w.reasons("n1")).toEqual(["RouteTaken"]);
  });

  test("a paused node keeps its routes as they are, and its condition", async () => {
    const w = withStyle().add("n1", "10.244.1.0/24", { isPaused: true }).add("n2", []);
    w.cloud.put("10.244.1.0/24", { targetKey: "elsewhere" });
    w.cloud.put("10.244.5.0/24", { targetKey: "n1" });
    await w.settle();
    expect([w.cloud.changes, w.nodes.sent]).toEqual([[], []]);
    w.nodes.annotate("n1", { [pausedAnnotation]: "false" });
    await w.pass(6);
    expect(w.cloud.shown()).toEqual(["10.244.1.0/24 -> n1 10.0.0.1"]);
  });

  test("a node without pod ranges is never touched, whatever leads to it", async () => {
    const w = withStyle().add("n1", []);
    w.cloud.put("10.244.5.0/24", { targetKey: "n1" });
    await w.settle();
    expect(w.cloud.table).toEqual([]);
    expect(w.nodes.sent).toEqual([]);
  });

  test("nothing is removed before the nodes are known to be all there", async () => {
    const w = withStyle();
    w.cloud.put("10.244.1.0/24", { targetKey: "n1" });
    w.isSynced = false;
    await w.settle();
    expect([w.cloud.lines, w.cloud.table.length]).toEqual([[], 1]);
    w.isSynced = true;
    await w.pass(2);
    expect(w.cloud.table).toEqual([]);
  });

  test("observe mode writes nothing down but its plan", async () => {
    const w = withStyle({ mode: "observe" }).add("n1", "10.244.1.0/24");
    w.cloud.put("10.244.2.0/24", { targetKey: "gone" });
    await w.settle();
    await w.pass(3600);
    expect([w.cloud.changes, w.nodes.sent, w.told]).toEqual([[], [], []]);
    expect(w.journal("cloud")).toEqual([
      "observed: remove route 10.244.2.0/24 (route/r1)",
      "observed: create route 10.244.1.0/24 (node/n1)",
    ]);
    expect(w.journal("cluster")).toEqual(["observed: patch status: merge conditions (node/n1)"]);
  });

  test("what the fence refuses is nobody's failure and is tried again", async () => {
    const w = withStyle().add("n1", "10.244.1.0/24");
    w.cloud.failures.set("10.244.1.0/24", refusal("unavailable", "not the leader", "fenced"));
    await w.settle();
    expect([w.told, w.nodes.sent]).toEqual([[], []]);
    expect(w.journal("cloud")[0]).toBe("refused: create route 10.244.1.0/24 (node/n1)");
    w.cloud.failures.clear();
    await w.pass(15);
    expect(w.network("n1")).toBe("False RouteCreated");
  });

  test("a listing that fails changes nothing, is said once and is tried again after growing rests", async () => {
    const w = withStyle().add("n1", "10.244.1.0/24");
    w.cloud.put("10.244.2.0/24", { targetKey: "gone" });
    w.cloud.failures.set("list", refusal("unavailable", "GET /routes failed: 500"));
    await w.settle();
    await w.pass(600);
    expect(w.cloud.listings).toBeLessThan(20);
    expect(w.cloud.changes).toEqual([]);
    expect(w.reported.map(({ reason }) => reason)).toEqual(["RoutesUnknown"]);
    expect(w.syncs.every(({ isComplete }) => !isComplete)).toBe(true);
    w.cloud.failures.clear();
    await w.pass(600);
    expect(w.cloud.shown()).toEqual(["10.244.1.0/24 -> n1 10.0.0.1"]);
  });

  test("a route that fails holds up none of the others and is tried again alone", async () => {
    const w = withStyle();
    for (let index = 0; index < 8; index += 1) w.add(`n${index}`, `10.244.${index}.0/24`);
    w.cloud.failures.set("10.244.3.0/24", refusal("invalid", "the cloud does not like it"));
    await w.settle();
    expect(w.cloud.table).toHaveLength(7);
    expect(w.network("n3")).toBe("True NoRouteCreated");
    expect(w.network("n4")).toBe("False RouteCreated");
    expect(w.reasons("n3")).toEqual(["FailedToCreateRoute"]);
    const before = w.cloud.changes.length;
    await w.pass(1800);
    const retries = w.cloud.changes.slice(before);
    expect(retries.length).toBeGreaterThanOrEqual(2);
    expect(retries.length).toBeLessThanOrEqual(12);
    expect(new Set(retries)).toEqual(
      new Set([style === "document" ? "change +1 -0" : "create 10.244.3.0/24"]),
    );
    w.cloud.failures.clear();
    await w.pass(1800);
    expect(w.network("n3")).toBe("False RouteCreated");
  });

  test("a node whose machine is not known yet waits for it, and the table is not listed meanwhile", async () => {
    const w = withStyle().add("n1", "10.244.1.0/24", { hasMachine: false });
    await w.settle();
    await w.pass(120);
    expect([w.cloud.changes, w.nodes.sent]).toEqual([[], []]);
    expect(w.cloud.listings).toBe(1);
    expect(w.reasons("n1")).toEqual(["RouteWaitsForMachine"]);
    const { machine } = await import("../../support/scripted-source.ts");
    w.machines.put(machine("n1"));
    await w.pass(300);
    expect(w.network("n1")).toBe("False RouteCreated");
  });

  test("routes of nodes whose machine cannot be told are left as they are", async () => {
    const w = withStyle().add("n1", "10.244.1.0/24");
    w.machines.failure = { error: refusal("unavailable") };
    w.cloud.put("10.244.1.0/24", { targetKey: "n1" });
    w.cloud.put("10.244.3.0/24", { targetKey: "n1" });
    await w.settle();
    expect(w.cloud.changes).toEqual([]);
  });

  test("a node of another cloud is not ours, nor are routes to its range", async () => {
    const w = withStyle().add("n1", "10.244.1.0/24", { providerID: "other://n1" });
    w.cloud.put("10.244.1.0/24", { ownership: "unmarked", targetAddress: ipAddress("10.0.0.1") });
    await w.settle();
    expect([w.cloud.changes, w.nodes.sent]).toEqual([[], []]);
  });

  test("a range outside the cluster's gets no route, is said once, and says nothing of the node's network", async () => {
    const w = withStyle({ settings: { fullCheck: exactly(minutes(1)) } }).add("n1", "10.99.1.0/24");
    await w.settle();
    await w.pass(600);
    expect([w.cloud.changes, w.nodes.sent]).toEqual([[], []]);
    expect(w.reasons("n1")).toEqual(["PodCIDROutsideCluster"]);
  });

  test("of two nodes with one range the one that has the route keeps it", async () => {
    const w = withStyle().add("n1", "10.244.1.0/24").add("n2", "10.244.1.0/24");
    w.cloud.put("10.244.1.0/24", { targetKey: "n2" });
    await w.settle();
    expect(w.cloud.changes).toEqual([]);
    expect([w.network("n1"), w.network("n2")]).toEqual(["True NoRouteCreated", "False RouteCreated"]);
    expect(w.reasons("n1")).toEqual(["PodCIDRTaken"]);
  });

  test("is told once when four fifths of the table are taken, and again after it was emptier", async () => {
    const w = withStyle({ script: { limit: 5 } });
    for (const index of [1, 2, 3]) w.add(`n${index}`, `10.244.${index}.0/24`);
    await w.settle();
    expect(w.reported).toEqual([]);
    const join = async () => {
      w.add("n4", "10.244.4.0/24");
      w.inventory.wantListing(w.clock.monotonic(), "refresh");
      await w.pass(12);
    };
    await join();
    expect(w.reported.map(({ reason }) => reason)).toEqual(["RouteTableNearLimit"]);
    w.nodes.remove("n4");
    await w.pass(12);
    await join();
    expect(w.reported).toHaveLength(2);
    expect(w.syncs.at(-1)).toMatchObject({ isComplete: true, limit: 5, wanted: 4 });
  });

  test("a condition that could not be written is written later, without another listing", async () => {
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

  test("kubelets that write their status cost nothing [F59]", async () => {
    const w = withStyle().add("n1", "10.244.1.0/24");
    await w.settle();
    const before = w.cloud.lines.length;
    for (let index = 0; index < 100; index += 1) {
      w.nodes.setReady("n1", index % 2 === 0 ? "False" : "True");
      await w.pass(10);
    }
    expect(w.cloud.lines).toHaveLength(before);
  });

  test("--route-reconciliation-period is kept exactly", async () => {
    const w = withStyle({ settings: { fullCheck: exactly(seconds(10)) } });
    await w.start().pass(60.5);
    expect(w.cloud.calls.map(({ at }) => at)).toEqual([0, 10, 20, 30, 40, 50, 60].map((at) => at * 1000));
  });
});

describe("one by one", () => {
  test("at most so many changes at once", async () => {
    const w = setUp({ settings: { changesAtOnce: 4 }, script: { takes: milliseconds(100) } });
    for (let index = 0; index < 20; index += 1) w.add(`n${index}`, `10.244.${index}.0/24`);
    await w.settle();
    expect(w.cloud.table).toHaveLength(20);
    expect(w.cloud.mostInFlight).toBe(4);
  });

  test("a route waits for everything that overlaps it, and for nothing else", async () => {
    const w = setUp({ script: { takes: milliseconds(100) } });
    w.cloud.refusesOverlaps = true;
    w.cloud.put("10.244.0.0/23", { targetKey: "gone" });
    w.cloud.put("10.244.2.0/25", { targetKey: "gone" });
    for (const index of [0, 1, 2, 3]) w.add(`n${index}`, `10.244.${index}.0/24`);
    await w.settle();
    expect(w.cloud.table).toHaveLength(4);
    expect(w.told).toEqual([]);
    const [last] = w.cloud.calls.filter(({ what }) => what === "create 10.244.3.0/24");
    const [removal] = w.cloud.calls.filter(({ what }) => what === "remove r1");
    expect(last?.at).toBe(removal?.at as number);
  });

  test("a route whose place could not be cleared is not tried; both are tried again together", async () => {
    const w = setUp().add("n1", "10.244.1.0/24");
    w.cloud.put("10.244.1.0/24", { targetKey: "gone" });
    w.cloud.failures.set("r1", refusal("invalid", "it is in use"));
    await w.settle();
    expect(w.cloud.changes).toEqual(["remove r1"]);
    expect(w.network("n1")).toBe("True NoRouteCreated");
    expect(w.reported.map(({ reason }) => reason)).toEqual(["FailedToRemoveRoute"]);
    w.cloud.failures.clear();
    await w.pass(180);
    expect(w.cloud.shown()).toEqual(["10.244.1.0/24 -> n1 10.0.0.1"]);
    expect(w.network("n1")).toBe("False RouteCreated");
  });

  test("a full table is emptied of what nobody needs before anything is added", async () => {
    const w = setUp({ script: { limit: 2, takes: milliseconds(50) } }).add("n1", "10.244.1.0/24");
    w.cloud.put("10.244.8.0/24", { targetKey: "gone" });
    w.cloud.put("10.244.9.0/24", { targetKey: "gone" });
    await w.settle();
    expect(w.cloud.changes).toEqual(["remove r1", "remove r2", "create 10.244.1.0/24"]);
  });

  test("a route that is removed by somebody else at the same moment is gone, which was wanted", async () => {
    const w = setUp();
    w.cloud.put("10.244.8.0/24", { targetKey: "gone" });
    w.cloud.failures.set("r1", refusal("not-found"));
    await w.settle();
    expect([w.reported, w.cloud.changes]).toEqual([[], ["remove r1"]]);
  });

  test("a cloud that is still at it is asked again then, and the condition waits", async () => {
    const w = setUp().add("n1", "10.244.1.0/24");
    w.cloud.outcomes.push({ done: false, checkAfter: seconds(60), waitingFor: "the network" });
    await w.settle();
    expect([w.cloud.changes.length, w.nodes.sent]).toEqual([1, []]);
    w.cloud.put("10.244.1.0/24", { targetKey: "n1" });
    await w.pass(60);
    expect(w.cloud.changes).toHaveLength(1);
    expect(w.network("n1")).toBe("False RouteCreated");
  });

  test("a route that exists after all is seen at the next look and makes no noise", async () => {
    const w = setUp().add("n1", "10.244.1.0/24");
    w.cloud.failures.set("10.244.1.0/24", refusal("conflict", "it exists"));
    await w.start().pass(0.05);
    w.cloud.put("10.244.1.0/24", { targetKey: "n1" });
    await w.pass(5);
    expect(w.told).toEqual([]);
    expect(w.network("n1")).toBe("False RouteCreated");
  });

  test("a node with another address is another question: what rests is tried at once", async () => {
    const w = setUp().add("n1", "10.244.1.0/24");
    w.cloud.failures.set("10.244.1.0/24", refusal("invalid"));
    await w.settle();
    const before = w.cloud.changes.length;
    w.cloud.failures.clear();
    w.nodes.change("n1", (node) => ({
      ...node,
      status: { ...node.status, addresses: [{ type: "InternalIP", address: "10.0.0.9" }] },
    }));
    await w.pass(6);
    expect(w.cloud.changes.slice(before)).toEqual(["create 10.244.1.0/24"]);
  });

  test("of two routes of ours with one destination the right one stays", async () => {
    const w = setUp().add("n1", "10.244.1.0/24", { conditions: [created] });
    w.cloud.put("10.244.1.0/24", { targetKey: "gone" });
    w.cloud.put("10.244.1.0/24", { targetKey: "n1" });
    await w.settle();
    expect(w.cloud.changes).toEqual(["remove r1"]);
  });
});

describe("as a document", () => {
  const document = { style: "document" } as const;

  test("any number of changes is one call [F62]", async () => {
    const w = setUp({ script: document });
    for (let index = 0; index < 50; index += 1) w.add(`n${index}`, `10.244.${index}.0/24`);
    for (let index = 100; index < 110; index += 1) w.cloud.put(`10.244.${index}.0/24`, { targetKey: "gone" });
    await w.settle();
    expect(w.cloud.changes.at(-1)).toBe("change +50 -0");
    expect(w.cloud.changes.length).toBeLessThanOrEqual(2);
    expect(w.cloud.table).toHaveLength(50);
  });

  test("when somebody else changed it, it is read again and nothing of theirs is lost [F62]", async () => {
    const w = setUp({ script: document }).add("n1", "10.244.1.0/24");
    w.cloud.beforeChange = () => {
      w.cloud.put("172.16.0.0/12", { ownership: "unmarked", targetKey: "x" });
      w.cloud.revision += 1;
    };
    await w.settle();
    expect(w.cloud.shown()).toEqual(["10.244.1.0/24 -> n1 10.0.0.1", "172.16.0.0/12 -> x"]);
    expect(w.told).toEqual([]);
  });

  test("when all of it is refused for one entry, the others go through in a few halvings", async () => {
    const w = setUp({ script: document });
    for (let index = 0; index < 64; index += 1) w.add(`n${index}`, `10.244.${index}.0/24`);
    w.cloud.failures.set("10.244.3.0/24", refusal("invalid"));
    await w.settle();
    expect(w.cloud.table).toHaveLength(63);
    expect(w.cloud.changes.length).toBeLessThanOrEqual(14);
  });

  test("a cloud that is away is not asked in halves", async () => {
    const w = setUp({ script: document });
    for (let index = 0; index < 8; index += 1) w.add(`n${index}`, `10.244.${index}.0/24`);
    w.cloud.failures.set("*", refusal("unavailable"));
    await w.start().pass(0.6);
    expect(w.cloud.changes).toEqual(["change +8 -0"]);
  });
});

test("the canonical range is what the cloud is asked for", async () => {
  const w = setUp().add("n1", "10.244.1.7/24");
  await w.settle();
  expect(w.cloud.table.map(({ destination }) => destination)).toEqual([cidr("10.244.1.0/24")]);
});

test("upstream's message is on the node whose route could not be made", async () => {
  const w = setUp({ script: { takes: milliseconds(1500) } }).add("n1", "10.244.1.0/24");
  w.cloud.failures.set("10.244.1.0/24", refusal("quota", "no more routes"));
  await w.settle();
  expect(w.told).toEqual([
    {
      node: "n1",
      reason: "FailedToCreateRoute",
      message: "Could not create route uid-n1 10.244.1.0/24 for node n1 after 1.5s: no more routes",
    },
  ]);
});
