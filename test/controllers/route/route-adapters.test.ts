// The whole controller on clouds with a route document, and on clouds whose reads lag: faults that the adapters in src/cloud must
// prevent when answers are incorrect or late, or another client changes the table.

import { afterEach, describe, expect, test } from "bun:test";
import { ipAddress, milliseconds } from "../../../src/index.ts";
import { type RouteSetup, RouteWorld } from "./route-world.ts";
import { refusal, ScriptedRoutes } from "./scripted-routes.ts";

let world: RouteWorld | undefined;
afterEach(() => world?.stop());

function setUp(setup?: RouteSetup): RouteWorld {
  world = new RouteWorld(setup);
  return world;
}

/** A world whose listings show changes this many seconds later. */
function lagging(seconds: number): { readonly w: RouteWorld; readonly cloud: ScriptedRoutes } {
  let cloud: ScriptedRoutes | undefined;
  const w = setUp({
    routes: (clock) => {
      cloud = new ScriptedRoutes(clock);
      return { ...cloud.routes, readsLag: milliseconds(seconds * 1000) } as never;
    },
  });
  if (cloud === undefined) throw new Error("The world asked for no routes.");
  return { w, cloud };
}

describe("a document of routes", () => {
  test("a route document keeps a route that another client corrects just before Fairlead replaces the route", async () => {
    const w = setUp({ script: { style: "document" } }).add("n1", "10.244.1.0/24");
    const old = w.cloud.put("10.244.1.0/24", { targetKey: "gone" });
    w.cloud.beforeChange = () => {
      const corrected = {
        targetKey: "n1",
        targetAddress: ipAddress("10.0.0.1"),
        ownership: "unmarked",
      } as const;
      w.cloud.table = w.cloud.table.map((route) =>
        route.handle === old.handle ? { ...route, ...corrected } : route,
      );
      w.cloud.revision += 1;
    };
    await w.settle();
    expect(w.cloud.changes).toEqual(["change +1 -1"]);
    expect(w.cloud.shown()).toEqual(["10.244.1.0/24 -> n1 10.0.0.1"]);
  });

  test("a route document sends the removal of a route only together with its replacement, even after failures", async () => {
    const w = setUp({ script: { style: "document" } });
    for (let index = 0; index < 6; index += 1) {
      w.add(`n${index}`, `10.244.${index}.0/24`);
      w.cloud.put(`10.244.${index}.0/24`, { targetKey: "gone" });
      w.cloud.failures.set(`10.244.${index}.0/24`, refusal("unavailable"));
    }
    await w.settle();
    await w.pass(300);
    const unequal = w.cloud.changes.filter((change) => {
      const [, created, removed] = /\+(\d+) -(\d+)/.exec(change) ?? [];
      return Number(removed) > Number(created);
    });
    expect(w.cloud.changes.length).toBeGreaterThan(3);
    expect(unequal).toEqual([]);
  });

  test("a route document counts no route as removed when a request with creations and removals returns not-found", async () => {
    const w = setUp({ script: { style: "document" } }).add("n1", "10.244.1.0/24");
    w.cloud.put("10.244.1.0/24", { targetKey: "gone" });
    w.cloud.failures.set("*", refusal("not-found"));
    await w.settle();
    expect(w.syncs.length).toBeGreaterThan(0);
    expect(w.syncs.reduce((sum, { removed }) => sum + removed, 0)).toBe(0);
    expect(w.cloud.shown()).toEqual(["10.244.1.0/24 -> gone"]);
  });

  test("a route document creates a route soon when the document could not be reread after a conflict", async () => {
    const w = setUp({ script: { style: "document" } }).add("n1", "10.244.1.0/24");
    w.cloud.beforeChange = () => {
      w.cloud.revision += 1;
      w.cloud.failures.set("list", refusal("unavailable"));
      w.clock.after(milliseconds(300), () => w.cloud.failures.delete("list"));
    };
    await w.start().pass(20);
    expect(w.cloud.table).toHaveLength(1);
  });
});

describe("routes of a cloud whose reads lag", () => {
  test("does not repeat a removal that returned not-found while lagging listings still show the route", async () => {
    const { w, cloud } = lagging(300);
    w.add("n1", "10.244.1.0/24");
    const old = cloud.put("10.244.9.0/24", { targetKey: "gone" });
    cloud.failures.set(old.handle, refusal("not-found"));
    await w.settle();
    for (let index = 0; index < 15; index += 1) {
      await w.pass(15);
      w.add(`m${index}`, `10.244.${20 + index}.0/24`);
    }
    expect(cloud.changes.filter((change) => change.startsWith("remove")).length).toBeLessThan(3);
  });

  test("a new leadership session forgets the writes of an earlier session of this process", async () => {
    const { w, cloud } = lagging(600);
    w.add("n1", "10.244.1.0/24");
    const first = new AbortController();
    const ended = w.run(first.signal).catch(() => undefined);
    await w.pass(30);
    first.abort();
    await w.pass(1);
    await ended;
    // Another leader has removed the route in the meantime.
    cloud.table = [];
    const second = new AbortController();
    void w.run(second.signal).catch(() => undefined);
    await w.pass(800);
    second.abort();
    expect(cloud.shown()).toEqual(["10.244.1.0/24 -> n1 10.0.0.1"]);
  });
});
