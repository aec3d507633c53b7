// The problems that a Service reports about its load balancer, and those that it does not report.

import { expect, test } from "bun:test";
import { HetznerWorld } from "./hetzner-world.ts";

const tcp = { port: 80, protocol: "TCP", nodePort: 30_080 };
const udp = { port: 53, protocol: "UDP", nodePort: 30_053 };

async function created(ports = [tcp]): Promise<HetznerWorld> {
  const h = new HetznerWorld({ nodes: 2 });
  await h.start("service");
  h.world.create("web", { spec: { ports } });
  await h.world.pass(60);
  return h;
}
const events = (h: HetznerWorld): string => h.world.events("web").join("\n");
const onlyBalancer = (h: HetznerWorld) => {
  const [balancer, ...others] = h.cloud.project.balancers.list();
  if (balancer === undefined || others.length > 0) throw new Error("Expected one load balancer.");
  return balancer;
};

test("creates no load balancer for a Service with UDP ports only, and reports the reason", async () => {
  const h = await created([udp]);
  expect(h.cloud.project.balancers.list()).toEqual([]);
  expect(h.world.get("web").status.conditions).toMatchObject([
    {
      type: "CloudReady",
      status: "False",
      reason: "UnsupportedRequest",
      message:
        "The load balancers of this cloud do not support UDP, and the Service has no other port (53/UDP). No load balancer is created; one that exists stays, and forwards no traffic of these ports. Use TCP, or a different type of Service.",
    },
  ]);
  expect(events(h)).not.toContain("EnsuredLoadBalancer");
});

test("keeps the load balancer and the address of a Service that gets UDP ports only", async () => {
  const h = await created();
  const before = h.world.get("web").status.loadBalancer;
  h.world.editSpec("web", { ports: [udp] });
  await h.world.pass(60);
  expect(onlyBalancer(h).services).toEqual([]);
  expect(h.world.get("web").status).toMatchObject({
    loadBalancer: before,
    conditions: [{ type: "CloudReady", reason: "UnsupportedRequest" }],
  });
});

test("reports nothing when no type is set, because the default is as good as any other type", async () => {
  const h = await created();
  expect(events(h)).not.toContain("Warning");
  expect(h.world.get("web").status.conditions ?? []).toEqual([]);
  expect(h.world.logged.join("")).not.toContain("lb11");
});

test("names the exhausted quota in the event and in the condition", async () => {
  const h = new HetznerWorld({ nodes: 1 });
  const fault = { kind: "status", status: 403, code: "resource_limit_exceeded" } as const;
  h.cloud.faults.add({ ...fault, operation: "POST /load_balancers", calls: 100 });
  await h.start("service");
  h.world.create("web", { spec: { ports: [tcp] } });
  await h.world.pass(60);
  expect(events(h)).toContain(
    "Warning SyncLoadBalancerFailed Error syncing load balancer: A quota of the cloud account is exhausted: POST /load_balancers",
  );
  expect(h.world.get("web").status.conditions).toMatchObject([
    { reason: "QuotaExceeded", message: expect.stringMatching(/^A quota .+ Raise the quota, or delete/) },
  ]);
});
