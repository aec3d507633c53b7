import { afterEach, describe, expect, test } from "bun:test";
import type { RemovalMemory } from "../../../src/controllers/kernel/removal-memory.ts";
import { ServiceWorld } from "../../support/service-world.ts";

// Targets when the API server shows few Nodes or none, because it may be the wrong server or was restored.

let world: ServiceWorld | undefined;
afterEach(async () => {
  await world?.stop();
  world = undefined;
});

const services = ["shop", "web", ...Array.from({ length: 18 }, (_, index) => `app-${index}`)];
const nodeNames = (count: number) => Array.from({ length: count }, (_, index) => `node-${index}`);

const settled = async (nodes: number, ...flags: readonly string[]): Promise<ServiceWorld> => {
  const w = new ServiceWorld({ nodes });
  world = w;
  await w.start(...flags);
  for (const name of services) w.create(name);
  const isSettled = () => services.every((name) => w.addressesOf(name).length > 0);
  await w.until(isSettled, "the load balancers");
  w.forget();
  return w;
};

const targetCounts = (w: ServiceWorld) => w.cloud.balancers.list().map(({ targets }) => targets.length);

/** The Nodes are missing in the next list, without a watch event. */
const vanish = async (w: ServiceWorld, names: readonly string[]): Promise<void> => {
  w.server.faults.intercept = (_, { verb, plural }) =>
    verb === "watch" && plural === "nodes" ? "drop" : undefined;
  // The open watches end after at most five minutes.
  await w.pass(300);
  for (const name of names) w.removeNode(name);
  w.server.compact();
  w.server.faults.intercept = undefined;
  await w.pass(60);
};

const release = (w: ServiceWorld): readonly string[] =>
  (w.manager.removals as RemovalMemory).release("load-balancers");

describe("targets", () => {
  test.each([
    { before: 1, after: 0 },
    { before: 2, after: 0 },
    { before: 5, after: 0 },
    { before: 5, after: 2 },
  ])(
    "targets of all load balancers stay when a restarted manager sees $after of $before Nodes [N24]",
    async ({ before, after }) => {
      const w = await settled(before);
      w.crash();
      for (const name of nodeNames(before).slice(after)) w.removeNode(name);
      await w.start();
      await w.pass(3600);
      expect([targetCounts(w), w.changes]).toEqual([services.map(() => before), []]);
      const events = w.events("web").filter((event) => event.includes("TargetRemovalHeld"));
      expect(events).toHaveLength(1);
      expect(events[0]).toContain(
        `but the API server shows ${after} Nodes, and no deletion of the others was seen.`,
      );
      expect(release(w)).toEqual(services.map((name) => `default/${name}`).toSorted());
      await w.pass(60);
      expect(targetCounts(w)).toEqual(services.map(() => after));
      expect(w.manager.removals.held("load-balancers")).toEqual([]);
    },
  );

  test("targets stay, and a deleted Service loses its load balancer, when a restarted manager sees no Nodes [N24]", async () => {
    const w = await settled(3);
    w.crash();
    for (const name of nodeNames(3)) w.removeNode(name);
    await w.start();
    await w.pass(60);
    w.delete("shop");
    await w.until(() => w.find("shop") === undefined, "the deletion of the Service");
    expect(targetCounts(w)).toEqual(services.slice(1).map(() => 3));
  });

  test.each([1, 4])(
    "targets follow a restart with fewer Nodes when at least half of %i pairs are left [N24]",
    async (pairs) => {
      const w = await settled(pairs * 2);
      w.crash();
      for (const name of nodeNames(pairs)) w.removeNode(name);
      await w.start();
      await w.pass(60);
      expect(targetCounts(w)).toEqual(services.map(() => pairs));
    },
  );

  test("targets stay in a running manager when more Nodes vanish than the limit allows, until some return [N24]", async () => {
    const w = await settled(5);
    await vanish(w, nodeNames(3));
    await w.pass(3600);
    expect([targetCounts(w), w.changes]).toEqual([services.map(() => 5), []]);
    w.addNode("node-8");
    await w.pass(60);
    expect(targetCounts(w)).toEqual(services.map(() => 5));
    w.addNode("node-0");
    await w.pass(60);
    expect(targetCounts(w)).toEqual(services.map(() => 4));
    expect(w.manager.removals.held("load-balancers")).toEqual([]);
  });

  test("targets follow deletions that a standby replica saw before it became the leader [N24]", async () => {
    const w = await settled(5, "--leader-elect");
    w.crash();
    w.holdLease("another");
    await w.start("--leader-elect");
    await w.pass(5);
    for (const name of nodeNames(3)) w.removeNode(name);
    await w.pass(60);
    expect(targetCounts(w)).toEqual(services.map(() => 2));
  });

  test("targets follow a minority of Nodes that vanish, and all Nodes whose deletion was seen [N24]", async () => {
    const w = await settled(5);
    await vanish(w, nodeNames(2));
    expect(targetCounts(w)).toEqual(services.map(() => 3));
    for (const name of nodeNames(5).slice(2)) w.removeNode(name);
    await w.pass(60);
    expect(targetCounts(w)).toEqual(services.map(() => 0));
  });

  test("a new load balancer in a cluster without Nodes has no targets, without a hold [N24]", async () => {
    const w = await settled(0);
    w.addNode("node-0");
    await w.pass(60);
    expect(targetCounts(w)).toEqual(services.map(() => 1));
    expect(w.manager.removals.held("load-balancers")).toEqual([]);
  });
});
