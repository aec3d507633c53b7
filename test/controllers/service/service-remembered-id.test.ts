import { expect, test } from "bun:test";
import { awkward } from "../../support/awkward/awkward.ts";
import { AwkwardCloud } from "../../support/awkward/awkward-cloud.ts";
import { ServiceWorld } from "../../support/service-world.ts";

// A complete manager with a provider that finds load balancers only by an id stored on the Service, and whose addresses another
// program announces.

const fact = "awkward.example/balancer-id";

const awkwardWorld = () => {
  const cloud = new AwkwardCloud();
  cloud.machines["east"]?.push({ serial: "0", name: "node-0", power: "on" });
  const w = new ServiceWorld({
    provider: awkward,
    cloud: () => cloud.transport,
    providerIDOf: (node) => `awk://east/${node.replace("node-", "")}`,
  });
  return { w, cloud };
};

test("stores the load balancer's id on the Service, so that a restart finds the load balancer [F40]", async () => {
  const { w, cloud } = awkwardWorld();
  await w.start();
  w.create("a");
  await w.pass(60);
  const [id = ""] = cloud.balancers.keys();
  expect(cloud.balancers.size).toBe(1);
  expect(w.get("a").metadata.annotations?.[fact]).toBe(id);
  w.crash();
  w.forget();
  await w.start();
  await w.pass(600);
  expect([...w.changes, ...w.written]).toEqual([]);
  w.delete("a");
  await w.pass(60);
  expect([cloud.balancers.size, w.services().length]).toEqual([0, 0]);
});

test("never writes an address that another program announces, not even when the Service is deleted", async () => {
  const { w } = awkwardWorld();
  await w.start();
  w.create("a", {
    annotations: { "awkward.example/announcer": "vip-agent" },
    finalizers: ["example.com/agent"],
  });
  const ingress = [{ ip: "203.0.113.7" }];
  w.edit("a", (service) => ({ ...service, status: { loadBalancer: { ingress } } }), "status");
  await w.pass(60);
  expect(w.addressesOf("a")).toEqual(["203.0.113.7"]);
  w.delete("a");
  await w.pass(60);
  expect(w.addressesOf("a")).toEqual(["203.0.113.7"]);
  expect(w.get("a").metadata.finalizers).toEqual(["example.com/agent"]);
});

test("a lookup by id never gives a Service the address of another Service's load balancer [F40]", async () => {
  const { w, cloud } = awkwardWorld();
  await w.start();
  w.create("victim");
  await w.until(() => w.addressesOf("victim").length > 0, "its address");
  const [id = ""] = cloud.balancers.keys();
  w.create("other", { annotations: { [fact]: id } });
  await w.until(() => w.events("other").length > 0 || w.addressesOf("other").length > 0, "an outcome", 60);
  expect(w.addressesOf("other")).toEqual([]);
  expect(w.events("other").join()).toContain("Warning BelongsToOtherService");
  await w.stop();
});

test("a Service that names another Service's load balancer by id neither changes nor deletes that load balancer [F40]", async () => {
  const { w, cloud } = awkwardWorld();
  await w.start();
  w.create("victim");
  await w.pass(60);
  const [id = ""] = cloud.balancers.keys();
  const before = structuredClone(cloud.balancers.get(id));
  const spec = { ports: [{ port: 81, protocol: "TCP" }] };
  w.create("other", { annotations: { [fact]: id }, spec });
  await w.pass(600);
  expect(w.events("other").join()).toContain("Warning BelongsToOtherService");
  expect(w.events("other").join()).toContain("default/victim");
  w.delete("other");
  await w.pass(600);
  expect(w.find("other")).toBeUndefined();
  expect([...cloud.balancers]).toEqual([[id, before]] as never);
});
