import { describe, expect, test } from "bun:test";
import { refused, ScriptedBalancers } from "../support/scripted-balancers.ts";
import { scriptedWorld } from "../support/scripted-world.ts";
import { lbFinalizer, ServiceWorld } from "../support/service-world.ts";

// Rows of upstream's controllers/service/controller_test.go, second part: how one Service is synced, deleted and
// retried, and what no Go test covers. TestServiceCache has no counterpart, because only the watched Services are
// cached. TestSyncService 1, a key of three parts, has none either: the store creates keys, and Fairlead never parses
// them.

const worldWith = async (nodes = 3): Promise<ServiceWorld> => {
  const w = new ServiceWorld({ nodes });
  await w.start();
  await w.pass(5);
  w.forget();
  return w;
};

test("TestProcessServiceCreateOrUpdate 1 2: a changed loadBalancerIP is applied without an error", async () => {
  // Upstream's fake cloud takes any address. A cloud that cannot assign one causes a warning, which upstream does not have.
  const { w } = scriptedWorld(undefined, () => ({ supports: ["requestedAddress"] }));
  await w.start();
  w.create("web", { spec: { loadBalancerIP: "192.168.1.1" } });
  await w.pass(30);
  w.editSpec("web", { loadBalancerIP: "192.168.1.11" });
  await w.pass(30);
  expect(w.events("web").filter((text) => text.startsWith("Warning"))).toEqual([]);
});

const answer = (code: number, reason: string) =>
  Response.json(
    { kind: "Status", apiVersion: "v1", status: "Failure", code, reason, message: "as ordered" },
    { status: code },
  );

// Upstream reports a conflict as "Error syncing load balancer". Fairlead retries a lost race immediately, without an
// error.
test("TestProcessServiceCreateOrUpdateK8sError 1: a conflict is retried without an event", async () => {
  const w = await worldWith();
  let left = 2;
  w.kubeFault = () => (left-- > 0 ? answer(409, "Conflict") : undefined);
  w.create("web", { finalizers: [lbFinalizer] });
  await w.pass(30);
  expect(w.addressesOf("web")).toHaveLength(1);
  expect(w.events("web").filter((text) => text.startsWith("Warning"))).toEqual([]);
});

test("TestProcessServiceCreateOrUpdateK8sError 2: a Service that no longer exists is not an error", async () => {
  const w = await worldWith();
  w.kubeFault = () => answer(404, "NotFound");
  w.create("web", { finalizers: [lbFinalizer] });
  await w.pass(10);
  expect(w.events("web").filter((text) => text.startsWith("Warning"))).toEqual([]);
});

test("TestSyncService 2, TestProcessServiceDeletion 3: a deleted Service's load balancer is deleted", async () => {
  const w = await worldWith();
  w.create("external-balancer");
  await w.pass(30);
  w.edit("external-balancer", (service) => ({
    ...service,
    metadata: { ...service.metadata, finalizers: [] },
  }));
  w.delete("external-balancer");
  await w.pass(30);
  expect(w.owners()).toEqual([]);
});

test("TestProcessServiceDeletion 1 2: deleting nothing is not an error, and a refused deletion is reported with the cloud's message", async () => {
  const w = await worldWith();
  w.create("none", { spec: { type: "ClusterIP" } });
  w.create("web");
  await w.pass(30);
  w.cloud.faults.add({ kind: "status", status: 500, operation: "DELETE /balancers/{id}" });
  w.delete("none");
  w.delete("web");
  await w.pass(30);
  expect(w.events("none")).toEqual([]);
  const reported = w.events("web").find((text) => text.startsWith("Warning"));
  expect(reported).toStartWith("Warning DeleteLoadBalancerFailed Error deleting load balancer: ");
});

// Upstream proves that a slow node sync neither blocks a Service nor reverts a newer sync. Fairlead has one queue of
// load balancers: the slow one is changed twice, each time to the current Nodes.
test("TestSlowNodeSync: a slow load balancer blocks no other load balancer and never returns to fewer Nodes", async () => {
  const w = await worldWith(2);
  for (const name of ["service1", "service2"]) w.create(name);
  await w.pass(30);
  w.cloud.faults.add({ kind: "slow", operation: "PATCH /balancers/{id}", milliseconds: 10_000 });
  const seen: number[] = [];
  w.onCrossing = () => void seen.push(w.cloud.balancers.list()[1]?.targets.length ?? 0);
  w.addNode("n3");
  await w.pass(1);
  w.addNode("n4");
  await w.pass(2);
  expect(w.cloud.balancers.list()[1]?.targets).toHaveLength(4);
  await w.pass(60);
  expect(w.cloud.balancers.list().map(({ targets }) => targets.length)).toEqual([4, 4]);
  expect(seen).toEqual(seen.toSorted());
});

describe("TestServiceQueueDelay", () => {
  const delayed = async (script: (one: ScriptedBalancers) => void) => {
    let scripted: ScriptedBalancers | undefined;
    const provider = {
      ...new ScriptedBalancers({} as never).provider(),
      connect: () => scripted?.provider().connect({} as never, {} as never),
    };
    const w = new ServiceWorld({ provider, providerIDOf: (node) => `scripted://${node}` });
    scripted = new ScriptedBalancers(w.clock);
    script(scripted);
    await w.start();
    w.create("web");
    return { w, scripted };
  };
  test("TestServiceQueueDelay 1: without an error there is no delay", async () => {
    const { w } = await delayed(() => undefined);
    await w.pass(1);
    expect(w.get("web").status.loadBalancer?.ingress).toHaveLength(1);
  });
  test("TestServiceQueueDelay 2: an error is retried later", async () => {
    const { w, scripted } = await delayed((one) => {
      one.refusal = refused("something went wrong");
    });
    await w.pass(5);
    expect(w.events("web").join()).toContain("something went wrong");
    scripted.refusal = undefined;
    await w.pass(120);
    expect(scripted.applied).toHaveLength(1);
  });
  // Upstream's RetryError is an outcome here: not done, check again after a delay.
  test("TestServiceQueueDelay 3: an operation is checked after exactly the requested delay, without an error", async () => {
    const w = new ServiceWorld({ actionTime: 2500 });
    await w.start();
    w.create("web");
    await w.until(() => w.addressesOf("web").length === 1, "the address", 5);
    expect(w.asked.filter((what) => what === "GET /balancers").length).toBeLessThanOrEqual(5);
    expect(w.events("web").filter((text) => text.startsWith("Warning"))).toEqual([]);
  });
});

describe("service behavior that upstream does not test", () => {
  test("a failed ensure keeps the new finalizer and is retried", async () => {
    const w = await worldWith();
    w.cloud.faults.add({ kind: "status", status: 500, operation: "POST /balancers", calls: 2 });
    w.create("web");
    await w.pass(0.5);
    expect(w.get("web").metadata.finalizers).toEqual([lbFinalizer]);
    await w.pass(1);
    expect(w.events("web").join()).toContain("Warning SyncLoadBalancerFailed Error syncing load balancer: ");
    // A request that answered 500 may have had an effect, so it is proved first that it had none.
    await w.until(() => w.addressesOf("web").length === 1, "the address", 90);
    expect(w.cloud.balancers.list()).toHaveLength(1);
  });

  test("a load balancer that no longer exists does not block the Service's deletion", async () => {
    const w = await worldWith();
    w.create("web");
    await w.pass(30);
    w.cloud.balancers.remove(w.cloud.balancers.list()[0]?.id ?? "");
    w.delete("web");
    // Two listings 30 s apart prove that it is gone.
    await w.pass(31);
    expect(w.find("web")).toBeUndefined();
  });

  test("a missing Service during the finalizer's removal is not an error", async () => {
    const w = await worldWith();
    w.create("web");
    await w.pass(30);
    let left = 1;
    w.kubeFault = () => (left-- > 0 ? answer(404, "NotFound") : undefined);
    w.delete("web");
    await w.pass(30);
    expect(w.find("web")).toBeUndefined();
    expect(w.events("web").filter((text) => text.startsWith("Warning"))).toEqual([]);
  });

  // Upstream handles RetryError only for ensure; a deletion that takes time becomes an error there.
  test("a deletion that waits for the cloud is not an error", async () => {
    const w = await worldWith();
    w.create("web");
    await w.pass(30);
    w.cloud.balancers.actionTime = 4000 as never;
    w.addNode("late");
    await w.pass(1);
    w.delete("web");
    await w.until(() => w.find("web") === undefined, "the deletion", 10);
    expect(w.events("web").filter((text) => text.startsWith("Warning"))).toEqual([]);
  });

  test("a Service without any Node gets a load balancer and a warning that there are no Nodes", async () => {
    const w = await worldWith(0);
    w.create("web");
    await w.pass(30);
    expect(w.owners()).toEqual(w.wanted());
    const text = "Warning UnAvailableLoadBalancer There are no available nodes for LoadBalancer";
    expect(w.events("web")).toContain(text);
  });
});
