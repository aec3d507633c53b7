// The health of targets: plans read it for network load balancers; for classic ones it is read only on request.

import { expect, test } from "bun:test";
import { type BalancerWorld, network, served, tcpPort } from "./balancer-world.ts";

const health = async (h: BalancerWorld) => {
  const asking = h.world.manager.askHealth("default/web");
  await h.settle(2);
  await asking;
  return h.world.manager.controllerReports().service?.knowledgeOf(h.world.get("web"))?.health;
};
const failed = {
  State: "unhealthy",
  Reason: "Target.FailedHealthChecks",
  Description: "Health checks failed",
};

test("reads the target groups of a network load balancer on request [F115]", async () => {
  const h = await served(network, { ports: [tcpPort(80), tcpPort(443)] });
  await h.settle(30);
  h.cloud.account.network.health = () => failed;
  h.forget();
  expect((await health(h))?.summary).toEqual({
    healthy: 0,
    unhealthy: 2,
    why: "port 30080: Health checks failed, port 30443: Health checks failed (node-0, node-1)",
  });
  expect(h.cloud.seen.map(({ operation }) => operation)).toEqual([
    "elbv2:DescribeTargetHealth",
    "elbv2:DescribeTargetHealth",
  ]);
});

test("omits targets that have no result yet [F115]", async () => {
  const h = await served(network);
  await h.settle(30);
  expect(await health(h)).toMatchObject({ summary: undefined });
});

test("reads the instances of a classic load balancer only on request [F115]", async () => {
  const h = await served();
  const [one, other] = h.cloud.account.instances.list().map(({ id }) => id);
  h.cloud.account.classic.health = (id) =>
    id === one
      ? {
          State: "OutOfService",
          ReasonCode: "Instance",
          Description: "Instance has failed at least 2 health checks.",
        }
      : {
          State: "OutOfService",
          ReasonCode: "ELB",
          Description: "Instance registration is still in progress.",
        };
  await h.settle(3600);
  expect(h.cloud.seen.some(({ operation }) => operation.includes("Health"))).toBe(false);
  h.forget();
  expect((await health(h))?.summary).toEqual({
    healthy: 0,
    unhealthy: 1,
    why: "Instance has failed at least 2 health checks. (node-0)",
  });
  expect(h.cloud.seen.map(({ operation }) => operation)).toEqual(["elb:DescribeInstanceHealth"]);
  expect(other).toBeDefined();
});

test("sends no request for the health of a Service unless a user asks about the Service [F115]", async () => {
  const h = await served(network);
  h.cloud.account.network.health = () => failed;
  await h.settle(1800);
  expect(h.cloud.seen.some(({ operation }) => operation.endsWith("DescribeTargetHealth"))).toBe(false);
});

test("reports the result of the hourly reading for a network load balancer [F115]", async () => {
  const h = await served(network);
  h.cloud.account.network.health = () => failed;
  await h.settle(7200);
  expect(h.said()).toContain("AllTargetsUnhealthy");
  expect(h.world.written).toEqual([]);
});
