import { expect, test } from "bun:test";
import { refused } from "../../support/scripted-balancers.ts";
import { scriptedWorld } from "../../support/scripted-world.ts";
import type { ServiceWorld } from "../../support/service-world.ts";

// Load balancers that the cloud changes by long-running operations, and the backoff of changes that fail or never take effect.

const hostnames = (w: ServiceWorld, name: string) =>
  (w.get(name).status.loadBalancer?.ingress ?? []).map(({ hostname }) => hostname);

test("checks operations of many Services together, and observes their results [F51]", async () => {
  const { w, script } = scriptedWorld((one) => {
    one.operationLimit = 10;
  });
  await w.start();
  const names = Array.from({ length: 15 }, (_, index) => `s${index}`);
  for (const name of names) w.create(name);
  await w.pass(1.5);
  expect(script.operations).toHaveLength(15);
  expect(script.checks.map(({ length }) => length)).toEqual([10, 5]);
  for (const operation of script.operations) script.outcomes.set(operation, "done");
  await w.pass(5);
  expect(script.things.size).toBe(15);
  expect(script.applied).toHaveLength(15);
  expect(names.flatMap((name) => hostnames(w, name))).toHaveLength(15);
  const { length } = script.checks;
  await w.pass(600);
  expect(script.checks).toHaveLength(length);
});

test("reports a failed operation on its Service and retries it later, and observes a lost operation", async () => {
  const { w, script } = scriptedWorld((one) => {
    one.operationLimit = 10;
  });
  await w.start();
  w.create("a");
  await w.pass(0.5);
  script.outcomes.set("operation-1", "failed");
  script.outcomes.set("operation-2", "lost");
  await w.pass(5);
  const error = "Warning SyncLoadBalancerFailed Error syncing load balancer: no capacity in this zone";
  expect(w.events("a")).toContain(error);
  expect(script.applied).toHaveLength(1);
  await w.pass(120);
  expect(script.applied).toHaveLength(2);
  expect(hostnames(w, "a")).toHaveLength(1);
});

test("operations that keep failing are retried with growing backoff and reported on the Service [F51 F54]", async () => {
  const { w, script } = scriptedWorld((one) => {
    one.operationLimit = 10;
  });
  for (let operation = 1; operation <= 20; operation += 1)
    script.outcomes.set(`operation-${operation}`, "failed");
  await w.start();
  w.create("a");
  const triedAt: number[] = [];
  for (let second = 0; second < 1200 && triedAt.length < 6; second += 1) {
    await w.pass(1);
    while (triedAt.length < script.applied.length) triedAt.push(second);
  }
  const backoffs = triedAt.slice(1).map((at, index) => at - (triedAt[index] ?? 0));
  expect(backoffs.at(-1)).toBeGreaterThan(4 * (backoffs[0] ?? 0));
  expect(w.get("a").status.conditions?.map(({ type, status }) => `${type}=${status}`)).toEqual([
    "CloudReady=False",
  ]);
});

test("reports an exceeded quota only on its Service, retries slowly, and forgets it when solved", async () => {
  const { w, script } = scriptedWorld();
  await w.start();
  w.create("before");
  await w.pass(5);
  script.refusal = refused("20 of 20 balancers are in use", "quota");
  w.create("full");
  await w.pass(5);
  expect(w.events("full").join()).toContain("20 of 20 balancers are in use");
  expect(w.events("before").join()).not.toContain("20 of 20");
  script.refusal = undefined;
  w.annotate("before", { "scripted.example/size": "large" });
  await w.pass(5);
  expect(hostnames(w, "full")).toEqual([]);
  await w.pass(120);
  expect(hostnames(w, "full")).toHaveLength(1);
});

test("retries with growing backoff when a plan never converges", async () => {
  const { w, script } = scriptedWorld((one) => {
    one.neverSettles = true;
  });
  await w.start();
  w.create("a");
  await w.pass(3600);
  expect(script.applied.length).toBeLessThan(50);
});
