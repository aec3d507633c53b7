import { describe, expect, test } from "bun:test";
import { updateFailed } from "../../src/controllers/service/texts.ts";
import { seconds } from "../../src/core/brand.ts";
import { lbFinalizer, ServiceWorld } from "../support/service-world.ts";

// Behavior of upstream's service controller that none of its tests covers. The full list, including tests in other
// files, is in `unpinned`.

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

describe("events of a Service", () => {
  test("events of a Service have upstream's messages and order, each once", async () => {
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

  test("reports failed target changes as a failed update, then as a failed sync, and then the successful update", async () => {
    const w = await served("web");
    w.cloud.faults.add({ operation: "PATCH /balancers/{id}", kind: "status", status: 503, calls: 2 });
    w.addNode("late");
    await w.until(() => w.cloud.balancers.list()[0]?.targets.length === 4, "the fourth target", 60);
    await w.pass(5);
    const [first, second, ...more] = warnings(w, "web");
    expect(first).toStartWith(
      "Warning UpdateLoadBalancerFailed Error updating load balancer with new hosts [late node-0 node-1 node-2] " +
        "[node names limited, total number of nodes: 4], error: ",
    );
    expect(second).toStartWith("Warning SyncLoadBalancerFailed Error syncing load balancer: ");
    expect(more).toEqual([]);
    expect(w.events("web")).toContain("Normal UpdatedLoadBalancer Updated load balancer with new hosts");
  });

  test("reports a failed deletion during an update as a failed deletion", async () => {
    const w = await served("web");
    w.cloud.balancers.actionTime = seconds(20);
    w.addNode("late");
    await w.pass(5);
    w.cloud.faults.add({ operation: "DELETE /balancers/{id}", kind: "status", status: 503 });
    w.delete("web");
    await w.pass(120);
    expect(w.cloud.balancers.list()).toEqual([]);
    const [first, ...more] = warnings(w, "web");
    expect(first).toStartWith("Warning DeleteLoadBalancerFailed");
    expect(more).toEqual([]);
  });

  test("reports a failed change of the Service during an update as a failed sync", async () => {
    const w = await served("web");
    w.cloud.balancers.actionTime = seconds(20);
    w.addNode("late");
    await w.pass(5);
    w.cloud.faults.add({ operation: "PATCH /balancers/{id}", kind: "status", status: 503 });
    w.editSpec("web", { ports: [{ port: 443, targetPort: 8443, protocol: "TCP", nodePort: 30443 }] });
    await w.pass(120);
    const [first, ...more] = warnings(w, "web");
    expect(first).toStartWith("Warning SyncLoadBalancerFailed");
    expect(more).toEqual([]);
  });

  test("reports a change of the Service during a target update as ensured, not updated", async () => {
    const w = await served("web");
    w.cloud.balancers.actionTime = seconds(20);
    w.addNode("late");
    await w.pass(5);
    w.editSpec("web", { ports: [{ port: 443, targetPort: 8443, protocol: "TCP", nodePort: 30443 }] });
    await w.pass(120);
    expect(JSON.stringify(w.cloud.balancers.list())).toContain("443");
    // Reported as before, which increases the count of that event.
    expect(w.events("web").join()).toContain("EnsuredLoadBalancer");
    expect(w.events("web").join()).not.toContain("UpdatedLoadBalancer");
  });

  test("reports a failed listing after a target update as a failed sync, not as a failed update", async () => {
    const w = await served("web");
    w.addNode("late");
    await w.until(() => w.asked.some((order) => order.startsWith("PATCH")), "the targets to be changed", 60);
    w.cloud.faults.add({ operation: "GET /balancers", kind: "status", status: 500, calls: 2 });
    await w.pass(120);
    expect(w.events("web").slice(2)).toEqual([
      expect.stringMatching(
        /^Warning SyncLoadBalancerFailed Error syncing load balancer: The cloud did not serve the request \(500 from GET \S+\/balancers: injected fault\)\. Fairlead will retry\.$/,
      ),
      "Normal UpdatedLoadBalancer Updated load balancer with new hosts",
    ]);
  });

  test("names twenty hosts of a failed update", () => {
    const hosts = Array.from({ length: 23 }, (_, index) => `n${String(index).padStart(2, "0")}`);
    const { text } = updateFailed(hosts.toReversed(), new Error("no"));
    expect(text).toContain("[n00 n01 ");
    expect(text).toEndWith(" n19 <3 more>] [node names limited, total number of nodes: 23], error: no");
  });
});

test("a slow target update is not an error", async () => {
  const w = await served("web");
  w.cloud.balancers.actionTime = 4000 as never;
  w.addNode("late");
  await w.pass(30);
  expect(w.cloud.balancers.list()[0]?.targets).toHaveLength(4);
  expect(warnings(w, "web")).toEqual([]);
});

test("a failed cleanup is retried without a change of the Service", async () => {
  const w = await served("web");
  w.cloud.faults.add({ operation: "DELETE /balancers/{id}", kind: "status", status: 500, calls: 3 });
  w.editSpec("web", { type: "ClusterIP" });
  await w.pass(0.5);
  expect(w.get("web").metadata.finalizers).toEqual([lbFinalizer]);
  await w.until(() => w.owners().length === 0, "the balancer to go", 600);
  await w.pass(5);
  expect(w.get("web").metadata.finalizers ?? []).toEqual([]);
});

test("a load balancer stays without targets and with a warning when the last Node is deleted", async () => {
  const w = await served("web");
  for (const name of ["node-0", "node-1", "node-2"]) w.removeNode(name);
  await w.pass(30);
  expect(w.cloud.balancers.list()[0]?.targets).toEqual([]);
  expect(warnings(w, "web")).toEqual([
    "Warning UnAvailableLoadBalancer There are no available nodes for LoadBalancer",
  ]);
});

test("Kubernetes rejects a class on a Service with a load balancer, and nothing changes", async () => {
  const w = await served("web");
  expect(() => w.editSpec("web", { loadBalancerClass: "example.com/other" })).toThrow();
  await w.pass(30);
  expect(w.changes).toEqual([]);
  expect(w.owners()).toEqual(w.wanted());
});
