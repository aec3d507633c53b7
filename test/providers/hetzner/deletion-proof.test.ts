// What Hetzner responds to the deletion of a load balancer, and what happens when the response is incorrect.

import { expect, test } from "bun:test";
import { statusPage } from "../../../src/inspect/status/status-page.ts";
import { HetznerWorld } from "./hetzner-world.ts";

async function withService(): Promise<HetznerWorld> {
  const h = new HetznerWorld({ nodes: 1 });
  await h.start("service");
  h.world.create("web");
  await h.world.until(() => h.world.addressesOf("web").length > 0, "an address");
  await h.world.pass(10);
  h.forget();
  return h;
}

test("deletes a load balancer with one deletion request, one request for the action, one lookup and two listings", async () => {
  const h = await withService();
  h.world.delete("web");
  await h.world.until(() => h.world.find("web") === undefined, "the deletion", 5);
  expect(h.requests).toEqual([
    "GET /load_balancers",
    "DELETE /load_balancers/{id}",
    "GET /actions",
    "GET /load_balancers/{id}",
    "GET /load_balancers",
  ]);
});

test("keeps the finalizer when Hetzner answers 404 to the deletion while it hides the load balancer", async () => {
  const h = await withService();
  const [balancer] = h.cloud.project.balancers.list();
  const fault = { kind: "status", status: 404, code: "not_found", operation: "DELETE /load_balancers/{id}" };
  h.cloud.faults.add(fault as Parameters<typeof h.cloud.faults.add>[0]);
  h.cloud.faults.hide({ resource: balancer?.id ?? 0, from: "both", milliseconds: 20_000 });
  h.world.delete("web");
  await h.world.pass(20);
  expect(h.world.find("web")).toBeDefined();
  await h.world.pass(100);
  expect([h.world.find("web"), h.cloud.project.balancers.list()]).toEqual([undefined, []]);
});

test("reports a load balancer that shows up after its Service is gone as an orphan", async () => {
  const h = await withService();
  const [balancer] = h.cloud.project.balancers.list();
  h.world.delete("web");
  await h.world.until(() => h.world.find("web") === undefined, "the deletion", 5);
  expect(h.world.manager.report().orphans).toEqual([]);
  h.cloud.project.balancers.add("again", { labels: balancer?.labels ?? {} });
  h.world.manager.balancers?.request(Number.POSITIVE_INFINITY, "refresh");
  await h.world.pass(5);
  expect(h.world.manager.report().orphans.map(({ name }) => name)).toEqual([
    expect.stringContaining("again"),
  ]);
  expect(h.cloud.project.balancers.list()).toHaveLength(1);
});

test("reports a load balancer without a Service as a possible orphan, even after a restart", async () => {
  const h = await withService();
  const [balancer] = h.cloud.project.balancers.list();
  h.world.delete("web");
  await h.world.until(() => h.world.find("web") === undefined, "the deletion", 5);
  h.cloud.project.balancers.add("again", { labels: balancer?.labels ?? {} });
  await h.world.stop();
  await h.start("service");
  await h.world.pass(60);
  const { orphans, possibleOrphans } = h.world.manager.report();
  expect([orphans, possibleOrphans.map(({ name }) => name)]).toEqual([
    [],
    [expect.stringContaining("again")],
  ]);
  const page = statusPage({ manager: h.world.manager, program: "test", clock: h.world.clock });
  const asked = {
    method: "GET",
    path: "/status",
    query: new URLSearchParams(),
    headers: [],
    body: async () => "",
  };
  expect((await page(asked)).body).toMatch(/marks name no cluster: [^<]*again/);
  expect(h.world.manager.metrics.text()).toContain("\nfairlead_load_balancers_possibly_orphaned 1\n");
  expect(h.cloud.project.balancers.list()).toHaveLength(1);
});
