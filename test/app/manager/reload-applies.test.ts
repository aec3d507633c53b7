import { expect, test } from "bun:test";
import { fake } from "../../../providers/fake/index.ts";
import { putEndpoints } from "../../support/put-endpoints.ts";
import { configPath, flagsFile, ReloadingProcess } from "../../support/reloading-process.ts";
import { ServiceWorld } from "../../support/service-world.ts";

// Settings that change while the process runs apply to existing objects.

const startWith = async (provider: unknown, ...flags: readonly string[]) => {
  const world = new ServiceWorld({ nodes: 3 });
  for (const name of ["node-0", "node-1", "node-2"]) world.setReady(name, "True");
  const process = new ReloadingProcess({
    world,
    provider,
    contents: { [configPath]: flagsFile("v: 0", ...flags) },
    args: ["--cluster-cidr=10.244.0.0/16", `--config=${configPath}`],
  });
  await process.untilLeading();
  await world.pass(60);
  process.forget();
  return { world, process };
};

const start = (...flags: readonly string[]) => startWith(fake, ...flags);

const regionOf = (world: ServiceWorld, name: string): string | undefined =>
  world.server.store.get("nodes", undefined, name)?.metadata.labels?.["topology.kubernetes.io/region"];

const requests = ({ cloud }: ReloadingProcess, path: string): number =>
  cloud.filter((what) => what.startsWith(`GET /v1/${path}`)).length;

test("a changed label policy applies to every Node, without relisting Kubernetes objects", async () => {
  const { world, process } = await start();
  const region = regionOf(world, "node-1");
  world.changeNode("node-1", ({ metadata, ...node }) => ({
    ...node,
    metadata: { ...metadata, labels: { ...metadata.labels, "topology.kubernetes.io/region": "elsewhere" } },
  }));
  await world.pass(30);
  expect(regionOf(world, "node-1")).toBe("elsewhere");
  process.forget();
  process.hangUp(configPath, flagsFile("v: 0", "label-policy: { topology.kubernetes.io/region: sync }"));
  await world.pass(5);
  expect(regionOf(world, "node-1")).toBe(region as string);
  expect(process.listings).toEqual([]);
  expect(process.kube.filter((what) => what.startsWith("PATCH"))).toHaveLength(1);
  await process.end();
});

test("a reload can enable the deletion of Nodes", async () => {
  const { world, process } = await start("node-deletion: off");
  const isThere = () => world.server.store.get("nodes", undefined, "node-1") !== undefined;
  world.cloud.machines.remove("node-1");
  world.setReady("node-1", "Unknown");
  await world.pass(300);
  expect(isThere()).toBe(true);
  await process.write("v: 0", "node-deletion: enforce");
  await world.until(() => !isThere(), "the deletion", 200);
  await process.end();
});

test("a reload retries targets that the cloud rejected", async () => {
  const refusing = {
    ...fake,
    connect: (...args: Parameters<typeof fake.connect>) => {
      const { loadBalancers, ...cloud } = fake.connect(...args);
      if (loadBalancers === undefined) throw new Error("The fake cloud has load balancers.");
      const { apply } = loadBalancers;
      const refused = [{ node: "node-1", text: "it is in another network" }];
      const applyAndRefuse: typeof apply = async (step, call) => ({ ...(await apply(step, call)), refused });
      return { ...cloud, loadBalancers: { ...loadBalancers, apply: applyAndRefuse } };
    },
  };
  const { world, process } = await startWith(refusing);
  world.create("web");
  const targets = () => world.cloud.balancers.list()[0]?.targets.length;
  await world.until(() => targets() === 2, "the targets without the refused one");
  process.hangUp(configPath, flagsFile("v: 0", "load-balancer-drift: report"));
  await world.until(() => targets() === 3, "the attempt", 10);
  await process.end();
});

test("a changed target policy applies to every Service", async () => {
  const { world, process } = await start();
  const targets = () => world.cloud.balancers.list()[0]?.targets.length;
  world.create("web");
  putEndpoints(world, "web", ["node-1"]);
  await world.until(() => targets() === 3, "all Nodes as targets");
  await world.pass(30);
  process.forget();
  process.hangUp(configPath, flagsFile("v: 0", "load-balancer-targets: endpoints"));
  await world.until(() => targets() === 1, "the Node with an endpoint as the only target", 10);
  expect(process.listings.every((what) => what.includes("/endpointslices"))).toBe(true);
  expect(process.cloud.filter((what) => !what.startsWith("GET "))).toHaveLength(1);
  await process.end();
});

test("a changed interval between full route reconciliations applies from the next reconciliation", async () => {
  const { world, process } = await start();
  process.hangUp(configPath, flagsFile("v: 0", "route-reconciliation-period: 10s"));
  await world.pass(60);
  expect(requests(process, "routes")).toBeGreaterThanOrEqual(5);
  expect(requests(process, "routes")).toBeLessThanOrEqual(8);
  await process.end();
});

test("a changed listing interval applies immediately, however long the last interval was", async () => {
  const { world, process } = await start();
  await world.pass(310);
  process.forget();
  process.hangUp(configPath, flagsFile("v: 0", "node-status-update-frequency: 10s"));
  await world.pass(60);
  expect(requests(process, "machines")).toBeGreaterThanOrEqual(5);
  expect(requests(process, "machines")).toBeLessThanOrEqual(7);
  await process.end();
});

test("a changed deadline for cloud requests applies, and request budgets keep the cloud's limits", async () => {
  const { world, process } = await start();
  const closedOperations = () =>
    process
      .page("/debug/state")
      .then((page) => JSON.parse(page).accounts[0].budget.closedOperationsForSeconds);
  world.cloud.faults.add({ kind: "status", operation: "POST /balancers", status: 429 });
  world.create("shop");
  await world.until(() => process.linesWith("(429 from POST").length === 1, "the refusal");
  process.hangUp(configPath, flagsFile("v: 0", "cloud-call-timeout: 2s"));
  await world.pass(0.1);
  expect(process.linesWith("Applied the changed configuration: --cloud-call-timeout")).toHaveLength(1);
  expect(Object.keys(await closedOperations())).toEqual(["POST /balancers"]);
  await world.until(() => world.addressesOf("shop").length === 1, "an address");
  world.cloud.faults.add({ kind: "hang", operation: "POST /balancers" });
  world.create("web");
  await world.pass(5);
  expect(process.linesWith("did not respond within 2s")).toHaveLength(1);
  await process.end();
});

test("a changed number of workers applies without a restart", async () => {
  const { world, process } = await start("concurrent-service-syncs: 32");
  await process.write("v: 0", "concurrent-service-syncs: 2");
  world.cloud.faults.add({ kind: "slow", operation: "POST /balancers", milliseconds: 3000, calls: 9 });
  for (let each = 0; each < 9; each += 1) world.create(`web-${each}`);
  await world.pass(2.5);
  expect(process.cloud.filter((what) => what === "POST /v1/balancers")).toHaveLength(2);
  await process.end();
});

test("logs a new warning once, not at every reload", async () => {
  const { world, process } = await start();
  const warned = () => process.linesWith("--node-monitor-period has no effect");
  expect(warned()).toEqual([]);
  for (const targets of ["all", "endpoints", "all"]) {
    await process.write("v: 0", "node-monitor-period: 7s", `load-balancer-targets: ${targets}`);
  }
  expect(warned()).toHaveLength(1);
  await world.pass(1);
  await process.end();
});

test("a standby replica applies a changed setting when it becomes the leader, and sends no request before", async () => {
  const { world, process } = await start("load-balancer-targets: all");
  world.create("web");
  putEndpoints(world, "web", ["node-1"]);
  const targets = () => world.cloud.balancers.list()[0]?.targets.length;
  await world.until(() => targets() === 3, "all Nodes as targets");
  world.holdLease("other");
  await world.until(() => process.linesWith("Lost leadership").length === 1, "the loss", 20);
  process.cloud.length = 0;
  process.hangUp(configPath, flagsFile("v: 0", "load-balancer-targets: endpoints", "cloud-call-timeout: 9s"));
  await world.pass(5);
  expect(process.linesWith("Applied the changed configuration")).toEqual([
    expect.stringContaining('--load-balancer-targets: "all" -> "endpoints"'),
    expect.stringContaining("--cloud-call-timeout: "),
  ]);
  expect([process.cloud, await process.metric("workqueue_depth")]).toEqual([[], 0]);
  world.holdLease("");
  await world.until(() => targets() === 1, "the Node with an endpoint as the only target", 60);
  await process.end();
});
