// Load balancers that a Service takes over by annotation, and load balancers that it gives up.

import { expect, test } from "bun:test";
import { draft, prefix, RancherWorld } from "./rancher-world.ts";

const released = { "fairlead.dev/on-delete": "release" };

async function started(nodes = 2): Promise<RancherWorld> {
  const h = new RancherWorld(nodes);
  await h.start("service");
  return h;
}

/** Adds a load balancer that a user created in a stack of the same name, with an external service of the user. */
function addOwn({ cloud: { environment } }: RancherWorld, name = "front") {
  const stack = environment.stacks.find((one) => one.name === "own") ?? environment.addStack("own");
  const common = {
    stackId: stack.id,
    scale: 2,
    metadata: { team: "a" },
    startOnCreate: false,
    healthCheck: null,
  };
  const database = environment.services.put("externalService", {
    ...common,
    name: `${name}-db`,
    externalIpAddresses: ["198.51.100.7"],
    launchConfig: null,
    lbConfig: null,
  });
  const rule = { sourcePort: 8080, targetPort: 80, protocol: "http", selector: null, backendName: null };
  return environment.services.put("loadBalancerService", {
    ...common,
    name,
    externalIpAddresses: null,
    launchConfig: { imageUuid: "docker:own/lb", ports: ["8080:8080/tcp"], labels: { own: "label" } },
    lbConfig: {
      portRules: [{ ...rule, serviceId: database.id }],
      certificateIds: [],
      defaultCertificateId: null,
      config: null,
      stickinessPolicy: null,
    },
  });
}

test.each(["name", "id"] as const)(
  "adopts the load balancer with this %s in any stack, and keeps everything that does not belong to the Service [F39]",
  async (by) => {
    const h = await started();
    const own = addOwn(h);
    await h.created(draft({ "lb-adopt": own[by] }));
    expect(h.balancer).toMatchObject({
      id: own.id,
      name: "front",
      scale: 2,
      metadata: { team: "a", "fairlead.dev/service-uid": h.world.get("web").metadata.uid },
      launchConfig: { imageUuid: "docker:own/lb", ports: ["80:80/tcp"], labels: { own: "label" } },
    });
    expect(h.rules).toEqual(["80 -> node-0:30080 tcp", "80 -> node-1:30080 tcp"]);
    // This external service belongs to the user.
    expect(h.externals.map(({ name }) => name)).toEqual(["front-db", "node-0", "node-1"]);
    h.forget();
    await h.world.stop();
    await h.start("service");
    await h.world.pass(120);
    expect(h.changes).toEqual([]);
  },
);

test("changes no load balancer that no Service names, and does not list it as an orphan", async () => {
  const h = await started();
  const own = addOwn(h);
  await h.created();
  h.world.delete("web");
  await h.world.pass(60);
  expect(h.balancers).toEqual([own]);
  expect(h.orphans).toEqual([]);
});

test("creates no load balancer while the load balancer to adopt does not exist, and adopts it later", async () => {
  const h = await started();
  h.world.create("web", draft({ "lb-adopt": "front" }));
  await h.world.pass(60);
  expect(h.balancers).toEqual([]);
  expect(h.events()).toContain("AdoptionNotFound");
  const { id } = addOwn(h);
  await h.world.until(() => h.world.addressesOf("web").length > 0, "the address", 1200);
  expect(h.balancer.id).toBe(id);
});

test("adopts neither of two load balancers with the name, but adopts the load balancer with the id", async () => {
  const h = await started();
  const { stacks } = h.cloud.environment;
  addOwn(h);
  stacks[0] = { id: stacks[0]?.id ?? "", name: "renamed" };
  const second = addOwn(h);
  h.world.create("web", draft({ "lb-adopt": "front" }));
  await h.world.pass(60);
  expect(h.events()).toContain("AmbiguousAdoption");
  expect(h.changes).toEqual([]);
  h.world.annotate("web", { [`${prefix}lb-adopt`]: second.id });
  await h.world.until(() => h.world.addressesOf("web").length > 0, "the address", 120);
  expect(h.balancerOf("web")?.id).toBe(second.id);
});

test("rejects the adoption of a load balancer of another Service or cluster", async () => {
  const h = await started();
  await h.created();
  const metadata = {
    "fairlead.dev/cluster": "other",
    "fairlead.dev/service-uid": "11111111-2222-4333-8444-555555555555",
  };
  const { services } = h.cloud.environment;
  services.update(addOwn(h), { metadata });
  const port = (nodePort: number) => [{ port: 80, protocol: "TCP", nodePort }];
  h.world.create("mail", draft({ "lb-adopt": h.balancerOf("web")?.name ?? "" }, port(30_001)));
  h.world.create("shop", draft({ "lb-adopt": "front" }, port(30_002)));
  h.forget();
  await h.world.pass(120);
  expect(h.events("mail")).toContain("which belongs to default/web");
  expect(h.events("shop")).toContain("which belongs to cluster other");
  expect(h.changes).toEqual([]);
});

test("does not recreate an adopted load balancer, and reports a change that would require a new load balancer", async () => {
  const h = await started();
  const { id } = addOwn(h);
  await h.created(draft({ "lb-adopt": "front" }));
  h.forget();
  h.world.annotate("web", { [`${prefix}lb-scale`]: "global" });
  await h.world.pass(120);
  expect(h.balancer.id).toBe(id);
  expect(h.changes).toEqual([]);
  expect(h.events()).toContain("A change of its scale needs a new load balancer");
});

test("releases a load balancer with its rules, and a new Service gets a new load balancer [F41]", async () => {
  const h = await started();
  const { annotations, spec } = draft();
  await h.created({ annotations: { ...annotations, ...released }, spec });
  const { id } = h.balancer;
  const rules = h.rules;
  h.forget();
  h.world.delete("web");
  await h.world.pass(60);
  expect(h.world.find("web")).toBeUndefined();
  expect(h.changes).toEqual(["PUT /loadBalancerServices/{id}"]);
  expect(h.balancer).toMatchObject({ id, name: `released-${id}`, state: "active", metadata: {} });
  expect(h.rules).toEqual(rules);
  await h.created();
  expect(h.balancers.map(({ name }) => name)).toEqual([`released-${id}`, h.balancerOf("web")?.name ?? ""]);
  h.world.delete("web");
  await h.world.pass(120);
  // The released load balancer still uses the external services.
  expect(h.externals.map(({ name }) => name)).toEqual(["node-0", "node-1"]);
  expect(h.rules).toEqual(rules);
});

test("adopts a load balancer that another Service has released, and keeps its address [F39 F41]", async () => {
  const h = await started();
  const { annotations, spec } = draft();
  await h.created({ annotations: { ...annotations, ...released }, spec });
  const { id } = h.balancer;
  const addresses = h.world.addressesOf("web");
  h.world.delete("web");
  await h.world.pass(60);
  await h.created(draft({ "lb-adopt": id }), "heir");
  expect(h.balancer.id).toBe(id);
  expect(h.world.addressesOf("heir")).toEqual(addresses);
});

test("deletes an adopted load balancer with its Service, and no object of the user", async () => {
  const h = await started();
  addOwn(h);
  await h.created(draft({ "lb-adopt": "front" }));
  h.world.delete("web");
  await h.world.pass(120);
  expect(h.balancers).toEqual([]);
  expect(h.externals.map(({ name }) => name)).toEqual(["front-db"]);
});
