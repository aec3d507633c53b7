import { describe, expect, test } from "bun:test";
import { lbFinalizer, ServiceWorld } from "../support/service-world.ts";

// §9.15, 3: what upstream's service controller does and none of its tests pins. The list of it, with those that other files
// of ours prove, is in `unpinned`.

const served = async (...names: readonly string[]): Promise<ServiceWorld> => {
  const w = new ServiceWorld();
  await w.start();
  for (const name of names) w.create(name);
  await w.pass(30);
  w.forget();
  return w;
};
const warnings = (w: ServiceWorld, name: string): readonly string[] =>
  w.events(name).filter((text) => text.startsWith("Warning"));

describe("events", () => {
  test("9.15.3: a Service's life is told in upstream's words and order, each once", async () => {
    const w = await served("web");
    w.addNode("late");
    await w.pass(30);
    w.editSpec("web", { type: "ClusterIP" });
    await w.pass(30);
    expect(w.events("web")).toEqual([
      "Normal EnsuringLoadBalancer Ensuring load balancer",
      "Normal EnsuredLoadBalancer Ensured load balancer",
      "Normal UpdatedLoadBalancer Updated load balancer with new hosts",
      "Normal DeletingLoadBalancer Deleting load balancer",
      "Normal DeletedLoadBalancer Deleted load balancer",
    ]);
  });

  // Upstream's word for this one is UpdateLoadBalancerFailed; a full sync follows it at once, and fails as ours does.
  test("9.15.3: targets that cannot be changed are a failed sync, as we do, and the next sync changes them", async () => {
    const w = await served("web");
    w.cloud.faults.add({ operation: "PATCH /balancers/{id}", kind: "status", status: 503, calls: 1 });
    w.addNode("late");
    await w.pass(1);
    expect(warnings(w, "web").join()).toStartWith(
      "Warning SyncLoadBalancerFailed Error syncing load balancer: ",
    );
    await w.until(() => w.cloud.balancers.list()[0]?.targets.length === 4, "the fourth target", 60);
    await w.pass(5);
    expect(w.events("web")).toContain("Normal UpdatedLoadBalancer Updated load balancer with new hosts");
  });
});

test("9.15.3: targets that take the cloud a while are no error", async () => {
  const w = await served("web");
  w.cloud.balancers.actionTime = 4000 as never;
  w.addNode("late");
  await w.pass(30);
  expect(w.cloud.balancers.list()[0]?.targets).toHaveLength(4);
  expect(warnings(w, "web")).toEqual([]);
});

test("9.15.3: what has to be cleaned up and failed is tried again without any change of the Service", async () => {
  const w = await served("web");
  w.cloud.faults.add({ operation: "DELETE /balancers/{id}", kind: "status", status: 500, calls: 3 });
  w.editSpec("web", { type: "ClusterIP" });
  await w.pass(0.5);
  expect(w.get("web").metadata.finalizers).toEqual([lbFinalizer]);
  await w.until(() => w.owners().length === 0, "the balancer to go", 600);
  await w.pass(5);
  expect(w.get("web").metadata.finalizers ?? []).toEqual([]);
});

test("9.15.3: when the last node goes the balancer stays, without targets, and the Service says that there are none", async () => {
  const w = await served("web");
  for (const name of ["node-0", "node-1", "node-2"]) w.removeNode(name);
  await w.pass(30);
  expect(w.cloud.balancers.list()[0]?.targets).toEqual([]);
  expect(warnings(w, "web")).toEqual([
    "Warning UnAvailableLoadBalancer There are no available nodes for LoadBalancer",
  ]);
});

test("9.15.3: a class given to a Service that has a balancer is refused by Kubernetes, and nothing is touched", async () => {
  const w = await served("web");
  expect(() => w.editSpec("web", { loadBalancerClass: "example.com/other" })).toThrow();
  await w.pass(30);
  expect(w.changes).toEqual([]);
  expect(w.owners()).toEqual(w.wanted());
});
