// Taking over from the Go manager, and returning to it.

import { expect, test } from "bun:test";
import { leftByGoManager, putGoBalancer } from "./go-manager.ts";
import { prefix, RancherWorld } from "./rancher-world.ts";

const nodes = { "node-0": "192.0.2.1", "node-1": "192.0.2.2" };
const writes = (h: RancherWorld) => h.world.written.filter((what) => !what.includes("/events"));

/** Adds the labels that the Go manager's version of Kubernetes writes, and the labels that later versions add for them. */
function labelNode({ world }: RancherWorld, name: string): void {
  const labels = {
    "beta.kubernetes.io/instance-type": "rancher",
    "node.kubernetes.io/instance-type": "rancher",
    "failure-domain.beta.kubernetes.io/zone": "FailureDomain1",
    "failure-domain.beta.kubernetes.io/region": "Region1",
    "topology.kubernetes.io/zone": "FailureDomain1",
    "topology.kubernetes.io/region": "Region1",
  };
  world.changeNode(name, (node) => ({ ...node, metadata: { ...node.metadata, labels } }));
}

test("takes over the Go manager's objects without a change in Rancher or of a Kubernetes object [S11 F39]", async () => {
  const h = new RancherWorld(2);
  for (const name of Object.keys(nodes)) labelNode(h, name);
  // The order of the endpoints differs from that of the addresses.
  leftByGoManager(h, { name: "web", ports: [80, 443], nodes, scale: 3 }, ["192.0.2.2", "192.0.2.1"]);
  leftByGoManager(h, { name: "mail", ports: [25], nodes }, ["192.0.2.1"]);
  await h.start("service,cloud-node,cloud-node-lifecycle");
  await h.world.pass(600);
  expect(h.changes).toEqual([]);
  expect(writes(h)).toEqual([]);
});

test("deletes the Go manager's objects with their Service, and keeps the objects that another cluster uses", async () => {
  const h = new RancherWorld(2);
  leftByGoManager(h, { name: "web", ports: [80], nodes }, ["192.0.2.1"]);
  const other = putGoBalancer(h, "11111111-2222-4333-8444-555555555555", {
    name: "other",
    ports: [81],
    nodes: { "node-1": nodes["node-1"] },
  });
  await h.start("service");
  await h.world.pass(60);
  h.world.delete("web");
  await h.world.pass(120);
  expect(h.world.find("web")).toBeUndefined();
  expect(h.balancers).toEqual([other]);
  expect(h.externals.map(({ name }) => name)).toEqual(["node-1"]);
});

test("changes only the settings of the Go manager's objects that differ", async () => {
  const h = new RancherWorld(2);
  const { id } = leftByGoManager(h, { name: "web", ports: [80], nodes }, ["192.0.2.1"]);
  await h.start("service");
  await h.world.pass(60);
  h.addNode("node-2");
  await h.world.pass(60);
  expect(h.balancer).toMatchObject({ id, metadata: { "fairlead.dev/cluster": "kubernetes" } });
  // The server adds this label.
  expect(h.balancer.launchConfig?.labels).toEqual({ "io.rancher.container.agent.role": "environmentAdmin" });
  expect(h.rules).toHaveLength(3);
  expect(h.changes).toEqual(["POST /externalServices", "PUT /loadBalancerServices/{id}"]);
});

test("does not list load balancers of another cluster's Go manager as orphans", async () => {
  const h = new RancherWorld(2);
  leftByGoManager(h, { name: "web", ports: [80], nodes }, ["192.0.2.1"]);
  putGoBalancer(h, "11111111-2222-4333-8444-555555555555", { name: "other", ports: [81], nodes });
  await h.start("service");
  await h.world.pass(60);
  expect(h.orphans).toEqual([]);
});

test("keeps the load balancer of the Go manager when the stack of new load balancers has a different name", async () => {
  const h = new RancherWorld(2, { "load-balancers-stack": "other" });
  leftByGoManager(h, { name: "web", ports: [80], nodes }, ["192.0.2.1"]);
  await h.start("service");
  await h.world.pass(120);
  expect(h.changes).toEqual([]);
});

test("keeps an external service with several addresses, which the Go manager never creates", async () => {
  const h = new RancherWorld(2);
  const { id, stackId } = leftByGoManager(h, { name: "web", ports: [80], nodes }, ["192.0.2.1"]);
  const { services } = h.cloud.environment;
  const made = services.put("externalService", {
    name: "database",
    stackId,
    scale: 1,
    externalIpAddresses: ["192.0.2.8", "192.0.2.9"],
    launchConfig: null,
    lbConfig: null,
    healthCheck: null,
    metadata: {},
    startOnCreate: true,
  });
  const balancer = services.get(id);
  const [rule] = balancer?.lbConfig?.portRules ?? [];
  if (balancer?.lbConfig == null || rule === undefined) throw new Error("Expected a rule.");
  const portRules = [...balancer.lbConfig.portRules, { ...rule, sourcePort: 81, serviceId: made.id }];
  services.update(balancer, { lbConfig: { ...balancer.lbConfig, portRules } });
  await h.start("service");
  h.world.annotate("web", { [`${prefix}lb-scale`]: "2" });
  await h.world.pass(60);
  h.world.delete("web");
  await h.world.pass(60);
  expect(h.externals.map(({ name }) => name)).toEqual(["database"]);
});
