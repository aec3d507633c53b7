import { expect, test } from "bun:test";
import { type Override, scriptedWorld } from "../../support/scripted-world.ts";

// The work of many Services in steps, which no other program on the machine changes. `npm run bench` measures processor time and memory.

const count = 40;

/** A world that counts the calls of the provider. */
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

test("each of 40 new Services takes two plans, one change and one reading of its group, and one listing serves all", async () => {
  const { w, atStart, since } = await settledWorld();
  const made = since(atStart);
  expect(["plan", "apply", "groupOf", "publish"].map((name) => made(name) / count)).toEqual([2, 1, 1, 1]);
  expect(made("list")).toBe(1);
  await w.stop();
});

test("one more Node takes two plans and one change for each of 40 Services, and reads no group again", async () => {
  const { w, calls, since } = await settledWorld();
  const before = { ...calls };
  w.addNode("late");
  w.setReady("late", "True");
  await w.pass(60);
  const made = since(before);
  expect(["plan", "apply", "groupOf"].map((name) => made(name) / count)).toEqual([2, 1, 0]);
  expect(made("list")).toBeLessThanOrEqual(1);
  await w.stop();
});

test("a restart with everything in place takes one plan and no change for each of 40 Services", async () => {
  const { w, calls, since } = await settledWorld();
  await w.stop();
  const before = { ...calls };
  await w.start();
  await w.pass(60);
  const made = since(before);
  expect(["plan", "apply", "groupOf"].map((name) => made(name) / count)).toEqual([1, 0, 1]);
  expect(made("list")).toBe(1);
  await w.stop();
});
