import { expect, test } from "bun:test";
import { ServiceWorld } from "../../support/service-world.ts";

// The journal states why a load balancer was changed.

const reasons = (w: ServiceWorld) =>
  w.manager.journal.entries().flatMap(({ target, why }) => (target === "cloud" ? why : []));

test("the reason of a change names the Service and the Nodes that joined and left", async () => {
  const w = new ServiceWorld();
  await w.start();
  w.create("web");
  await w.pass(30);
  w.addNode("node-3");
  await w.pass(30);
  w.removeNode("node-1");
  await w.pass(30);
  w.removeNode("node-0");
  w.addNode("node-4");
  w.addNode("node-5");
  await w.pass(30);
  w.annotate("web", { "balancer.fake.example/algorithm": "least-connections" });
  await w.pass(30);
  w.cloud.balancers.change("b1", { algorithm: "round-robin" });
  await w.pass(3600);
  w.delete("web");
  await w.pass(30);
  expect(reasons(w)).toEqual([
    "default/web: load balancer needed",
    "default/web: node-3 is a new target",
    "default/web: node-1 is no longer a target",
    "default/web: node-0 is no longer a target; 2 Nodes are new targets (node-4, node-5)",
    "default/web: the Service changed",
    "default/web: load balancer changed outside Fairlead",
    "default/web: load balancer no longer needed",
  ]);
});

test("the reason after a restart does not claim that the Service changed", async () => {
  const w = new ServiceWorld();
  await w.start();
  w.create("web");
  await w.pass(30);
  await w.stop();
  w.addNode("late");
  await w.start();
  await w.pass(30);
  expect(reasons(w)).toEqual(["default/web: load balancer differs from the Service"]);
});

test("the reason of an adoption names the load balancer", async () => {
  const w = new ServiceWorld();
  const { id } = w.cloud.balancers.create({ name: "by-hand" });
  await w.start();
  w.create("web", { annotations: { "balancer.fake.example/adopt": id } });
  await w.pass(30);
  expect(reasons(w)).toEqual([`default/web: adopts load balancer ${id}`]);
});
