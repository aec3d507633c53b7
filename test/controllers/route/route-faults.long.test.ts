import { afterEach, describe, expect, test } from "bun:test";
import { getEventListeners } from "node:events";
import { seconds } from "../../../src/core/brand.ts";
import type { Condition } from "../../../src/kube/objects.ts";
import { machine } from "../../support/scripted-source.ts";
import { type RouteSetup, RouteWorld } from "./route-world.ts";
import { refusal } from "./scripted-routes.ts";

let world: RouteWorld | undefined;
afterEach(() => world?.stop());
const setUp = (setup?: RouteSetup): RouteWorld => {
  world = new RouteWorld(setup);
  return world;
};

const created = { type: "NetworkUnavailable", status: "False", reason: "RouteCreated" };
const styles = ["one-by-one", "document"] as const;

describe.each(styles)("route controller with faults, %s", (style) => {
  const withStyle = (setup: RouteSetup = {}): RouteWorld =>
    setUp({ ...setup, script: { ...setup.script, style } });

  test("reaches the same state with a fault at any call, whether or not the call took effect", async () => {
    const live = async (w: RouteWorld): Promise<readonly string[]> => {
      w.add("n1", "10.244.1.0/24").add("n2", "10.244.2.0/24");
      w.cloud.put("10.244.2.0/24", { targetKey: "n1" });
      w.cloud.put("10.244.8.0/24", { targetKey: "gone" });
      w.cloud.put("10.244.9.0/24", { targetKey: "x", ownership: "foreign" });
      await w.settle();
      w.nodes.remove("n1");
      w.add("n3", "10.244.3.0/24").add("n4", "10.244.1.0/24");
      w.inventory.requestListing(w.clock.monotonic(), "refresh");
      await w.pass(600);
      return [...w.cloud.shown(), ...["n2", "n3", "n4"].map((name) => `${name} ${w.network(name)}`)];
    };
    const clean = withStyle();
    const expected = await live(clean);
    const calls = clean.cloud.lines.length;
    await clean.stop();
    expect(calls).toBeGreaterThan(4);
    for (const kind of ["unavailable", "conflict", "rate-limited", "busy"] as const) {
      for (const lands of [false, true]) {
        for (let position = 0; position < calls; position += 1) {
          const w = withStyle();
          w.cloud.failsAt = { position, error: refusal(kind), lands };
          expect({ kind, lands, position, end: await live(w) }).toEqual({
            kind,
            lands,
            position,
            end: expected,
          });
          await w.stop();
        }
      }
    }
  });

  test("keeps a route that a listing repeats", async () => {
    const w = withStyle().add("n1", "10.244.1.0/24");
    await w.settle();
    w.cloud.table = [...w.cloud.table, ...w.cloud.table.map((route) => ({ ...route }))];
    await w.pass(60);
    w.add("n2", "10.244.2.0/24");
    w.inventory.requestListing(w.clock.monotonic(), "refresh");
    await w.pass(120);
    expect([...new Set(w.cloud.shown())].map((line) => line.split(" ")[0])).toEqual([
      "10.244.1.0/24",
      "10.244.2.0/24",
    ]);
    const expected =
      style === "document"
        ? ["change +1 -0", "change +1 -0"]
        : ["create 10.244.1.0/24", "create 10.244.2.0/24"];
    expect(w.cloud.changes).toEqual(expected);
  });

  const recentlyReconciled = async (): Promise<RouteWorld> => {
    const w = withStyle().add("n1", "10.244.1.0/24", { conditions: [created] });
    w.cloud.put("10.244.1.0/24", { targetKey: "n1" });
    await w.start().pass(3);
    expect(w.cloud.listings).toBe(1);
    return w;
  };

  test("creates a route from a recent listing", async () => {
    const w = await recentlyReconciled();
    w.add("n2", "10.244.2.0/24");
    w.inventory.requestListing(w.clock.monotonic(), "refresh");
    await w.pass(3);
    expect([w.cloud.listings, w.cloud.table.length]).toEqual([1, 2]);
  });

  test("lists again before it creates a route if the listing is old", async () => {
    const w = await recentlyReconciled();
    await w.pass(30);
    w.add("n2", "10.244.2.0/24");
    w.inventory.requestListing(w.clock.monotonic(), "refresh");
    await w.pass(6);
    expect([w.cloud.listings, w.cloud.table.length]).toEqual([2, 2]);
  });

  test("stops searching for a machine that another reconcile found", async () => {
    const w = withStyle().add("n1", "10.244.1.0/24", { hasMachine: false });
    await w.settle();
    await w.pass(120);
    w.machines.put(machine("n1"));
    w.inventory.requestListing(w.clock.monotonic(), "refresh");
    await w.pass(0.1);
    w.add("n2", "10.244.2.0/24");
    await w.pass(20);
    expect(w.network("n1")).toBe("False RouteCreated");
    await w.pass(20);
    const checks = w.syncs.length;
    await w.pass(600);
    expect(w.syncs).toHaveLength(checks);
  });

  test("removes a route only based on a listing that began after its Node was deleted", async () => {
    const w = await recentlyReconciled();
    // Another writer recreated the route, so its handle differs from the listed one.
    w.cloud.table = [];
    w.cloud.put("10.244.1.0/24", { targetKey: "n1" });
    w.nodes.remove("n1");
    await w.pass(3);
    expect([w.cloud.listings, w.cloud.table.length]).toEqual([2, 0]);
  });

  test("does not repeat a creation that the end of its session interrupted while listings lack the route", async () => {
    const w = setUp({ script: { style, takes: seconds(5) } }).add("n1", "10.244.1.0/24");
    await w.start().pass(8);
    expect([w.cloud.inFlight, w.cloud.changes.length]).toEqual([1, 1]);
    // The request reaches the cloud although the manager does not wait for its response.
    w.cloud.put("10.244.1.0/24", { targetKey: "n1" });
    w.cloud.hides = () => true;
    // No other process led, so only this process knows of the request.
    await w.handOver("this process");
    await w.pass(25);
    w.cloud.hides = () => false;
    await w.pass(120);
    expect([w.cloud.changes.length, w.cloud.table.length, w.network("n1")]).toEqual([
      1,
      1,
      "False RouteCreated",
    ]);
  });

  test("leaves nothing pending when its leadership session ends during a reconcile, and the next session completes the work", async () => {
    const w = setUp({ script: { style, takes: seconds(1) } })
      .add("n1", "10.244.1.0/24")
      .add("n2", "10.244.2.0/24");
    w.inventory.requestListing(0, "refresh");
    await w.pass(1);
    const session = new AbortController();
    const ended = w.run(session.signal);
    await w.pass(1.5);
    expect(w.cloud.inFlight).toBeGreaterThan(0);
    session.abort(new Error("another one leads"));
    await w.pass(0);
    await ended;
    expect([w.cloud.inFlight, getEventListeners(session.signal, "abort").length, w.reported]).toEqual([
      0,
      0,
      [],
    ]);
    expect(w.cloud.table).toEqual([]);
    await w.settle();
    // The cloud may still apply the interrupted request.
    expect(w.cloud.table).toEqual([]);
    await w.pass(30);
    expect(w.cloud.table).toHaveLength(2);
    expect(w.network("n1")).toBe("False RouteCreated");
  });

  test("reports no failure for a change that the fence blocked, and retries it", async () => {
    const w = withStyle().add("n1", "10.244.1.0/24");
    w.cloud.failures.set("10.244.1.0/24", refusal("unavailable", "not the leader", "fenced"));
    await w.settle();
    expect([w.reported, w.nodes.sent]).toEqual([[], []]);
    expect(w.journal("cloud")[0]).toBe("refused: create route 10.244.1.0/24 (node/n1)");
    w.cloud.failures.clear();
    await w.pass(15);
    expect(w.network("n1")).toBe("False RouteCreated");
  });

  test("changes nothing after a failed listing, reports it once and retries with growing backoff", async () => {
    const w = withStyle().add("n1", "10.244.1.0/24");
    w.cloud.put("10.244.2.0/24", { targetKey: "gone" });
    w.cloud.failures.set("list", refusal("unavailable", "GET /routes failed: 500"));
    await w.settle();
    await w.pass(600);
    expect(w.cloud.listings).toBeLessThan(20);
    expect(w.cloud.changes).toEqual([]);
    expect(w.reportedProblems.map(({ reason }) => reason)).toEqual(["RoutesUnknown"]);
    expect(w.syncs.every(({ isComplete }) => !isComplete)).toBe(true);
    w.cloud.failures.clear();
    await w.pass(600);
    expect(w.cloud.shown()).toEqual(["10.244.1.0/24 -> n1 10.0.0.1"]);
  });

  test("retries a failing route without delaying other routes", async () => {
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
});

test("the route controller ignores watch events of its own condition updates [F59]", async () => {
  const passesWith = async (conditions: readonly Condition[], writes: number): Promise<number> => {
    const w = setUp({ lag: 2000 });
    for (const index of [1, 2, 3]) {
      w.add(`n${index}`, `10.244.${index}.0/24`, { conditions });
      w.cloud.put(`10.244.${index}.0/24`, { targetKey: `n${index}` });
    }
    await w.settle();
    await w.pass(600);
    expect(w.nodes.sent).toHaveLength(writes);
    await w.stop();
    return w.syncs.length;
  };
  const written = { type: "NetworkUnavailable", status: "False", reason: "RouteCreated" } as const;
  expect(await passesWith([], 3)).toBe(await passesWith([written], 0));
});

test("the route controller writes no pending condition of an earlier session before it knows the table", async () => {
  const w = await setUp({}).add("n0", "10.244.1.0/24").settle();
  expect(w.network("n0")).toBe("False RouteCreated");
  await w.stop();
  const [type, status, reason] = ["NetworkUnavailable", "True", "NoRouteCreated"];
  w.nodes.change("n0", (node) => ({
    ...node,
    status: { ...node.status, conditions: [{ type, status, reason }] },
  }));
  w.cloud.failures.set("list", refusal("unavailable"));
  const next = new AbortController();
  const running = w.run(next.signal);
  w.controller.queue.add("condition/n0");
  await w.pass(20);
  expect(w.network("n0")).toBe("True NoRouteCreated");
  next.abort(new Error("The test is over."));
  await running;
});

test("completes a listing in progress at shutdown, and the changes that follow from it", async () => {
  const w = setUp({ script: { takes: seconds(2) } }).add("n1", "10.244.1.0/24");
  await w.start().pass(1);
  w.drain();
  await w.pass(10);
  expect(w.cloud.changes).toEqual(["create 10.244.1.0/24"]);
  expect(w.reportedProblems).toEqual([]);
});
