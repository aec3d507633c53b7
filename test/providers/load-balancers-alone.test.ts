// --controllers=service: instances are requested only if neither a provider id nor an address names the target.

import { expect, test } from "bun:test";
import { ensureSubnet } from "../../providers/openstack/simulator/index.ts";
import { HetznerWorld } from "./hetzner/hetzner-world.ts";
import { aloneWorlds, listingWorlds } from "./load-balancers-alone-worlds.ts";
import { draft, OpenStackWorld } from "./openstack/openstack-world.ts";

for (const { name, open } of aloneWorlds) {
  test(`${name}: a Service gets a load balancer with all targets without a request about instances [F75]`, async () => {
    const w = open({ nodes: 3 });
    await w.start();
    w.world.create("web", w.draft);
    await w.world.until(
      () => (w.world.find("web")?.status.loadBalancer?.ingress ?? []).length > 0,
      "an address",
      600,
    );
    await w.world.pass(300);
    expect(w.targets()).toHaveLength(3);
    await w.world.pass(3 * 3600);
    expect(w.aboutInstances()).toEqual([]);
    expect(w.world.events("web").filter((event) => event.startsWith("Warning"))).toEqual([]);
  });

  test(`${name}: a Node that joins later becomes a target, and a deleted Node is removed [F75]`, async () => {
    const w = open({ nodes: 3 });
    await w.start();
    w.world.create("web", w.draft);
    await w.world.pass(600);
    w.addNode("node-9");
    await w.world.pass(300);
    expect(w.targets()).toHaveLength(4);
    w.world.removeNode("node-0");
    await w.world.pass(300);
    expect(w.targets()).toHaveLength(3);
    expect(w.aboutInstances()).toEqual([]);
  });

  test(`${name}: a restart with everything in place changes nothing and requests no instance [F75]`, async () => {
    const w = open({ nodes: 3 });
    await w.start("--controllers=*");
    w.world.create("web", w.draft);
    await w.world.pass(900);
    await w.world.stop();
    w.forget();
    await w.start();
    await w.world.pass(3600);
    expect(w.changes()).toEqual([]);
    expect(w.world.written).toEqual([]);
    expect(w.aboutInstances()).toEqual([]);
  });
}

for (const { name, open } of listingWorlds) {
  test(`${name}: instances are listed with --controllers=service, because load balancers need them [F75]`, async () => {
    const w = open({ nodes: 2 });
    await w.start();
    await w.world.pass(60);
    expect(w.aboutInstances()).not.toEqual([]);
  });
}

test("a server that the load balancer cannot reach is rejected by the cloud, and retried with growing delays [F75]", async () => {
  const h = new HetznerWorld({ nodes: 3 });
  h.cloud.project.servers.change("node-1", { ipv4: null });
  await h.start("service");
  h.world.create("web");
  await h.world.pass(60);
  const targets = () => h.cloud.project.balancers.list().flatMap((one) => one.targets);
  expect(targets()).toHaveLength(2);
  expect(h.world.events("web").join("\n")).toContain(
    "TargetRefused The cloud refuses 1 of 3 targets: node-1",
  );
  h.forget();
  await h.world.pass(12 * 3600);
  expect(h.requests.filter((one) => one.endsWith("/add_target")).length).toBeLessThanOrEqual(20);
  expect(h.requests.filter((one) => one.includes("/servers"))).toEqual([]);
  h.cloud.project.servers.change("node-1", { ipv4: "198.18.77.1" });
  await h.world.pass(2 * 3600);
  expect(targets()).toHaveLength(3);
});

test("the manager doubts a connection that shows no recorded load balancer, although no instance is listed [F75]", async () => {
  const h = new HetznerWorld({ nodes: 3 });
  await h.start("service");
  h.world.create("web");
  await h.world.pass(60);
  await h.world.stop();
  for (const { id } of h.cloud.project.balancers.list()) h.cloud.project.balancers.remove(id);
  h.forget();
  await h.start("service");
  await h.world.pass(3600);
  expect(h.requests.filter((one) => one.startsWith("POST "))).toEqual([]);
  expect(h.world.events("web").join("\n")).toContain("project");
});

test("plan and explain end without a listing of instances, and explain names no instance [F75]", async () => {
  const h = new OpenStackWorld({ nodes: 2 });
  const subnet = ensureSubnet(h.cloud.project, "nodes", "10.1.0.0/16").id;
  await h.start(`--config-set=subnet-id=${subnet}`);
  h.world.create("web", draft());
  await h.settle();
  await h.world.stop();
  h.forget();
  const flags = ["--controllers=service", `--config-set=subnet-id=${subnet}`];
  const { out: planned, code } = await h.run("plan", ...flags);
  expect(planned).toContain("no changes would be made");
  expect(code).toBe(0);
  const { out: explained } = await h.run("explain", "node", "node-0", ...flags);
  expect(explained).not.toContain("has not answered");
  expect(h.requests.filter((one) => one.includes("/servers"))).toEqual([]);
});
