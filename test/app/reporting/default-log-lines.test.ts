import { afterEach, expect, test } from "bun:test";
import { resourceNamed } from "../../../src/testing/apiserver/objects/resource-table.ts";
import { toNode } from "../../support/api-server-nodes.ts";
import { uninitialized } from "../../support/node-controllers.ts";
import { ServiceWorld } from "../../support/service-world.ts";

// What a whole manager logs at the default level: one line per decision that changed something.

let world: ServiceWorld | undefined;
afterEach(async () => {
  await world?.stop();
});

const setUp = (nodes: number) => {
  const w = new ServiceWorld({ nodes });
  world = w;
  let read = 0;
  /** Log lines since the last call, without time and source. */
  const news = (): readonly string[] => {
    const lines = w.logged.slice(read).map((line) => line.slice(line.indexOf("] ") + 2, -1));
    read = w.logged.length;
    return lines;
  };
  return { w, news };
};

const join = (w: ServiceWorld, name: string, podCIDR?: string) => {
  w.cloud.machines.add(name);
  const spec = { taints: [uninitialized], ...(podCIDR !== undefined && { podCIDR, podCIDRs: [podCIDR] }) };
  w.server.store.put(resourceNamed("nodes"), toNode({ name, spec }, w.clock.now()) as never);
};
test("logs one line per joining Node, and a few lines with counts for routes", async () => {
  const { w, news } = setUp(0);
  await w.start("--controllers=cloud-node,cloud-node-lifecycle,node-route", "--cluster-cidr=10.244.0.0/16");
  await w.pass(30);
  news();
  for (let index = 0; index < 100; index += 1) join(w, `n${index}`, `10.244.${index}.0/24`);
  await w.pass(120);
  const lines = news();
  const synced = lines.filter((line) => line.startsWith("Node synced successfully"));
  expect(new Set(synced)).toHaveLength(100);
  const others = lines.filter((line) => !synced.includes(line));
  const counts = others.map(
    (line) => /^Routes changed in the cloud created=(\d+) removed=0 routes="\+10\.244\./.exec(line)?.[1],
  );
  expect(counts.reduce((sum, count) => sum + Number(count), 0)).toBe(100);
  expect(others.length).toBeLessThan(5);
  for (const line of others) expect(line.length).toBeLessThan(500);
});

test("logs one line each when a Node's machine stops, starts and is deleted", async () => {
  const { w, news } = setUp(0);
  await w.start("--controllers=cloud-node-lifecycle");
  w.addNode("n0");
  w.setReady("n0", "False");
  w.cloud.machines.setStatus("n0", "stopped");
  await w.pass(120);
  news();
  w.cloud.machines.setStatus("n0", "running");
  w.setReady("n0", "True");
  await w.pass(120);
  expect(news()).toEqual(['Shutdown taint removed: the instance is running again node="n0"']);
  w.cloud.machines.setStatus("n0", "stopped");
  w.setReady("n0", "False");
  await w.pass(120);
  expect(news()).toEqual(['Shutdown taint set: the instance is shut down node="n0"']);
  w.cloud.machines.remove("n0");
  await w.pass(900);
  expect(news()).toEqual([
    'Deleting node n0 because it does not exist in the cloud provider node="n0" reason="DeletingNode"',
  ]);
});

test("logs the new values of a Node that changes because its machine changed", async () => {
  const { w, news } = setUp(0);
  await w.start("--controllers=cloud-node", "--node-status-update-frequency=1m");
  join(w, "n0");
  await w.pass(60);
  news();
  const [machine] = w.cloud.machines.find("n0");
  if (machine === undefined) throw new Error("There is no machine.");
  Object.assign(machine, { type: "t9.other" });
  await w.pass(300);
  expect(news()).toEqual([
    expect.stringMatching(
      /^Node changed: the cloud reports other values node="n0" now="label node.kubernetes.io\/instance-type=t9.other/,
    ),
  ]);
});

test("logs one line when a load balancer is created, updated and deleted, even if its Service is already gone", async () => {
  const { w, news } = setUp(3);
  await w.start();
  await w.pass(30);
  news();
  w.create("web");
  await w.pass(30);
  expect(news()).toEqual(['Ensured load balancer service="default/web" reason="EnsuredLoadBalancer"']);
  w.addNode("late");
  await w.pass(60);
  expect(news()).toEqual([
    'Updated load balancer with new hosts service="default/web" reason="UpdatedLoadBalancer"',
  ]);
  w.delete("web");
  await w.pass(30);
  expect(news()).toEqual(['Deleted load balancer service="default/web" reason="DeletedLoadBalancer"']);
  w.create("mail");
  await w.pass(30);
  news();
  w.edit("mail", (service) => ({ ...service, metadata: { ...service.metadata, finalizers: [] } }));
  w.delete("mail");
  await w.pass(60);
  expect(news()).toEqual([
    expect.stringMatching(/^Deleted load balancer: its Service is gone balancer="\S+"$/),
  ]);
  expect(w.events("web").some((event) => event.includes("EnsuringLoadBalancer"))).toBe(true);
});
