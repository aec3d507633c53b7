import { expect, test } from "bun:test";
import { ServiceWorld } from "../../support/service-world.ts";

// An invalid annotation in a whole manager: the setting keeps its value in the cloud, everything else continues,
// and a new Service gets no load balancer until it is corrected.

const key = "balancer.fake.example/algorithm";
const balancer = (w: ServiceWorld) => w.cloud.balancers.list()[0];

test("a new Service with an invalid annotation gets its load balancer after the suggested correction [F47 F54]", async () => {
  const w = new ServiceWorld();
  await w.start();
  w.create("web", { annotations: { [key]: "least-conections" } });
  await w.pass(3600);
  expect(w.changes).toEqual([]);
  expect(w.events("web").join()).toContain('did you mean "least-connections"');
  expect(w.get("web").status.conditions).toMatchObject([{ status: "False" }]);
  w.annotate("web", { [key]: "least-connections" });
  await w.pass(30);
  expect(balancer(w)).toMatchObject({ algorithm: "least-connections" });
  expect(w.get("web").status.conditions ?? []).toEqual([]);
});

test("an invalid annotation keeps the observed value of its setting, while targets, status and deletion continue [F47]", async () => {
  const w = new ServiceWorld();
  await w.start();
  w.create("web", { annotations: { [key]: "least-connections" } });
  await w.pass(30);
  w.annotate("web", { [key]: "rund-robin" });
  await w.pass(30);
  // The same applies to a process that never saw the valid value.
  w.crash();
  await w.start();
  w.addNode("late");
  w.edit("web", (service) => ({ ...service, status: { loadBalancer: {} } }), "status");
  await w.pass(30);
  expect(balancer(w)).toMatchObject({ algorithm: "least-connections" });
  expect(balancer(w)?.targets).toHaveLength(4);
  expect(w.addressesOf("web")).toHaveLength(1);
  w.delete("web");
  await w.pass(30);
  expect(w.find("web")).toBeUndefined();
  expect(w.owners()).toEqual([]);
});

test("an unknown annotation gets one event with the nearest name and delays nothing [F49 N2]", async () => {
  const w = new ServiceWorld();
  await w.start();
  w.create("web", { annotations: { "balancer.fake.example/algorithmn": "x" } });
  await w.pass(30);
  const reported = () => w.events("web").filter((text) => text.includes(`did you mean "${key}"`));
  expect(reported()).toHaveLength(1);
  expect(w.owners()).toEqual(w.wanted());
});
