// Situations that could delete or duplicate objects by mistake: servers that ignore filters, simultaneous changes, and objects
// of others.

import { expect, test } from "bun:test";
import { seconds } from "../../../src/core/brand.ts";
import { leftByGoManager } from "./go-manager.ts";
import { draft, prefix, RancherWorld } from "./rancher-world.ts";

const ports = (port: number) => [{ port, protocol: "TCP", nodePort: 30_000 + port }];

/** Changes the data in the responses to an operation while `isOn`. */
function lying(
  h: RancherWorld,
  operation: string,
  change: (data: readonly { readonly id: string }[]) => unknown,
) {
  const receive = h.cloud.receive.bind(h.cloud);
  const lie = { isOn: true };
  h.cloud.receive = (request) => {
    const count = h.cloud.seen.length;
    const delivery = receive(request);
    const { answer } = delivery;
    if (!lie.isOn || h.cloud.seen[count]?.operation !== operation || answer.status !== 200) return delivery;
    const body = answer.body as { readonly data: readonly { readonly id: string }[] };
    return { ...delivery, answer: { ...answer, body: { ...body, data: change(body.data) } } };
  };
  return lie;
}

function moveNode({ world }: RancherWorld, name: string, address: string): void {
  const addresses = [{ type: "InternalIP", address }];
  world.changeNode(name, (node) => ({ ...node, status: { ...node.status, addresses } }));
}

test("does not consider removed objects as existing when the server ignores filters", async () => {
  const h = new RancherWorld(2);
  h.cloud.ignoresFilters = true;
  await h.start("service,cloud-node,cloud-node-lifecycle", "--absence-confirmation=10s");
  await h.created();
  const { id } = h.balancer;
  h.world.editSpec("web", { type: "ClusterIP" });
  await h.world.until(() => h.balancers.length === 0, "the removal", 120);
  h.world.editSpec("web", { type: "LoadBalancer" });
  await h.world.until(() => h.world.addressesOf("web").length > 0, "another load balancer", 300);
  expect(h.balancer.id).not.toBe(id);
  expect(h.rules).toHaveLength(2);
  h.cloud.environment.hosts.purge("node-1", h.world.clock.now());
  h.world.setReady("node-1", "Unknown");
  await h.world.until(() => h.node("node-1") === undefined, "the deletion", 600);
});

test.each([0, 1, 2, 3, 4, 5, 6, 7, 8])(
  "keeps the targets of a Service that is created %p s before another Service is deleted",
  async (before) => {
    const h = new RancherWorld(3);
    await h.start("service");
    await h.created(draft({}, ports(81)), "old");
    h.world.create("new", draft({}, ports(82)));
    await h.world.pass(before);
    h.world.delete("old");
    await h.world.until(() => h.world.find("old") === undefined, "the deletion", 120);
    await h.world.until(() => h.world.addressesOf("new").length > 0, "the address", 300);
    await h.world.pass(60);
    expect(h.rules).toHaveLength(3);
    expect(h.externals.map(({ name, state }) => `${name} ${state}`).toSorted()).toEqual([
      ...["node-0 active", "node-1 active", "node-2 active"],
    ]);
  },
);

test("updates a changed address of a Node on load balancers of the Go manager, which have no mark", async () => {
  const h = new RancherWorld(2);
  const nodes = { "node-0": "192.0.2.1", "node-1": "192.0.2.2" };
  leftByGoManager(h, { name: "web", ports: [80], nodes }, ["192.0.2.1"]);
  leftByGoManager(h, { name: "mail", ports: [25], nodes }, ["192.0.2.1"]);
  await h.start("service");
  await h.world.pass(30);
  moveNode(h, "node-0", "192.0.2.77");
  const addressOf = () => h.externals.find(({ name }) => name === "node-0")?.externalIpAddresses;
  await h.world.until(() => addressOf()?.[0] === "192.0.2.77", "the address", 900);
  await h.world.pass(300);
  for (const name of ["web", "mail"]) expect(h.balancerOf(name)?.lbConfig?.portRules).toHaveLength(2);
});

test("does not change a user's external service with a host name", async () => {
  const h = new RancherWorld(2);
  await h.start("service");
  const { environment } = h.cloud;
  const { id: stackId } = environment.addStack("kubernetes-loadbalancers");
  const own = environment.services.put("externalService", {
    name: "node-0",
    stackId,
    scale: 1,
    launchConfig: null,
    lbConfig: null,
    healthCheck: null,
    startOnCreate: true,
    externalIpAddresses: null,
    hostname: "db.example.com",
    metadata: {},
  });
  await h.created();
  await h.world.pass(60);
  expect(h.rules).toEqual(["80 -> node-1:30080 tcp"]);
  h.world.delete("web");
  await h.world.pass(60);
  expect(h.externals).toEqual([own]);
});

test("does not recreate a load balancer with the selector in another notation", async () => {
  const h = new RancherWorld(2);
  h.cloud.environment.hosts.change("node-1", { labels: { a: "b", c: "d" } });
  await h.start("service");
  await h.created(draft({ "lb-host-selector": "a=b,c=d" }));
  const { balancer } = h;
  const labels = { "io.rancher.scheduler.affinity:host_label": "a=b, c=d" };
  const launchConfig = { imageUuid: "docker:rancher/lb", ports: ["80:80/tcp"], labels };
  h.cloud.environment.services.update(balancer, { launchConfig });
  await h.world.pass(1200);
  expect(h.balancer.id).toBe(balancer.id);
});

test("leaves no objects when a Service is deleted while its load balancer is recreated", async () => {
  const h = new RancherWorld(2);
  await h.start("service");
  await h.created();
  const { id } = h.balancer;
  h.world.annotate("web", { [`${prefix}lb-scale`]: "global" });
  await h.world.until(
    () => h.balancers.every((one) => one.id !== id || one.state === "removing"),
    "the removal",
  );
  h.world.delete("web");
  await h.world.until(() => h.world.find("web") === undefined, "the deletion", 300);
  await h.world.pass(60);
  expect([h.balancers, h.externals]).toEqual([[], []]);
});

test("creates one load balancer while creations are slow, and answers and listings fail", async () => {
  const h = new RancherWorld(2);
  await h.start("service");
  const operation = "POST /loadBalancerServices";
  h.cloud.environment.services.time = seconds(20);
  h.cloud.faults.add({ kind: "lost-answer", operation });
  h.cloud.faults.add({ kind: "status", operation: "GET /loadBalancerServices", after: 1, calls: 3 });
  h.world.create("web", draft());
  await h.world.until(() => h.world.addressesOf("web").length > 0, "the address", 1200);
  await h.world.pass(60);
  expect(h.balancers).toHaveLength(1);
  expect(h.externals).toHaveLength(2);
});

const empty = { certificateIds: [], defaultCertificateId: null, config: null, stickinessPolicy: null };
const plain = { scale: 1, startOnCreate: true, healthCheck: null, metadata: {} };

/** Adds objects that a user created in the stack of the load balancers. */
function putOwn({ cloud: { environment } }: RancherWorld, name: string, address?: string) {
  const { id: stackId } = environment.addStack("kubernetes-loadbalancers");
  return address === undefined
    ? environment.services.put("loadBalancerService", {
        ...plain,
        name,
        stackId,
        externalIpAddresses: null,
        launchConfig: { imageUuid: "docker:own/lb", ports: ["8080:8080/tcp"], labels: {} },
        lbConfig: { ...empty, portRules: [] },
      })
    : environment.services.put("externalService", {
        ...plain,
        name,
        stackId,
        launchConfig: null,
        lbConfig: null,
        externalIpAddresses: [address],
      });
}

test("does not change a user's external service with an address that no load balancer uses", async () => {
  const h = new RancherWorld(2);
  const own = putOwn(h, "node-0", "198.51.100.7");
  await h.start("service");
  await h.created();
  expect(h.rules).toEqual(["80 -> node-1:30080 tcp"]);
  expect(h.events()).toContain("a different address (198.51.100.7)");
  h.world.delete("web");
  await h.world.pass(60);
  expect(h.externals).toEqual([own]);
});

test("serves the other Nodes when a load balancer of a user has the name of a Node", async () => {
  const h = new RancherWorld(2);
  const own = putOwn(h, "node-0");
  await h.start("service");
  h.world.create("web", draft());
  await h.world.until(() => h.world.addressesOf("web").length > 0, "the address", 300);
  const targets = h.balancerOf("web")?.lbConfig?.portRules.map(({ serviceId }) => serviceId);
  expect(targets).toEqual(h.externals.map(({ id }) => id));
  expect(h.externals.map(({ name }) => name)).toEqual(["node-1"]);
  expect(h.events()).toContain("Another kind of service in Rancher has the name node-0");
  expect(h.balancers.find(({ id }) => id === own.id)).toEqual(own);
});

test("uses a stack whose name differs only in case, which Rancher treats as the same", async () => {
  const h = new RancherWorld(2);
  const { id } = h.cloud.environment.addStack("Kubernetes-LoadBalancers");
  await h.start("service");
  await h.created();
  expect(h.balancer.stackId).toBe(id);
});

test("creates a load balancer without ports once, even with spec.loadBalancerIP", async () => {
  const h = new RancherWorld(2);
  await h.start("service");
  const { annotations } = draft();
  const spec = {
    ports: [{ port: 80, protocol: "TCP" }] as never,
    loadBalancerIP: "192.0.2.1",
    allocateLoadBalancerNodePorts: false,
  };
  h.world.create("web", { annotations, spec });
  await h.world.pass(300);
  expect(h.cloud.counts()["POST /loadBalancerServices"]).toBe(1);
  expect(h.cloud.counts()["DELETE /loadBalancerServices/{id}"]).toBeUndefined();
});

test("does not recreate a load balancer whose annotation names the same hosts in another order", async () => {
  const h = new RancherWorld(2);
  h.cloud.environment.hosts.change("node-1", { labels: { a: "b", c: "d" } });
  await h.start("service");
  await h.created(draft({ "lb-host-selector": "a=b,c=d" }));
  h.forget();
  h.world.annotate("web", { [`${prefix}lb-host-selector`]: "c=d, a=b" });
  await h.world.pass(120);
  expect(h.changes).toEqual([]);
});

test("removes the external services of the Go manager after one failed removal", async () => {
  const h = new RancherWorld(2);
  const nodes = { "node-0": "192.0.2.1", "node-1": "192.0.2.2" };
  leftByGoManager(h, { name: "web", ports: [80], nodes }, ["192.0.2.1"]);
  await h.start("service");
  await h.world.pass(30);
  h.cloud.faults.add({ kind: "status", operation: "GET /externalServices/{id}" });
  h.world.delete("web");
  await h.world.until(() => h.world.find("web") === undefined, "the deletion", 600);
  await h.world.pass(60);
  expect([h.balancers, h.externals]).toEqual([[], []]);
});

test("keeps an external service that another cluster has marked since the last listing", async () => {
  const h = new RancherWorld(2);
  await h.start("service");
  await h.created();
  const { services } = h.cloud.environment;
  services.time = seconds(0);
  const metadata = { "fairlead.dev/cluster": "other", "fairlead.dev/service-uid": "uid-of-other" };
  // The mark appears just before the manager reads the external service.
  const receive = h.cloud.receive.bind(h.cloud);
  h.cloud.receive = (request) => {
    const own = h.externals.find(({ name }) => name === "node-0");
    const isRead =
      request.method === "GET" && /\/externalServices\/[^/]+$/.test(new URL(request.url).pathname);
    if (own !== undefined && isRead) services.update(own, { metadata });
    return receive(request);
  };
  h.world.delete("web");
  await h.world.until(() => h.world.find("web") === undefined, "the deletion", 120);
  await h.world.pass(60);
  expect(h.externals.map((one) => [one.name, one.metadata])).toEqual([["node-0", metadata]]);
});

test.each(["node-0", "1H1", "1h1/x", "ABCDEF00-0000-4000-8000-00000000000A"])(
  "keeps the Node with the provider id rancher://%s, which proves no missing host",
  async (id) => {
    const h = new RancherWorld(20);
    const { ips } = h.cloud.environment.hosts.add("odd", { uuid: "abcdef00-0000-4000-8000-00000000000a" });
    h.joinAs("odd", id, ...ips);
    await h.start("cloud-node,cloud-node-lifecycle", "--absence-confirmation=10s");
    h.world.setReady("odd", "Unknown");
    await h.world.pass(900);
    expect(h.node("odd")).toBeDefined();
  },
);

test("keeps the targets while the listing of external services is empty", async () => {
  const h = new RancherWorld(2);
  await h.start("service");
  await h.created();
  const { rules } = h;
  const lie = lying(h, "GET /externalServices", () => []);
  h.addNode("node-2");
  await h.world.pass(1200);
  expect(h.rules).toEqual(rules);
  lie.isOn = false;
  await h.world.until(() => h.rules.length === 3, "the Node", 600);
  expect(h.externals).toHaveLength(3);
});

test("creates the load balancer when the key gets the permission", async () => {
  const h = new RancherWorld(2);
  const lie = lying(h, "GET /schemas", (data) => data.filter(({ id }) => id !== "loadBalancerService"));
  await h.start("service");
  h.world.create("web", draft());
  await h.world.pass(120);
  expect(h.events()).toContain("does not offer loadBalancerService to this key");
  lie.isOn = false;
  await h.world.until(() => h.world.addressesOf("web").length > 0, "the address", 900);
});

test("deletes and creates nothing when its environment is gone and the key can read another environment", async () => {
  const h = new RancherWorld(3);
  await h.start("service,cloud-node,cloud-node-lifecycle", "--absence-confirmation=10s");
  await h.created();
  h.forget();
  h.cloud.environment.projects.splice(0, 1, { id: "1a7", name: "Default" });
  h.world.setReady("node-1", "Unknown");
  h.world.create("mail", draft({}, ports(81)));
  await h.world.pass(2400);
  expect(h.node("node-1")).toBeDefined();
  expect(h.changes).toEqual([]);
  expect(h.cloud.seen.filter(({ path, status }) => path.includes("1a7") && status === 200)).toEqual([]);
});
