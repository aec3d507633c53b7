// Two clusters in one environment: what one does to the objects of the other.

import { expect, test } from "bun:test";
import { milliseconds } from "../../../src/core/brand.ts";
import { draft, RancherWorld } from "./rancher-world.ts";

const port = (number: number) => [{ port: number, protocol: "TCP", nodePort: 30_000 + number }];

/** Clusters a and b. Both use the time of the first one, so they advance together. */
async function bothStarted(inStack: string | undefined = undefined, common = {}) {
  const a = new RancherWorld(2, common, { cluster: "a" });
  a.cloud.latency = milliseconds(0);
  const settings = { ...common, ...(inStack !== undefined && { "load-balancers-stack": inStack }) };
  const b = new RancherWorld(0, settings, { cluster: "b", cloud: a.cloud });
  const pass = async (time: number) => {
    for (let passed = 0; passed < time; passed += 1) {
      await a.world.pass(1);
      await b.world.pass(1);
    }
  };
  return { a, b, pass, start: () => Promise.all([a.start("service"), b.start("service")]) };
}

const namesOf = ({ externals }: RancherWorld) => externals.map(({ name }) => name).toSorted();

test.each([undefined, "of-b"])(
  "each of two clusters changes only its own objects, with the stack %p of the second cluster [S11]",
  async (stack) => {
    const { a, b, pass, start } = await bothStarted(stack);
    b.addNode("node-8");
    b.addNode("node-9");
    await start();
    a.world.create("web", draft());
    b.world.create("web", draft({}, port(81)));
    await pass(40);
    expect([a.world.addressesOf("web"), b.world.addressesOf("web")]).toEqual([["192.0.2.1"], ["192.0.2.1"]]);
    expect(namesOf(a)).toEqual(["node-0", "node-1", "node-8", "node-9"]);
    const ofB = b.balancerOf("web");
    a.forget();
    a.world.removeNode("node-0");
    await pass(40);
    expect(namesOf(a)).toEqual(["node-1", "node-8", "node-9"]);
    a.world.delete("web");
    await pass(60);
    expect(a.balancers).toEqual([ofB as never]);
    expect(namesOf(a)).toEqual(["node-8", "node-9"]);
    expect([a.orphans, b.orphans]).toEqual([[], []]);
  },
);

test("keeps an external service that both clusters use until both clusters no longer need it", async () => {
  const { a, b, pass, start } = await bothStarted();
  // The same machine is a Node of both clusters.
  b.joinAs("node-1", a.cloud.environment.hosts.existing("node-1").uuid, "192.0.2.2");
  await start();
  a.world.create("web", draft());
  await pass(30);
  b.world.create("web", draft({}, port(81)));
  await pass(30);
  expect(namesOf(a)).toEqual(["node-0", "node-1"]);
  a.world.delete("web");
  await pass(60);
  expect(namesOf(a)).toEqual(["node-1"]);
  expect(b.rules).toEqual(["81 -> node-1:30081 tcp"]);
  // Cluster b lists again, and sees that a has given the service up.
  await pass(700);
  b.world.delete("web");
  await pass(60);
  expect(namesOf(a)).toEqual([]);
  expect(a.balancers).toEqual([]);
});

test("a cluster lists the load balancer of its vanished Service as an orphan, and another cluster does not [F56]", async () => {
  const { a, b, pass, start } = await bothStarted();
  b.addNode("node-9");
  await start();
  a.world.create("web", draft());
  await pass(30);
  const name = a.balancers[0]?.name ?? "";
  await a.world.stop();
  a.world.edit("web", (service) => ({ ...service, metadata: { ...service.metadata, finalizers: [] } }));
  a.world.delete("web");
  await a.start("service");
  await pass(60);
  expect(a.orphans.join()).toContain(name);
  expect(b.orphans).toEqual([]);
  expect(a.balancers).toHaveLength(1);
});

test("a load balancer that both clusters try to adopt stays with the first cluster", async () => {
  const { a, b, pass, start } = await bothStarted(undefined, { "events-enabled": "false" });
  b.addNode("node-9");
  const { environment } = a.cloud;
  const { id } = environment.services.put("loadBalancerService", {
    name: "front",
    stackId: environment.addStack("own").id,
    scale: 1,
    startOnCreate: true,
    metadata: {},
    externalIpAddresses: null,
    healthCheck: null,
    launchConfig: { imageUuid: "docker:own/lb", ports: ["8080:8080/tcp"], labels: {} },
    lbConfig: {
      portRules: [],
      certificateIds: [],
      defaultCertificateId: null,
      config: null,
      stickinessPolicy: null,
    },
  });
  await start();
  await pass(10);
  a.world.create("web", draft({ "lb-adopt": "front" }));
  await pass(40);
  // The last listing of cluster b is older than the adoption.
  b.world.create("web", draft({ "lb-adopt": "front" }, port(81)));
  await pass(60);
  expect(environment.services.get(id)?.metadata).toMatchObject({ "fairlead.dev/cluster": "a" });
  expect(a.rules).toEqual(["80 -> node-0:30080 tcp", "80 -> node-1:30080 tcp"]);
  expect(b.events()).toContain("which belongs to cluster a");
});
