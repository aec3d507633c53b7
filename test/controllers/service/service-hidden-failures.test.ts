import { expect, test } from "bun:test";
import { refused } from "../../support/scripted-balancers.ts";
import { scriptedWorld } from "../../support/scripted-world.ts";
import { ServiceWorld } from "../../support/service-world.ts";

// Failures that leave the load balancer working: each is reported on the Service, without other events.

const conditionsOf = (w: ServiceWorld, name: string) =>
  (w.get(name).status.conditions ?? []).map(({ type, reason }) => `${type} ${reason}`);

const checksLogged = (w: ServiceWorld) =>
  w.logged
    .map((line) => line.slice(line.indexOf("] ") + 2).trim())
    .filter((line) => /cloud operations/.test(line));

test("reports an operation that cannot be checked on its Service after three attempts, and removes the report later [F54 N8]", async () => {
  const { w, script } = scriptedWorld((one) => {
    one.operationLimit = 10;
  });
  await w.start();
  script.checkRefusal = refused("operations may not be read");
  w.create("web");
  w.create("mail");
  await w.pass(3600);
  expect(script.checks.length).toBeGreaterThan(2);
  expect(checksLogged(w)).toEqual([
    expect.stringMatching(
      /^Cannot check the cloud operations, so their changes stay pending: .*operations may not be read.* operations=2$/,
    ),
  ]);
  for (const name of ["web", "mail"]) {
    expect(conditionsOf(w, name)).toEqual(["CloudReady RefusedByCloud"]);
    const reported = w.events(name).filter((event) => event.includes("operations may not be read"));
    expect(reported).toHaveLength(1);
  }
  const { length } = w.written;
  await w.pass(3600);
  expect(w.written).toHaveLength(length);
  // The operation is checked again, and is still in progress.
  script.checkRefusal = undefined;
  const isReportRemoved = () => [...conditionsOf(w, "web"), ...conditionsOf(w, "mail")].length === 0;
  await w.until(isReportRemoved, "the report to be removed", 1200);
  expect(checksLogged(w).slice(1)).toEqual(["The cloud operations can be checked again"]);
  expect(script.things.size).toBe(0);
  for (const operation of script.operations) script.outcomes.set(operation, "done");
  await w.pass(60);
  expect([script.things.size, w.get("web").status.loadBalancer?.ingress?.length]).toEqual([2, 1]);
});

test("logs a single failed check of an operation, without reporting it on the Service", async () => {
  const { w, script } = scriptedWorld((one) => {
    one.operationLimit = 10;
  });
  await w.start();
  script.checkRefusal = refused("operations may not be read");
  w.create("web");
  await w.until(() => script.checks.length === 1, "the first check");
  script.checkRefusal = undefined;
  await w.pass(600);
  expect([conditionsOf(w, "web"), w.events("web").join().includes("may not be read")]).toEqual([[], false]);
  expect(checksLogged(w)).toHaveLength(2);
});

test("Nodes of another manager become targets only when the selector includes them [N15]", async () => {
  const w = new ServiceWorld();
  const label = (name: string, account: string) =>
    w.changeNode(name, (node) => ({
      ...node,
      metadata: { ...node.metadata, labels: { ...node.metadata.labels, account } },
    }));
  label("node-0", "east");
  label("node-1", "west");
  await w.start("--node-selector=account=east");
  w.create("web");
  await w.pass(30);
  const targets = () => w.cloud.balancers.list().map(({ targets: ids }) => ids.length);
  expect(targets()).toEqual([1]);
  label("node-2", "east");
  await w.pass(30);
  expect(targets()).toEqual([2]);
  label("node-0", "west");
  await w.pass(30);
  expect(targets()).toEqual([1]);
});

test("logs a drain time that the cloud cannot apply once at the start", async () => {
  const warnings = async (w: ServiceWorld, ...flags: readonly string[]): Promise<number> => {
    await w.start(...flags);
    await w.pass(60);
    return w.logged.filter((line) => line.includes("--load-balancer-target-drain has no effect")).length;
  };
  const flag = "--load-balancer-target-drain=30s";
  expect(await warnings(scriptedWorld().w, flag)).toBe(1);
  expect(await warnings(scriptedWorld().w)).toBe(0);
  expect(await warnings(new ServiceWorld(), flag)).toBe(0);
});
