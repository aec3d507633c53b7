import { expect, test } from "bun:test";
import { lbFinalizer, ServiceWorld } from "../../support/service-world.ts";

// A Service gets a load balancer class, so another controller serves it from then on. Fairlead
// removes what it added, and nothing else.

async function settledWorld(): Promise<ServiceWorld> {
  const w = new ServiceWorld();
  await w.start();
  w.create("web");
  await w.until(() => w.addressesOf("web").length === 1, "an address");
  w.forget();
  return w;
}

const finalizersOf = (w: ServiceWorld): readonly string[] => w.get("web").metadata.finalizers ?? [];
const useClass = (w: ServiceWorld): void =>
  w.editSpec("web", { type: "LoadBalancer", loadBalancerClass: "example.com/other" });

/** As a real API server records the writer. */
const writtenBy = (w: ServiceWorld, manager: string): void =>
  w.edit("web", ({ metadata, ...rest }) => ({
    ...rest,
    metadata: {
      ...metadata,
      managedFields: [
        { manager, fieldsV1: { "f:metadata": { "f:finalizers": { [`v:"${lbFinalizer}"`]: {} } } } },
      ],
    },
  }));

test("removes the finalizer of a Service that gets a class while its load balancer is deleted", async () => {
  const w = await settledWorld();
  w.editSpec("web", { type: "ClusterIP" });
  await w.until(() => w.changes.length > 0, "the request to delete it");
  useClass(w);
  await w.pass(120);
  expect([finalizersOf(w), w.cloud.balancers.list()]).toEqual([[], []]);
  w.delete("web");
  expect(w.find("web")).toBeUndefined();
  await w.stop();
});

test("removes the finalizer of a Service that gets a class after its load balancer was lost", async () => {
  const w = await settledWorld();
  w.cloud.balancers.clear();
  w.editSpec("web", { type: "ClusterIP" });
  await w.pass(5);
  useClass(w);
  await w.pass(120);
  expect(finalizersOf(w)).toEqual([]);
  await w.stop();
});

test("removes the finalizer that an earlier process added if the Service got a class during a restart", async () => {
  const w = await settledWorld();
  await w.stop();
  w.cloud.balancers.clear();
  w.editSpec("web", { type: "ClusterIP" });
  useClass(w);
  writtenBy(w, "fake-cloud-controller-manager");
  await w.start();
  await w.pass(120);
  expect(finalizersOf(w)).toEqual([]);
  await w.stop();
});

test("leaves the finalizer that another program added before a restart", async () => {
  const w = await settledWorld();
  await w.stop();
  w.cloud.balancers.clear();
  w.editSpec("web", { type: "ClusterIP" });
  useClass(w);
  writtenBy(w, "other-controller");
  await w.start();
  w.forget();
  await w.pass(120);
  expect([finalizersOf(w), w.written]).toEqual([[lbFinalizer], []]);
  await w.stop();
});

test("removes the finalizer that an earlier process added before the Service got a class", async () => {
  const w = await settledWorld();
  await w.stop();
  w.editSpec("web", { type: "ClusterIP" });
  useClass(w);
  w.edit(
    "web",
    (one) => ({ ...one, status: { loadBalancer: { ingress: [{ ip: "203.0.113.9" }] } } }),
    "status",
  );
  w.cloud.balancers.clear();
  w.delete("web");
  expect(finalizersOf(w)).toEqual([lbFinalizer]);
  await w.start();
  await w.until(() => w.find("web") === undefined, "the release", 120);
  await w.stop();
});

test("keeps the address of another controller, and removes the conditions of an earlier process", async () => {
  const w = await settledWorld();
  await w.stop();
  w.editSpec("web", { type: "ClusterIP" });
  useClass(w);
  const ingress = [{ ip: "203.0.113.9", ipMode: "VIP" }];
  const conditions = [
    {
      type: "CloudReady",
      status: "False",
      reason: "Refused",
      message: "",
      lastTransitionTime: "2026-01-01T00:00:00Z",
    },
  ];
  w.edit("web", (one) => ({ ...one, status: { loadBalancer: { ingress }, conditions } }), "status");
  w.cloud.balancers.clear();
  await w.start();
  await w.pass(120);
  expect(finalizersOf(w)).toEqual([]);
  expect(w.get("web").status).toMatchObject({ loadBalancer: { ingress } });
  expect(w.get("web").status.conditions ?? []).toEqual([]);
  await w.stop();
});

test("leaves the finalizer that the controller of another class adds", async () => {
  const w = await settledWorld();
  w.editSpec("web", { type: "ClusterIP" });
  await w.pass(60);
  expect(finalizersOf(w)).toEqual([]);
  useClass(w);
  w.edit("web", ({ metadata, ...rest }) => ({
    ...rest,
    metadata: { ...metadata, finalizers: [lbFinalizer] },
  }));
  w.create("other", { finalizers: [lbFinalizer], spec: { loadBalancerClass: "example.com/other" } });
  w.forget();
  await w.pass(120);
  expect([finalizersOf(w), w.get("other").metadata.finalizers]).toEqual([[lbFinalizer], [lbFinalizer]]);
  expect([w.changes, w.written]).toEqual([[], []]);
  await w.stop();
});
