// The health of targets, as the cloud's listings report it.

import { expect, test } from "bun:test";
import { HetznerWorld } from "./hetzner-world.ts";

const ports = [80, 443].map((port) => ({ name: `p${port}`, port, protocol: "TCP", nodePort: 30_000 + port }));

async function served(): Promise<HetznerWorld> {
  const h = new HetznerWorld({ nodes: 3 });
  await h.start("service");
  h.world.create("web", { spec: { ports } });
  await h.world.pass(180);
  h.world.forget();
  return h;
}

test("reports that all targets are unhealthy, from the regular listings alone [F115]", async () => {
  const h = await served();
  const { project } = h.cloud;
  const listings = () => h.world.asked.filter((what) => what === "GET /load_balancers").length;
  await h.world.pass(3600);
  const before = listings();
  h.world.forget();
  project.health = () => "unhealthy";
  await h.world.pass(3600);
  expect(h.world.events("web").filter((text) => text.includes("AllTargetsUnhealthy"))).toEqual([
    expect.stringContaining(
      "all 3 targets of the load balancer: port 80, port 443 (node-0, node-1, node-2).",
    ),
  ]);
  expect(Math.abs(listings() - before)).toBeLessThanOrEqual(1);
  expect(h.world.asked.filter((what) => what.startsWith("GET /load_balancers/"))).toEqual([]);
  expect(h.world.written).toEqual([]);
});

test("reads the health of one load balancer on request [F115]", async () => {
  const h = await served();
  const [failing] = h.cloud.project.servers.list();
  h.cloud.project.health = (_, server) => (server === failing?.id ? "unhealthy" : "healthy");
  const asking = h.world.manager.askHealth("default/web");
  await h.world.pass(1);
  await asking;
  const known = h.world.manager.controllerReports().service?.knowledgeOf(h.world.get("web"));
  expect(known?.health?.summary).toEqual({ healthy: 2, unhealthy: 1, why: "port 80, port 443 (node-0)" });
  expect(h.world.asked).toEqual([expect.stringMatching(/^GET \/load_balancers\/\d+$/)]);
});

test("omits targets without a result, and names the targets of a label selector by server [F115]", async () => {
  const h = await served();
  const { project } = h.cloud;
  const [balancer] = project.balancers.list();
  const [first, second] = project.servers.list();
  if (balancer === undefined || first === undefined || second === undefined)
    throw new Error("Expected both.");
  project.servers.change(second.id, { labels: { role: "edge" } });
  const other = project.servers.add("edge", {});
  project.servers.change(other.id, { labels: { role: "edge" } });
  const selected = { type: "label_selector", selector: "role=edge", usesPrivateIp: false } as const;
  project.balancers.change(balancer.id, { targets: [...balancer.targets, selected] });
  project.health = (_, server) => (server === first.id ? "unknown" : "unhealthy");
  const asking = h.world.manager.askHealth("default/web");
  await h.world.pass(1);
  await asking;
  const known = h.world.manager.controllerReports().service?.knowledgeOf(h.world.get("web"));
  expect(known?.health?.summary).toEqual({
    healthy: 0,
    unhealthy: 3,
    why: `port 80, port 443 (node-1, node-2, server ${other.id})`,
  });
});
