import { expect, test } from "bun:test";
import { ServiceWorld } from "../../support/service-world.ts";

// Upstream's four metrics of the service controller: host updates and node syncs.

const figureOf = (w: ServiceWorld, name: string): number =>
  Number(new RegExp(`^service_controller_${name} (.*)$`, "m").exec(w.manager.metrics.text())?.[1] ?? "0");

test("counts a joining Node as one node sync and one host update per load balancer, and a new Service as neither", async () => {
  const w = new ServiceWorld({ nodes: 2 });
  await w.start();
  for (const name of ["a", "b", "c"]) w.create(name);
  await w.pass(30);
  const counts = () => [
    figureOf(w, "loadbalancer_sync_total"),
    figureOf(w, "nodesync_error_total"),
    figureOf(w, "nodesync_latency_seconds_count"),
    figureOf(w, "update_loadbalancer_host_latency_seconds_count"),
  ];
  expect(counts()).toEqual([0, 0, 0, 0]);
  w.addNode("late");
  await w.pass(30);
  expect(counts()).toEqual([3, 0, 1, 3]);
  w.cloud.faults.add({ operation: "PATCH /balancers/{id}", kind: "status", status: 503, calls: 1 });
  w.addNode("later");
  await w.pass(60);
  expect(counts()).toEqual([7, 1, 2, 7]);
  const text = w.manager.metrics.text();
  expect(text).toContain('service_controller_nodesync_latency_seconds_bucket{le="16384"} 2');
  expect(text).toContain('service_controller_update_loadbalancer_host_latency_seconds_bucket{le="1"} 7');
});
