import { afterEach, describe, expect, test } from "bun:test";
import { RouteBackoffs } from "../../../src/controllers/route/apply/backoffs.ts";
import { applyDocument } from "../../../src/controllers/route/apply/document.ts";
import { RouteTable } from "../../../src/controllers/route/observed/route-table.ts";
import { planRoutes } from "../../../src/controllers/route/plan/plan.ts";
import { journalledCloudSend } from "../../../src/controllers/writes/journalled-send.ts";
import { milliseconds, nodeName } from "../../../src/core/brand.ts";
import { cidr } from "../../../src/core/cidr.ts";
import type { Call } from "../../../src/provider/call.ts";
import type { DesiredRoute, RouteDocument, RoutesAsDocument } from "../../../src/provider/routes.ts";
import { Journal } from "../../../src/runtime/journal.ts";
import { VirtualClock } from "../../../src/testing/virtual-time/virtual-clock.ts";
import { type RouteSetup, RouteWorld } from "./route-world.ts";
import { refusal, ScriptedRoutes } from "./scripted-routes.ts";

let world: RouteWorld | undefined;
afterEach(() => world?.stop());
const setUp = (setup?: RouteSetup): RouteWorld => {
  world = new RouteWorld(setup);
  return world;
};

describe("routes as a document", () => {
  const document = { style: "document" } as const;

  test("sends any number of changes in one call [F62]", async () => {
    const w = setUp({ script: document });
    for (let index = 0; index < 50; index += 1) w.add(`n${index}`, `10.244.${index}.0/24`);
    for (let index = 100; index < 110; index += 1) w.cloud.put(`10.244.${index}.0/24`, { targetKey: "gone" });
    await w.settle();
    expect(w.cloud.changes.at(-1)).toBe("change +50 -0");
    expect(w.cloud.changes.length).toBeLessThanOrEqual(2);
    expect(w.cloud.table).toHaveLength(50);
  });

  test("reads the document again and keeps other clients' changes after a conflict [F62]", async () => {
    const w = setUp({ script: document }).add("n1", "10.244.1.0/24");
    w.cloud.beforeChange = () => {
      w.cloud.put("172.16.0.0/12", { ownership: "unmarked", targetKey: "x" });
      w.cloud.revision += 1;
    };
    await w.settle();
    expect(w.cloud.shown()).toEqual(["10.244.1.0/24 -> n1 10.0.0.1", "172.16.0.0/12 -> x"]);
    expect(w.reported).toEqual([]);
    expect(w.syncs.map(({ failed }) => failed)).not.toContain(1);
  });

  test("isolates a refused entry by splitting the changes, and applies the others", async () => {
    const w = setUp({ script: document });
    for (let index = 0; index < 64; index += 1) w.add(`n${index}`, `10.244.${index}.0/24`);
    w.cloud.failures.set("10.244.3.0/24", refusal("invalid"));
    await w.settle();
    expect(w.cloud.table).toHaveLength(63);
    expect(w.cloud.changes.length).toBeLessThanOrEqual(14);
  });

  test("does not split the changes when the cloud is unavailable", async () => {
    const w = setUp({ script: document });
    for (let index = 0; index < 8; index += 1) w.add(`n${index}`, `10.244.${index}.0/24`);
    w.cloud.failures.set("*", refusal("unavailable"));
    await w.start().pass(0.6);
    expect(w.cloud.changes).toEqual(["change +8 -0"]);
  });

  test("reports a reconcile that fails after its listing as unfinished, once until one succeeds", async () => {
    let hasRevision = false;
    const withoutRevision = (clock: VirtualClock): RoutesAsDocument => {
      const { routes } = new ScriptedRoutes(clock, document);
      if (routes.style !== "document") throw new Error("It was to be a document.");
      const read = async (call: Call) => {
        const { revision, routes: observed } = await routes.read(call);
        return { routes: observed, ...(hasRevision && { revision }) } as RouteDocument;
      };
      return { ...routes, read };
    };
    const w = await setUp({ routes: withoutRevision }).add("n1", "10.244.1.0/24").settle();
    const reasons = () => w.reportedProblems.map(({ reason }) => reason);
    expect(reasons()).toEqual(["RoutesUnfinished"]);
    expect(w.reportedProblems[0]?.text).toBe(
      "The cloud's routes were listed, but reconciling them failed; will retry: The provider's route document has no revision.",
    );
    const broken = w.syncs.filter(({ isComplete }) => !isComplete);
    expect(broken.length).toBeGreaterThan(2);
    hasRevision = true;
    await w.pass(60);
    expect(w.network("n1")).toBe("False RouteCreated");
    hasRevision = false;
    w.add("n2", "10.244.2.0/24");
    await w.pass(60);
    expect(reasons()).toEqual(["RoutesUnfinished", "RoutesUnfinished"]);
  });

  /** Two routes. The first failed before, so it is sent alone. */
  const applyTwo = async (readAgain?: () => Promise<never>) => {
    const clock = new VirtualClock();
    const cloud = new ScriptedRoutes(clock, document);
    const { routes } = cloud;
    if (routes.style !== "document") throw new Error("It was to be a document.");
    const backoffs = new RouteBackoffs(clock);
    const wanted = ["10.244.1.0/24", "10.244.2.0/24"].map((range) => ({
      destination: cidr(range),
      target: { node: nodeName("n1"), uid: "1", addresses: [], internalIPs: [] },
    }));
    const failed = { do: "create", route: wanted[0] as DesiredRoute } as const;
    backoffs.failed(failed, milliseconds(0));
    const { signal } = new AbortController();
    const table = new RouteTable(routes, clock, signal);
    const nothing = new Set<never>();
    const exempt = { destinations: nothing, keys: nothing, names: nothing, addresses: nothing };
    const results = await applyDocument(
      await table.beganAfter(0, "refresh", new AbortController().signal),
      {
        routes,
        backoffs,
        clock,
        send: journalledCloudSend({ journal: new Journal(), clock, mode: "enforce" }),
        readAgain:
          readAgain ??
          (() => {
            table.invalidate();
            return table.beganAfter(0, "refresh", new AbortController().signal);
          }),
        planFor: (listing) =>
          planRoutes({
            desired: wanted,
            observed: listing.routes,
            exempt,
            clusterCIDRs: [cidr("10.244.0.0/16")],
          }),
      },
      { signal, urgency: "new-node" },
    );
    return { cloud, outcomes: results.map(({ outcome }) => outcome.kind) };
  };

  test("sends a change that failed before alone, so that new ones are not affected", async () => {
    const { cloud, outcomes } = await applyTwo();
    expect(cloud.changes).toEqual(["change +1 -0", "change +1 -0"]);
    expect(outcomes).toEqual(["done", "done"]);
  });

  test("keeps the results of the first change when reading the document again fails", async () => {
    const { cloud, outcomes } = await applyTwo(() => Promise.reject(refusal("unavailable")));
    expect(cloud.changes).toEqual(["change +1 -0"]);
    expect(outcomes.toSorted()).toEqual(["done", "failed"]);
  });
});
