// When a server is deleted, the cloud removes it from the targets. Fairlead does not report that as drift.

import { expect, test } from "bun:test";
import { HetznerWorld } from "./hetzner-world.ts";

const names = Array.from({ length: 5 }, (_, index) => `s${index}`);
const isChange = (operation: string): boolean => !operation.startsWith("GET ");

async function settledWorld(): Promise<HetznerWorld> {
  const h = new HetznerWorld({ nodes: 4 });
  await h.start("cloud-node,cloud-node-lifecycle,service");
  for (const { metadata } of h.nodes()) h.world.setReady(metadata.name, "True");
  for (const [index, name] of names.entries())
    h.world.create(name, { spec: { ports: [{ port: 80, protocol: "TCP", nodePort: 30_000 + index }] } });
  await h.world.until(() => names.every((name) => h.world.addressesOf(name).length > 0), "all addresses");
  await h.world.pass(120);
  h.forget();
  return h;
}

function serverOf(h: HetznerWorld, node: string): number {
  return Number(h.node(node).spec.providerID?.replace("hcloud://", ""));
}

const list = (h: HetznerWorld): void =>
  h.world.manager.balancers?.request(Number.POSITIVE_INFINITY, "refresh");
const targets = (h: HetznerWorld) => h.cloud.project.balancers.list().map((one) => one.targets.length);
const warnings = (h: HetznerWorld) =>
  names.flatMap((name) => h.world.events(name)).filter((event) => event.startsWith("Warning"));

test("does not report a deleted server as drift, and does not add it again [F31]", async () => {
  const h = await settledWorld();
  h.cloud.project.servers.remove(serverOf(h, "node-1"));
  list(h);
  await h.world.pass(30);
  h.world.setReady("node-1", "Unknown");
  list(h);
  // A joining Node changes the targets, and the deleted server still does not become a target.
  h.addNode("node-9");
  h.world.setReady("node-9", "True");
  await h.world.until(
    () => h.nodes().every(({ metadata }) => metadata.name !== "node-1"),
    "the deletion",
    300,
  );
  await h.world.pass(120);
  expect(warnings(h)).toEqual([]);
  expect(h.requests.filter(isChange)).toEqual(
    names.map(() => "POST /load_balancers/{id}/actions/add_target"),
  );
  expect(targets(h)).toEqual(names.map(() => 4));
  await h.world.stop();
});

test("reports a target that a user removes as drift, and adds it again", async () => {
  const h = await settledWorld();
  const [first] = h.cloud.project.balancers.list();
  if (first === undefined) throw new Error("Expected a load balancer.");
  const server = serverOf(h, "node-1");
  h.cloud.project.balancers.change(first.id, {
    targets: first.targets.filter((one) => !("server" in one) || one.server !== server),
  });
  list(h);
  await h.world.until(() => targets(h).every((count) => count === 4), "the repair", 10);
  expect(warnings(h)).toHaveLength(1);
  expect(warnings(h)[0]).toEndWith(`was changed outside Fairlead. Repairing it: add target (${first.name})`);
  await h.world.stop();
});

test("keeps a server that the cloud hides as a target", async () => {
  const h = await settledWorld();
  h.cloud.faults.hide({ resource: "node-1", from: "both", milliseconds: 60_000 });
  h.world.setReady("node-1", "Unknown");
  list(h);
  await h.world.pass(20);
  h.addNode("node-9");
  await h.world.until(() => targets(h).every((count) => count === 5), "the new target", 60);
  expect(h.requests.filter((one) => one.includes("remove_target"))).toEqual([]);
  await h.world.stop();
});

test("writes nothing and adds no target after a restart while the Node of a deleted server remains", async () => {
  const h = await settledWorld();
  h.cloud.project.servers.remove(serverOf(h, "node-1"));
  list(h);
  await h.world.pass(30);
  h.forget();
  for (let restart = 0; restart < 2; restart += 1) {
    await h.world.stop();
    await h.start("cloud-node,cloud-node-lifecycle,service");
    await h.world.pass(60);
  }
  const written = h.world.written.filter((path) => path.includes("/services/"));
  expect([written, h.requests.filter(isChange), warnings(h)]).toEqual([[], [], []]);
  await h.world.stop();
});

test("applies a changed port while the cloud does not answer about a deleted server", async () => {
  const h = await settledWorld();
  h.cloud.faults.add({ kind: "status", status: 503, operation: "GET /servers", calls: 100_000 });
  h.cloud.faults.add({ kind: "status", status: 503, operation: "GET /servers/{id}", calls: 100_000 });
  h.cloud.project.servers.remove(serverOf(h, "node-1"));
  list(h);
  await h.world.pass(30);
  h.world.editSpec("s0", { ports: [{ port: 81, protocol: "TCP", nodePort: 30_000 }] });
  await h.world.pass(300);
  const ports = h.cloud.project.balancers
    .list()
    .flatMap(({ services }) => services.map((one) => one.listen_port));
  expect(ports).toContain(81);
  await h.world.stop();
});
