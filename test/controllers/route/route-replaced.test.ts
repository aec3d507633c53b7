import { afterEach, expect, test } from "bun:test";
import { seconds } from "../../../src/core/brand.ts";
import type { CloudError } from "../../../src/provider/errors.ts";
import type { Pending, StepOutcome } from "../../../src/provider/plan.ts";
import { RouteWorld } from "./route-world.ts";
import { refusal } from "./scripted-routes.ts";

// Routes that Fairlead replaces, or created with an unknown outcome, while listings or Nodes change.

let world: RouteWorld | undefined;
afterEach(() => world?.stop());

const range = (name: string) => `10.244.${name.slice(1)}.0/24`;
const names = (amount: number) => Array.from({ length: amount }, (_, index) => `n${index}`);
const creations = (w: RouteWorld) => w.cloud.changes.filter((line) => line.startsWith("create"));

const operation = (name: string): StepOutcome => ({
  done: false,
  operation: `remove ${name}`,
  checkAfter: seconds(5),
  waitingFor: "the network",
});

/** Operations run until the cloud forgets them. */
class Lost implements Pending {
  readonly limit = 10;
  isLost = false;

  async check(operations: readonly string[]) {
    const running = this.isLost ? [] : operations;
    return new Map<string, StepOutcome | CloudError>(
      running.map((id) => [id, { ...operation(""), operation: id }]),
    );
  }
}

test.each(["done", "lost"])(
  "routes whose duplicates were removed stay when a listing lacks all routes, with removals that are %s",
  async (end) => {
    const pending = new Lost();
    const w = new RouteWorld({ pending });
    world = w;
    for (const name of names(10)) {
      w.add(name, range(name));
      w.cloud.put(range(name), { targetKey: name });
      w.cloud.put(range(name), { targetKey: `former ${name}` });
      if (end === "lost") w.cloud.removals.push(operation(name));
    }
    await w.start().pass(10);
    expect(w.cloud.changes).toHaveLength(10);
    w.cloud.hides = () => true;
    pending.isLost = true;
    await w.pass(60);
    expect(creations(w)).toEqual([]);
    expect(w.removals.held("routes")).toHaveLength(10);
  },
);

/** Ten routes to former machines, whose removals are operations that the cloud forgets. */
const replacing = async (): Promise<{ readonly w: RouteWorld; readonly pending: Lost }> => {
  const pending = new Lost();
  const w = new RouteWorld({ pending });
  world = w;
  for (const name of names(10)) {
    w.add(name, range(name));
    w.cloud.put(range(name), { targetKey: `former ${name}` });
    w.cloud.removals.push(operation(name));
  }
  await w.start().pass(10);
  expect(w.cloud.changes.filter((line) => line.startsWith("remove"))).toHaveLength(10);
  return { w, pending };
};

test("immediately creates routes whose removal operation the cloud forgot, and counts them towards no limit", async () => {
  const { w, pending } = await replacing();
  w.cloud.table = [];
  pending.isLost = true;
  await w.pass(20);
  expect([w.cloud.table.length, w.held, w.removals.count("routes")]).toEqual([10, [], 0]);
});

test("routes that other clients remove while Fairlead replaces some count towards the mass limit", async () => {
  const { w, pending } = await replacing();
  const others = names(20).slice(10);
  for (const name of others) {
    w.add(name, range(name));
    w.cloud.put(range(name), { targetKey: name });
  }
  w.inventory.requestListing(w.clock.monotonic(), "refresh");
  await w.pass(15);
  w.cloud.table = [];
  pending.isLost = true;
  await w.pass(300);
  expect(w.removals.held("routes")).toHaveLength(10);
  expect(creations(w)).toHaveLength(10);
});

test.each([0, 20])(
  "replaces routes that the cloud hides for %i s instead of removing them",
  async (hidden) => {
    const { w, pending } = await replacing();
    pending.isLost = true;
    w.cloud.hides = () => hidden > 0;
    await w.pass(hidden);
    w.cloud.hides = () => false;
    await w.pass(180);
    expect([w.held, w.removals.count("routes")]).toEqual([[], 0]);
    expect(w.cloud.shown()).toEqual(names(10).map((name) => expect.stringContaining(`-> ${name} `)));
  },
);

test("a Node that is registered again after an uncertain creation of its route gets no duplicate route", async () => {
  const w = new RouteWorld();
  world = w;
  w.add("n1", range("n1"));
  w.cloud.failures.set(range("n1"), refusal("unavailable"));
  await w.start().pass(3);
  expect(creations(w)).toHaveLength(1);
  w.cloud.failures.clear();
  w.nodes.remove("n1");
  await w.pass(2);
  w.add("n1", range("n1"));
  await w.pass(10);
  w.cloud.put(range("n1"), { targetKey: "n1" });
  await w.pass(120);
  expect(creations(w)).toHaveLength(1);
  expect(w.network("n1")).toBe("False RouteCreated");
});

test("removes a route that is created late for a deleted Node within two minutes", async () => {
  const w = new RouteWorld();
  world = w;
  w.add("n1", range("n1"));
  w.cloud.failures.set(range("n1"), refusal("unavailable"));
  await w.start().pass(3);
  w.cloud.failures.clear();
  w.nodes.remove("n1");
  await w.pass(45);
  w.cloud.put(range("n1"), { targetKey: "n1" });
  await w.pass(60);
  expect(w.cloud.table).toEqual([]);
});

test("the deletion of a Node does not explain the loss of another Node with the same range", async () => {
  const w = new RouteWorld();
  world = w;
  for (const name of names(6)) {
    w.add(name, range(name));
    w.add(`m${name.slice(1)}`, range(name));
    w.cloud.put(range(name), { targetKey: name });
  }
  await w.settle();
  expect(w.cloud.changes).toEqual([]);
  for (const name of names(6)) w.nodes.remove(`m${name.slice(1)}`);
  await w.pass(5);
  w.nodes.vanish(...names(6));
  await w.pass(120);
  expect(w.cloud.changes).toEqual([]);
  expect(w.removals.held("routes")).toHaveLength(6);
});

test("keeps holding the routes of missing Nodes after other Nodes with the same ranges are deleted", async () => {
  const w = new RouteWorld();
  world = w;
  for (const name of names(6)) {
    w.add(name, range(name));
    w.add(`m${name.slice(1)}`, range(name), { isPaused: true });
    w.cloud.put(range(name), { targetKey: name });
  }
  await w.settle();
  expect(w.cloud.changes).toEqual([]);
  w.nodes.vanish(...names(6));
  await w.pass(5);
  for (const name of names(6)) w.nodes.remove(`m${name.slice(1)}`);
  await w.pass(120);
  expect(w.cloud.changes).toEqual([]);
  expect(w.removals.held("routes")).toHaveLength(6);
});
