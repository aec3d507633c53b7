import { expect, test } from "bun:test";
import type { JsonObject } from "../../../src/testing/apiserver/objects/json.ts";
import { resourceNamed } from "../../../src/testing/apiserver/objects/resource-table.ts";
import { refused } from "../../support/scripted-balancers.ts";
import { scriptedWorld } from "../../support/scripted-world.ts";
import { ServiceWorld } from "../../support/service-world.ts";

// Failures that leave the load balancer working: each is reported on the Service, without other events.

const conditionsOf = (w: ServiceWorld, name: string) =>
  (w.get(name).status.conditions ?? []).map(({ type, reason }) => `${type} ${reason}`);

const checksLogged = (w: ServiceWorld) =>
  w.logged
    .map((line) => line.slice(line.indexOf("] ") + 2).trim())
    .filter((line) => /operations of the cloud/.test(line));

test("an operation that cannot be checked is reported on its Service after three attempts, and the report is removed later [F54 N8]", async () => {
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
      /^Cannot check the operations of the cloud, so their changes stay pending\. Fairlead will retry\. .*operations may not be read.* operations="\S+, \S+"$/,
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
  // It is checked again, and still in progress.
  script.checkRefusal = undefined;
  await w.pass(1200);
  expect([conditionsOf(w, "web"), conditionsOf(w, "mail")]).toEqual([[], []]);
  expect(checksLogged(w).slice(1)).toEqual(["The operations of the cloud can be checked again"]);
  expect(script.things.size).toBe(0);
  for (const operation of script.operations) script.outcomes.set(operation, "done");
  await w.pass(60);
  expect([script.things.size, w.get("web").status.loadBalancer?.ingress?.length]).toEqual([2, 1]);
});

test("a single failed check of an operation is logged, but not reported on the Service", async () => {
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

test("a Secret that can no longer be read is reported, and the load balancer keeps the last content", async () => {
  const { w, script } = scriptedWorld();
  const put = (text: string) => ({ "tls.crt": Buffer.from(text).toString("base64") });
  const secrets = resourceNamed("secrets");
  const metadata = { name: "cert", namespace: "default" };
  w.server.objects.create(secrets, "default", {
    apiVersion: "v1",
    kind: "Secret",
    metadata,
    data: put("first"),
  } as JsonObject);
  await w.start();
  w.create("web", { annotations: { "scripted.example/certificate": "cert" } });
  await w.pass(30);
  const no = {
    kind: "Status",
    apiVersion: "v1",
    status: "Failure",
    code: 403,
    reason: "Forbidden",
    message: "no",
  };
  w.readFault = (path) => (path.includes("/secrets/") ? Response.json(no, { status: 403 }) : undefined);
  await w.pass(300);
  const reported = () => w.events("web").filter((event) => event.includes("InputUnreadable"));
  expect(reported()).toHaveLength(1);
  expect(reported()[0]).toContain("Secret default/cert can no longer be read, so its last value is used");
  // Updates continue, and the condition is included in the next write.
  w.editSpec("web", { ports: [{ port: 81, protocol: "TCP" }] });
  w.changeNode("node-0", (node) => ({
    ...node,
    metadata: { ...node.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" },
  }));
  await w.pass(60);
  expect([...script.things.values()]).toMatchObject([{ targets: 2, certificate: "first" }]);
  expect(conditionsOf(w, "web")).toEqual(["CloudWarning InputUnreadable"]);
  w.readFault = undefined;
  await w.pass(180);
  expect(conditionsOf(w, "web")).toEqual([]);
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

test("a drain time that the cloud cannot apply is logged once at the start", async () => {
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
