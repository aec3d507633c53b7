import { expect, test } from "bun:test";
import { lbFinalizer, ServiceWorld } from "../../support/service-world.ts";

// The life cycle of one Service, from creation to deletion, in a whole manager with the fake cloud.

const convergedWorld = async (...names: readonly string[]): Promise<ServiceWorld> => {
  const w = new ServiceWorld();
  await w.start();
  for (const name of names) w.create(name);
  await w.pass(30);
  w.forget();
  return w;
};

test("writes the finalizer before the first change in the cloud, and the status afterwards [F26 F27]", async () => {
  const w = new ServiceWorld();
  const order: string[] = [];
  w.onCrossing = (what, when) => void (when === "before" && !what.startsWith("GET") && order.push(what));
  await w.start();
  w.create("web");
  await w.pass(30);
  const status = "PATCH /api/v1/namespaces/default/services/web/status";
  expect(order).toEqual([status, "POST /balancers", status]);
  expect(w.get("web").metadata.finalizers).toEqual([lbFinalizer]);
  expect(w.addressesOf("web")).toEqual(["192.0.2.1"]);
  expect(w.events("web")).toEqual([
    "Normal EnsuringLoadBalancer Ensuring load balancer",
    "Normal EnsuredLoadBalancer Ensured load balancer",
  ]);
});

test("removes the finalizer only when nothing is left in the cloud [F27]", async () => {
  const w = await convergedWorld("web");
  w.cloud.faults.add({ kind: "status", status: 503, operation: "DELETE /balancers/{id}", calls: 3 });
  w.delete("web");
  await w.pass(0.5);
  expect(w.get("web").metadata.finalizers).toEqual([lbFinalizer]);
  await w.until(() => w.find("web") === undefined, "the Service to go");
  expect(w.owners()).toEqual([]);
  await w.pass(1);
  expect(w.events("web")).toContain("Normal DeletedLoadBalancer Deleted load balancer");
});

test("deleting a Service costs one write [F27]", async () => {
  const w = await convergedWorld("web");
  w.delete("web");
  await w.pass(60);
  expect(w.find("web")).toBeUndefined();
  expect(w.written).toHaveLength(1);
});

test("a Service that becomes a ClusterIP loses only load balancer, status and finalizer [F26 F27]", async () => {
  const w = await convergedWorld("web");
  w.edit("web", (service) => ({
    ...service,
    metadata: { ...service.metadata, finalizers: ["example.com/other", lbFinalizer] },
  }));
  w.editSpec("web", { type: "ClusterIP" });
  await w.pass(30);
  expect(w.owners()).toEqual([]);
  expect(w.get("web").metadata.finalizers).toEqual(["example.com/other"]);
  expect(w.addressesOf("web")).toEqual([]);
  w.editSpec("web", { type: "LoadBalancer" });
  await w.pass(30);
  expect(w.owners()).toEqual(w.wanted());
});

test("a Service whose type changes repeatedly reaches its last state, across restarts [F26]", async () => {
  for (const last of ["LoadBalancer", "ClusterIP"]) {
    const w = await convergedWorld("web");
    const types = ["ClusterIP", "LoadBalancer", "NodePort", "LoadBalancer", "ClusterIP", last];
    for (const [index, type] of types.entries()) {
      w.editSpec("web", { type });
      if (index % 2 === 0) w.crash();
      await w.pass(0.01 * index);
      if (index % 2 === 0) await w.start();
      await w.pass(0.03);
    }
    await w.pass(60);
    expect(w.owners()).toEqual(w.wanted());
    expect(w.owners()).toHaveLength(last === "LoadBalancer" ? 1 : 0);
    expect(w.get("web").metadata.finalizers ?? []).toHaveLength(last === "LoadBalancer" ? 1 : 0);
  }
});

test("restores a manually removed finalizer, and leaves nothing in the cloud when a Service is deleted without it [F27]", async () => {
  const w = await convergedWorld("web");
  const strip = () =>
    w.edit("web", (service) => ({ ...service, metadata: { ...service.metadata, finalizers: [] } }));
  strip();
  await w.pass(5);
  expect(w.get("web").metadata.finalizers).toEqual([lbFinalizer]);
  strip();
  w.delete("web");
  expect(w.find("web")).toBeUndefined();
  await w.pass(30);
  expect(w.owners()).toEqual([]);
});

test("cleans up a Service that lost its finalizer and its type while no manager ran [F27 F56]", async () => {
  const w = await convergedWorld("web");
  w.crash();
  w.editSpec("web", { type: "ClusterIP" });
  w.edit("web", (service) => ({ ...service, metadata: { ...service.metadata, finalizers: [] } }));
  await w.start();
  await w.pass(30);
  expect(w.owners()).toEqual([]);
  w.forget();
  await w.pass(7200);
  expect(w.changes).toEqual([]);
});

test("a Service that is recreated within a second gets a new load balancer, and the old load balancer is deleted [F26]", async () => {
  const w = await convergedWorld("web");
  const [before] = w.owners();
  w.edit("web", (service) => ({ ...service, metadata: { ...service.metadata, finalizers: [] } }));
  w.delete("web");
  w.create("web");
  await w.pass(30);
  expect(w.owners()).toEqual(w.wanted());
  expect(w.owners()).not.toContain(before ?? "");
});

test("100 foreign annotations per minute cause no request and no write", async () => {
  const w = await convergedWorld("web");
  for (let index = 0; index < 100; index += 1) {
    w.annotate("web", { "argocd.example/sync": String(index) });
    await w.pass(0.6);
  }
  expect(w.asked).toEqual([]);
  expect(w.written).toEqual([]);
});

test("a Service with a class gets no event, write or request, not even at its deletion [F28]", async () => {
  const w = await convergedWorld();
  w.create("web", { spec: { loadBalancerClass: "example.com/other" }, finalizers: [lbFinalizer] });
  await w.pass(30);
  w.delete("web");
  await w.pass(60);
  expect([...w.asked, ...w.written, ...w.events("web")]).toEqual([]);
  expect(w.get("web").metadata.finalizers).toEqual([lbFinalizer]);
});

test("repairs a manually cleared or changed status without a cloud request", async () => {
  const w = await convergedWorld("web");
  for (const ingress of [[], [{ ip: "203.0.113.9" }]]) {
    w.edit("web", (service) => ({ ...service, status: { loadBalancer: { ingress } } }), "status");
    await w.pass(5);
    expect(w.addressesOf("web")).toEqual(["192.0.2.1"]);
  }
  expect(w.changes).toEqual([]);
});

test("foreign finalizers, conditions and annotations survive every write", async () => {
  const w = new ServiceWorld();
  await w.start();
  w.create("web", {
    annotations: { "example.com/a": "1" },
    finalizers: ["example.com/first"],
  });
  const foreign = {
    type: "example.com/Fine",
    status: "True",
    reason: "Fine",
    message: "",
    lastTransitionTime: "2026-01-01T00:00:00Z",
  };
  w.edit(
    "web",
    (service) => ({ ...service, status: { ...service.status, conditions: [foreign] } }) as never,
    "status",
  );
  await w.pass(30);
  w.annotate("web", { "balancer.fake.example/algorithm": "least-connections" });
  await w.pass(30);
  w.delete("web");
  await w.pass(30);
  const { metadata, status } = w.get("web");
  expect(metadata.finalizers).toEqual(["example.com/first"]);
  expect(metadata.annotations).toMatchObject({ "example.com/a": "1" });
  expect(status.conditions).toMatchObject([foreign]);
  expect(w.owners()).toEqual([]);
});

test("a burst of Nodes changes each load balancer once", async () => {
  const w = await convergedWorld("a", "b");
  for (let index = 0; index < 10; index += 1) {
    w.addNode(`more-${index}`);
    await w.pass(0.05);
  }
  await w.pass(30);
  expect(w.changes).toHaveLength(2);
  expect(w.cloud.balancers.list().map(({ targets }) => targets.length)).toEqual([13, 13]);
  expect(w.events("a")).toContain("Normal UpdatedLoadBalancer Updated load balancer with new hosts");
});

test("does not plan a paused Service, and catches up after the pause", async () => {
  const w = await convergedWorld("web");
  w.annotate("web", { "fairlead.dev/paused": "true" });
  w.annotate("web", { "balancer.fake.example/algorithm": "least-connections" });
  w.addNode("late");
  await w.pass(7200);
  expect([...w.changes, ...w.written]).toEqual([]);
  w.annotate("web", { "fairlead.dev/paused": undefined });
  await w.pass(30);
  expect(w.cloud.balancers.list()[0]).toMatchObject({ algorithm: "least-connections" });
  expect(w.cloud.balancers.list()[0]?.targets).toHaveLength(4);
});

test("--mode=observe records the whole plan in the journal, and writes nothing to the cluster or the cloud [F76]", async () => {
  const w = new ServiceWorld();
  w.create("web");
  await w.start("--mode=observe");
  await w.pass(7200);
  expect([...w.changes, ...w.written]).toEqual([]);
  expect(w.server.store.list("events", "default")).toEqual([]);
  const planned = w.manager.journal.entries().filter(({ target }) => target === "cloud");
  expect(planned).toMatchObject([{ action: "create balancer", outcome: "observed" }]);
});
