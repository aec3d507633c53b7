import { expect, test } from "bun:test";
import { VirtualClock } from "../../../src/testing/virtual-time/virtual-clock.ts";
import type { Thing } from "../../support/scripted-plan.ts";
import { type Override, scriptedWorld } from "../../support/scripted-world.ts";

// The work of many Services in steps, independent of other programs on the machine. `npm run bench`
// measures processor time and memory.

const count = 40;

/** A world that counts the provider's calls. */
function countingWorld() {
  const calls: Record<string, number> = {};
  const counted: Override = (balancers) =>
    Object.fromEntries(
      Object.entries(balancers).map(([name, value]) => {
        if (typeof value !== "function") return [name, value];
        const call = (...args: readonly unknown[]): unknown => {
          calls[name] = (calls[name] ?? 0) + 1;
          return Reflect.apply(value, balancers, args);
        };
        return [name, call];
      }),
    );
  return { ...scriptedWorld(undefined, counted), calls };
}

async function settledWorld() {
  const world = countingWorld();
  const { w, script, calls } = world;
  await w.start();
  await w.pass(30);
  const atStart = { ...calls };
  for (let index = 0; index < count; index += 1) w.create(`web-${index}`);
  await w.until(() => script.things.size === count, "all load balancers");
  await w.pass(60);
  const since = (before: Readonly<Record<string, number>>) => (name: string) =>
    (calls[name] ?? 0) - (before[name] ?? 0);
  return { ...world, atStart, since };
}

test("creating 40 Services takes two plans and one change each, and one listing for all", async () => {
  const { w, atStart, since } = await settledWorld();
  const made = since(atStart);
  expect(["plan", "apply", "publish"].map((name) => made(name) / count)).toEqual([2, 1, 1]);
  expect(made("list")).toBe(1);
  await w.stop();
});

test("adding a Node takes two plans and one change for each of 40 Services", async () => {
  const { w, calls, since } = await settledWorld();
  const before = { ...calls };
  w.addNode("late");
  w.setReady("late", "True");
  await w.pass(60);
  const made = since(before);
  expect(["plan", "apply"].map((name) => made(name) / count)).toEqual([2, 1]);
  expect(made("list")).toBeLessThanOrEqual(1);
  await w.stop();
});

test("a restart in a settled cluster takes one plan and no change for each of 40 Services", async () => {
  const { w, calls, since } = await settledWorld();
  await w.stop();
  const before = { ...calls };
  await w.start();
  await w.pass(60);
  const made = since(before);
  expect(["plan", "apply"].map((name) => made(name) / count)).toEqual([1, 0]);
  expect(made("list")).toBe(1);
  await w.stop();
});

test("a listing that repeats the load balancers of 40 complete Services causes no new plan", async () => {
  const { w, script, calls, since } = await settledWorld();
  const before = { ...calls };
  w.create("late");
  await w.until(() => script.things.size === count + 1, "the load balancer of the new Service");
  await w.pass(60);
  const made = since(before);
  expect(made("list")).toBe(1);
  expect(["plan", "apply"].map(made)).toEqual([2, 1]);
  await w.stop();
});

test("a listing causes a plan only for the one of 40 complete Services whose load balancer was changed in the cloud", async () => {
  const { w, script, calls, since } = await settledWorld();
  const [[id, thing]] = [...script.things] as [[string, Thing]];
  const before = { ...calls };
  script.things.set(id, { ...thing, targets: 7 });
  w.create("late");
  await w.until(() => script.things.get(id)?.targets === thing.targets, "the repair");
  await w.pass(60);
  // Two plans and one change for each of the two.
  expect(["plan", "apply"].map(since(before))).toEqual([4, 2]);
  await w.stop();
});

test("each of 40 complete Services is planned again after a regular listing, regardless of its content", async () => {
  const { w, calls, since } = await settledWorld();
  const before = { ...calls };
  await w.pass(31 * 60);
  const made = since(before);
  expect(made("list")).toBe(1);
  expect(["plan", "apply"].map((name) => made(name) / count)).toEqual([1, 0]);
  await w.stop();
});

test("chooses targets once for each of 40 Services when a load balancer allows fewer targets than Nodes", async () => {
  const chosen = new Set<readonly unknown[]>();
  const { w, script } = scriptedWorld(undefined, (balancers) => ({
    targetLimit: () => 1,
    plan: (desired, observed, prefetched) => {
      if (desired !== undefined) chosen.add(desired.targets);
      return balancers.plan(desired, observed, prefetched);
    },
  }));
  await w.start();
  for (let index = 0; index < count; index += 1) w.create(`web-${index}`);
  await w.until(() => script.things.size === count, "all load balancers");
  await w.pass(60);
  expect(chosen.size).toBe(count);
  await w.stop();
});

test("no turn of the event loop plans many of 40 Services when a Node joins or when a leader starts [N25]", async () => {
  const { w, calls } = await settledWorld();
  const { monotonic, after } = VirtualClock.prototype;
  let plansBefore = calls["plan"] ?? 0;
  let mostInOneTurn = 0;
  const endTurn = () => {
    mostInOneTurn = Math.max(mostInOneTurn, (calls["plan"] ?? 0) - plansBefore);
    plansBefore = calls["plan"] ?? 0;
  };
  // Each plan takes four milliseconds.
  w.clock.monotonic = () => monotonic.call(w.clock) + 4 * (calls["plan"] ?? 0);
  w.clock.after = (delay, callback) =>
    after.call(w.clock, delay, () => {
      endTurn();
      callback();
    });
  w.addNode("late");
  w.setReady("late", "True");
  await w.pass(60);
  await w.stop();
  await w.start();
  await w.pass(60);
  endTurn();
  expect(mostInOneTurn).toBeLessThanOrEqual(3);
});
