import { expect, test } from "bun:test";
import { trueView } from "../../../providers/fake/simulator/view.ts";
import { runsAllTests } from "../../../src/testing/breadth.ts";
import { configPath, flagsFile, ReloadingProcess } from "../../support/reloading-process.ts";
import { ServiceWorld } from "../../support/service-world.ts";

// Objects that were counted before a reload still count afterwards.

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
  const reload = () => process.hangUp(configPath, flagsFile("concurrent-service-syncs: 9", ...flags));
  return { world, process, reload };
};

const nodesOf = (world: ServiceWorld): number => world.server.store.list("nodes").length;

const cordoned = async (isReloaded: boolean): Promise<number> => {
  const { world, process, reload } = await start(10);
  // A listing lacks four machines, and their kubelets are partitioned.
  const names = ["node-0", "node-1", "node-2", "node-3"];
  for (const resource of names)
    world.cloud.faults.hide({ resource, from: "both", milliseconds: 24 * 3_600_000 });
  for (const name of names) world.setReady(name, "Unknown");
  await world.until(() => process.linesWith("MassDeletionHeld").length === 4, "the hold", 300);
  // An operator cordons two of the Nodes during the investigation.
  for (const name of names.slice(0, 2))
    world.changeNode(name, (node) => ({ ...node, spec: { ...node.spec, unschedulable: true } }));
  await world.pass(300);
  expect(nodesOf(world)).toBe(10);
  if (isReloaded) reload();
  await world.pass(900);
  const left = nodesOf(world);
  await process.end();
  return left;
};

test("cordoning held Nodes does not end their hold", async () => {
  expect(await cordoned(false)).toBe(10);
});

test("a reload does not end the hold of Nodes when two of them were cordoned during the hold", async () => {
  expect(await cordoned(true)).toBe(10);
});

const deleted = async (isReloaded: boolean) => {
  const { world, process, reload } = await start(2, "controllers: [service]");
  const names = Array.from({ length: 10 }, (_, index) => `old-${index}`);
  for (const name of names) world.create(name);
  await world.until(() => names.every((name) => world.addressesOf(name).length === 1), "addresses", 120);
  await world.pass(60);
  const hidden = names.slice(0, 5);
  const uids = new Set<string>(hidden.map((name) => world.get(name).metadata.uid));
  const balancers: typeof trueView.balancers = (all) =>
    all.filter(({ labels }) => !uids.has(labels["owner-uid"] ?? ""));
  world.cloud.view = { ...trueView, balancers };
  await world.until(() => process.linesWith("MassRecreationHeld").length > 0, "the hold", 7200);
  // The namespace is deleted while the cloud lacks the load balancers.
  for (const name of hidden) world.delete(name);
  await world.pass(300);
  expect(hidden.filter((name) => world.find(name) === undefined)).toEqual([]);
  if (isReloaded) reload();
  await world.pass(900);
  const gone = hidden.filter((name) => world.find(name) === undefined);
  const left = world.cloud.balancers.list().length;
  await process.end();
  return { gone, left };
};

test("keeps the finalizers of five deleted Services while listings lack their load balancers", async () => {
  expect(await deleted(false)).toEqual({ gone: [], left: 10 });
});

test.if(runsAllTests)(
  "keeps the finalizers of five deleted Services while listings lack their load balancers, even after a reload",
  async () => {
    expect(await deleted(true)).toEqual({ gone: [], left: 10 });
  },
);
