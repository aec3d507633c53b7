import { afterEach, describe, expect, test } from "bun:test";
import { type RouteSetup, RouteWorld } from "./route-world.ts";
import { refusal } from "./scripted-routes.ts";

let world: RouteWorld | undefined;
afterEach(() => world?.stop());
const setUp = (setup?: RouteSetup): RouteWorld => {
  world = new RouteWorld(setup);
  return world;
};

describe("routes as a document", () => {
  const document = { style: "document" } as const;

  test("a route document sends any number of changes in one call [F62]", async () => {
    const w = setUp({ script: document });
    for (let index = 0; index < 50; index += 1) w.add(`n${index}`, `10.244.${index}.0/24`);
    for (let index = 100; index < 110; index += 1) w.cloud.put(`10.244.${index}.0/24`, { targetKey: "gone" });
    await w.settle();
    expect(w.cloud.changes.at(-1)).toBe("change +50 -0");
    expect(w.cloud.changes.length).toBeLessThanOrEqual(2);
    expect(w.cloud.table).toHaveLength(50);
  });

  test("rereads the document and keeps other clients' changes after a conflict [F62]", async () => {
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

  test("isolates a rejected entry by splitting the changes, and applies all other changes", async () => {
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

  test("reports once that a reconcile fails after its listing, until a reconcile succeeds", async () => {
    let isBroken = true;
    const w = setUp({ script: document }).add("n1", "10.244.1.0/24");
    const { record } = w.removals;
    w.removals.record = (...given) =>
      isBroken ? Promise.reject(new TypeError("no Lease")) : record.call(w.removals, ...given);
    const unneeded = () => void w.cloud.put("10.244.9.0/24", { targetKey: "gone" });
    unneeded();
    await w.settle();
    const reasons = () => w.reportedProblems.map(({ reason }) => reason);
    expect(reasons()).toEqual(["RoutesUnfinished"]);
    expect(w.reportedProblems[0]?.text).toBe(
      "The cloud's routes were listed, but reconciling them failed; will retry: no Lease",
    );
    const broken = w.syncs.filter(({ isComplete }) => !isComplete);
    expect(broken.length).toBeGreaterThan(2);
    isBroken = false;
    await w.pass(60);
    expect(w.network("n1")).toBe("False RouteCreated");
    isBroken = true;
    unneeded();
    w.add("n2", "10.244.2.0/24");
    await w.pass(60);
    expect(reasons()).toEqual(["RoutesUnfinished", "RoutesUnfinished"]);
  });
});
