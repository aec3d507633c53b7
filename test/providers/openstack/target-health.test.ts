// The health of members, which plans read in any case, and the result for a person who asks.

import { expect, test } from "bun:test";
import { draft, OpenStackWorld } from "./openstack-world.ts";

const monitored = { "enable-health-monitor": "true" };

async function served(annotations: Readonly<Record<string, string>>): Promise<OpenStackWorld> {
  const h = new OpenStackWorld();
  await h.start();
  h.world.create("web", draft(annotations));
  await h.world.pass(180);
  h.world.forget();
  return h;
}

const down = () => "ERROR" as const;

test("reports that health monitors fail for all members [F115]", async () => {
  const h = await served(monitored);
  h.cloud.balancing.health = down;
  await h.world.pass(3600);
  expect(h.world.events("web").filter((text) => text.includes("AllTargetsUnhealthy"))).toEqual([
    expect.stringContaining("all 2 targets of the load balancer: port 30080 (node-0, node-1)."),
  ]);
  expect(h.world.written).toEqual([]);
});

test("sends the same kinds of requests whether all members or no members fail [F115]", async () => {
  const requests = async (isDown: boolean) => {
    const h = await served(monitored);
    if (isDown) h.cloud.balancing.health = down;
    await h.world.pass(600);
    h.world.forget();
    await h.world.pass(2 * 3600);
    return Map.groupBy(h.world.asked, (request) => request.replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, "{id}"));
  };
  const [whenDown, otherwise] = [await requests(true), await requests(false)];
  expect([...whenDown.keys()].toSorted()).toEqual([...otherwise.keys()].toSorted());
  // Each load balancer is read once in 40 to 60 minutes.
  expect(whenDown.get("GET /load-balancer/v2.0/lbaas/loadbalancers/{id}")?.length).toBeLessThanOrEqual(3);
});

test("reports nothing about members without a health monitor [F115]", async () => {
  const h = await served({});
  h.cloud.balancing.health = down;
  const asking = h.world.manager.askHealth("default/web");
  await h.world.pass(2);
  await asking;
  const known = h.world.manager.controllerReports().service?.knowledgeOf(h.world.get("web"));
  expect(known?.health).toMatchObject({ summary: undefined });
  await h.world.pass(3600);
  expect(h.world.events("web").join()).not.toContain("AllTargetsUnhealthy");
});

test("reads the present state of the members on request [F115]", async () => {
  const h = await served(monitored);
  h.cloud.balancing.health = down;
  const asking = h.world.manager.askHealth("default/web");
  await h.world.pass(2);
  await asking;
  const known = h.world.manager.controllerReports().service?.knowledgeOf(h.world.get("web"));
  expect(known?.health?.summary).toEqual({ healthy: 0, unhealthy: 2, why: "port 30080 (node-0, node-1)" });
  expect(h.world.asked.some((what) => what.endsWith("/members"))).toBe(true);
});

test("shows the condition in a plan, and the health in an explanation, without a running manager [F115]", async () => {
  const h = await served(monitored);
  h.cloud.balancing.health = down;
  await h.world.stop();
  h.world.forget();
  const plan = await h.run("plan", "--unhealthy-targets-condition=100");
  expect(plan.out).toContain("TargetsUnhealthy");
  expect((await h.run("plan")).out).not.toContain("patch status");
  const { out } = await h.run("explain", "service", "web");
  expect(out).toContain("The cloud's health checks fail for all 2 targets");
  expect(out).toMatch(/Health: +0 healthy, 2 unhealthy: port 30080 \(node-0, node-1\), as read \d+s ago/);
  expect(h.world.written).toEqual([]);
});
