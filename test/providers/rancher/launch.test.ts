// Images, addresses and hosts of load balancers: which changes upgrade, bind or recreate a load balancer.

import { expect, test } from "bun:test";
import { minutes, seconds } from "../../../src/core/brand.ts";
import { draft, prefix, RancherWorld } from "./rancher-world.ts";

async function started(nodes = 2): Promise<RancherWorld> {
  const h = new RancherWorld(nodes);
  await h.start("service");
  h.forget();
  return h;
}

test("upgrades the load balancer when its image changes, and finishes the upgrade", async () => {
  const h = await started();
  await h.created();
  const { id, launchConfig } = h.balancer;
  h.forget();
  h.world.annotate("web", { [`${prefix}lb-image`]: "rancher/lb-service-haproxy:v0.9.15" });
  await h.world.pass(60);
  const imageUuid = "docker:rancher/lb-service-haproxy:v0.9.15";
  expect(h.balancer).toMatchObject({ id, state: "active", launchConfig: { ...launchConfig, imageUuid } });
  expect(h.changes).toEqual([
    "POST /loadBalancerServices/{id}?action=upgrade",
    "POST /loadBalancerServices/{id}?action=finishupgrade",
  ]);
  h.forget();
  // Without the annotation, the load balancer keeps its image.
  h.world.annotate("web", { [`${prefix}lb-image`]: undefined });
  await h.world.pass(120);
  expect(h.changes).toEqual([]);
});

test("leaves an operator's upgrade to the operator, and reports that it waits for the upgrade", async () => {
  const h = await started();
  await h.created();
  const { services } = h.cloud.environment;
  services.upgrade(h.balancer, { imageUuid: "docker:own/lb", ports: ["80:80/tcp"], labels: {} });
  await h.world.pass(5);
  h.addNode("node-2");
  await h.world.pass(60);
  expect(h.balancer).toMatchObject({ state: "upgraded", launchConfig: { imageUuid: "docker:own/lb" } });
  expect(h.rules).toHaveLength(2);
  expect(h.events()).toContain("to accept changes, it is upgraded");
  services.finishUpgrade(h.balancer);
  await h.world.until(() => h.rules.length === 3, "the rule of the new Node", 300);
});

test("publishes changed ports after an upgrade, because the server would only store them during it [S11]", async () => {
  const h = await started();
  await h.created();
  const { services } = h.cloud.environment;
  services.time = minutes(20);
  services.upgrade(h.balancer, { imageUuid: "docker:own/lb", ports: ["80:80/tcp"], labels: {} });
  await h.world.pass(600);
  h.world.editSpec("web", { ports: [{ port: 8080, protocol: "TCP", nodePort: 30_080 }] as never });
  await h.world.pass(60);
  expect(h.balancer).toMatchObject({ state: "upgrading", launchConfig: { ports: ["80:80/tcp"] } });
  expect(h.events()).toContain("to accept changes, it is upgrading");
  services.time = seconds(1);
  await h.world.pass(600);
  services.finishUpgrade(h.balancer);
  await h.world.pass(300);
  expect(h.balancer).toMatchObject({ state: "active", launchConfig: { ports: ["8080:8080/tcp"] } });
  expect(services.endpointsOf(h.balancer).map(({ port }) => port)).toEqual([8080]);
});

test("reports that an operator's upgrade must end before a change of the image", async () => {
  const h = await started();
  await h.created();
  const { services } = h.cloud.environment;
  services.upgrade(h.balancer, { imageUuid: "docker:own/lb", ports: ["80:80/tcp"], labels: {} });
  await h.world.pass(5);
  h.world.annotate("web", { [`${prefix}lb-image`]: "rancher/lb-service-haproxy:v0.9.15" });
  await h.world.pass(60);
  expect(h.events()).toContain("finish or roll back its upgrade in Rancher");
  services.finishUpgrade(h.balancer);
  const image = () => h.balancer.launchConfig?.imageUuid;
  await h.world.until(() => image() === "docker:rancher/lb-service-haproxy:v0.9.15", "the image", 300);
});

test("binds the ports to the host address in spec.loadBalancerIP [S11]", async () => {
  const h = await started(3);
  const { spec, annotations } = draft();
  await h.created({ annotations, spec: { ...spec, loadBalancerIP: "192.0.2.2" } as never });
  expect(h.balancer.launchConfig).toMatchObject({ ports: ["192.0.2.2:80:80/tcp"], requestedHostId: "1h2" });
  expect(h.world.addressesOf("web")).toEqual(["192.0.2.2"]);
  const { id } = h.balancer;
  h.forget();
  h.world.editSpec("web", { ports: [{ port: 81, protocol: "TCP", nodePort: 30_081 }] as never });
  await h.world.pass(60);
  expect(h.balancer).toMatchObject({
    id,
    launchConfig: { ports: ["192.0.2.2:81:81/tcp"], requestedHostId: "1h2" },
  });
  expect(h.changes).toEqual(["PUT /loadBalancerServices/{id}"]);
  h.forget();
  // Without the field, the load balancer keeps its address; its host may change.
  h.world.editSpec("web", { loadBalancerIP: "" });
  h.cloud.environment.hosts.purge("node-1", h.world.clock.now());
  await h.world.pass(60);
  expect(h.changes).toEqual([]);
});

test("recreates the load balancer for a different address", async () => {
  const h = await started(3);
  await h.created();
  const { id } = h.balancer;
  h.world.editSpec("web", { loadBalancerIP: "192.0.2.3" });
  await h.world.until(() => h.world.addressesOf("web").join() === "192.0.2.3", "the other address", 300);
  expect(h.balancer.id).not.toBe(id);
  expect(h.externals).toHaveLength(3);
});

test.each([
  ["2001:db8::1", {}, "Rancher binds ports to IPv4 addresses only"],
  ["198.51.100.1", {}, "is on no host of the environment"],
  ["192.0.2.1", { "lb-scale": "2" }, "the load balancer has one container"],
  ["192.0.2.1", { "lb-host-selector": "lb=true" }, "the load balancer has one container"],
])(
  "creates no load balancer for the address %s with %p, and reports why",
  async (loadBalancerIP, annotated, expected) => {
    const h = await started();
    const { spec, annotations } = draft(annotated);
    h.world.create("web", { annotations, spec: { ...spec, loadBalancerIP } as never });
    await h.world.pass(60);
    expect(h.changes).toEqual([]);
    expect(h.events()).toContain(expected);
  },
);

test("creates no load balancer for an IPv6-only Service, and an IPv4 load balancer for a dual-stack Service", async () => {
  const h = await started();
  const { spec, annotations } = draft();
  h.world.create("six", { annotations, spec: { ...spec, ipFamilies: ["IPv6"] } as never });
  await h.world.pass(60);
  expect(h.changes).toEqual([]);
  expect(h.events("six")).toContain("The Service has only IPv6");
  h.world.delete("six");
  await h.created({ annotations, spec: { ...spec, ipFamilies: ["IPv6", "IPv4"] } as never });
  expect(h.world.addressesOf("web")).toEqual(["192.0.2.1"]);
});

test("forwards to the IPv4 address of a dual-stack Node", async () => {
  const h = await started(1);
  h.world.changeNode("node-0", (node) => ({
    ...node,
    status: {
      ...node.status,
      addresses: [
        { type: "InternalIP", address: "2001:db8::1" },
        { type: "InternalIP", address: "192.0.2.1" },
      ],
    },
  }));
  await h.created();
  expect(h.externals.map(({ externalIpAddresses }) => externalIpAddresses)).toEqual([["192.0.2.1"]]);
});

test("sets service links if the server does not derive them from rules", async () => {
  const h = await started();
  h.cloud.environment.services.derivesLinks = false;
  await h.created();
  const linked = () => h.balancer.serviceLinks.toSorted();
  const ids = () => h.externals.map(({ id }) => id).toSorted();
  expect(linked()).toEqual(ids());
  h.addNode("node-2");
  await h.world.pass(60);
  expect(linked()).toEqual(ids());
  expect(ids()).toHaveLength(3);
});
