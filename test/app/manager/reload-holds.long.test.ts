import { expect, test } from "bun:test";
import { trueView } from "../../../providers/fake/simulator/view.ts";
import { runsAllTests } from "../../../src/testing/breadth.ts";
import { configPath, flagsFile, ReloadingProcess } from "../../support/reloading-process.ts";
import { ServiceWorld } from "../../support/service-world.ts";

// Objects that the mass limits hold during a reload: a hold is neither forgotten nor ended.

const start = async (nodes: number, ...flags: readonly string[]) => {
  const world = new ServiceWorld({ nodes });
  for (const { metadata } of world.server.store.list("nodes")) world.setReady(metadata.name, "True");
  const process = new ReloadingProcess({
    world,
    contents: { [configPath]: flagsFile("concurrent-service-syncs: 8", ...flags) },
    args: ["--cluster-cidr=10.244.0.0/16", `--config=${configPath}`],
  });
  await process.untilLeading();
  await world.pass(60);
  let turn = 0;
  const reload = (): void => {
    turn += 1;
    process.hangUp(configPath, flagsFile(`concurrent-service-syncs: ${8 + turn}`, ...flags));
  };
  return { world, process, reload };
};

const loseMachines = (world: ServiceWorld, names: readonly string[]): void => {
  for (const name of names) {
    world.cloud.machines.remove(name);
    world.setReady(name, "Unknown");
  }
};

const nodesOf = (world: ServiceWorld): number => world.server.store.list("nodes").length;

test("a reload after the cluster has grown does not end a hold of Nodes", async () => {
  const { world, process, reload } = await start(10);
  loseMachines(world, ["node-0", "node-1", "node-2"]);
  await world.until(() => process.linesWith("MassDeletionHeld").length === 3, "the hold", 300);
  for (let index = 10; index < 30; index += 1) {
    world.addNode(`node-${index}`);
    world.setReady(`node-${index}`, "True");
  }
  await world.pass(120);
  expect(nodesOf(world)).toBe(30);
  reload();
  await world.pass(600);
  expect(nodesOf(world)).toBe(30);
  await process.end();
});

const settledServices = async (...flags: readonly string[]) => {
  const { world, ...rest } = await start(2, "controllers: [service]", ...flags);
  const names = Array.from({ length: 10 }, (_, index) => `old-${index}`);
  for (const name of names) world.create(name);
  await world.until(() => names.every((name) => world.addressesOf(name).length === 1), "addresses", 120);
  await world.pass(60);
  /** Listings lack the load balancers of these Services. */
  const hide = async (...hidden: readonly string[]): Promise<void> => {
    const uids = new Set<string>(hidden.map((name) => world.get(name).metadata.uid));
    const balancers: typeof trueView.balancers = (all) =>
      all.filter(({ labels }) => !uids.has(labels["owner-uid"] ?? ""));
    world.cloud.view = { ...trueView, balancers };
    await world.until(() => rest.process.linesWith("MassRecreationHeld").length > 0, "the hold", 7200);
  };
  const grow = async (): Promise<void> => {
    const added = Array.from({ length: 20 }, (_, index) => `new-${index}`);
    for (const name of added) world.create(name);
    await world.until(() => added.every((name) => world.addressesOf(name).length === 1), "addresses", 300);
  };
  return { world, hide, grow, ...rest };
};

test("a reload after Services were added does not end a hold of load balancers", async () => {
  const { world, process, reload, hide, grow } = await settledServices();
  await hide("old-0", "old-1", "old-2");
  await grow();
  await world.pass(120);
  process.forget();
  reload();
  await world.pass(900);
  expect(process.cloud.filter((what) => what === "POST /v1/balancers")).toEqual([]);
  await process.end();
});

test.if(runsAllTests)(
  "a reload does not end a hold if another process held the other Lease of a leader migration",
  async () => {
    const { world, process, reload, hide, grow } = await settledServices("enable-leader-migration: true");
    await hide("old-0", "old-1", "old-2");
    await grow();
    world.holdLease("another-replica");
    await world.pass(5);
    world.holdLease("");
    await world.pass(120);
    process.forget();
    reload();
    await world.pass(900);
    expect(process.cloud.filter((what) => what === "POST /v1/balancers")).toEqual([]);
    await process.end();
  },
);

test("a release shortly after a reload applies to the load balancers that were held before", async () => {
  const { world, process, reload, hide } = await settledServices();
  await hide("old-0", "old-1", "old-2", "old-3", "old-4");
  await world.pass(60);
  reload();
  await world.pass(8);
  world.annotateLease({ "fairlead.dev/release-hold": "load-balancers" });
  await world.pass(8);
  expect(process.linesWith("HoldReleaseIgnored")).toEqual([]);
  const covered = /5 load-balancers \(default\/old-0, default\/old-1/;
  expect(process.lines.filter((line) => covered.test(line))).toHaveLength(1);
  await process.end();
});

test("a replica that lost its Lease has no held objects", async () => {
  const { world, process, hide } = await settledServices();
  await hide("old-0", "old-1", "old-2");
  const held = async (): Promise<number> =>
    JSON.parse(await process.page("/debug/state")).massLimits["load-balancers"].held.count;
  await world.pass(60);
  expect(await held()).toBe(3);
  for (let time = 0; time < 60; time += 5) {
    world.holdLease("another-replica");
    await world.pass(5);
  }
  expect(await held()).toBe(0);
  await process.end();
});
