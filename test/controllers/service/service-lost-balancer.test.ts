import { afterEach, expect, test } from "bun:test";
import { describeObject } from "../../../src/inspect/explain/describe-object.ts";
import { ServiceWorld } from "../../support/service-world.ts";

// What a Service reports when its load balancer was deleted manually in the cloud.

let world: ServiceWorld | undefined;
afterEach(() => world?.stop());

async function served(): Promise<ServiceWorld> {
  const w = new ServiceWorld();
  world = w;
  await w.start();
  w.create("web");
  await w.pass(60);
  expect(w.addressesOf("web")).toEqual(["192.0.2.1"]);
  return w;
}

function relist(w: ServiceWorld): Promise<void> {
  w.manager.balancers?.request(Number.POSITIVE_INFINITY, "refresh");
  return w.pass(120);
}

const newest = (w: ServiceWorld, count: number) => w.events("web").slice(-count);
const decisionsOf = (w: ServiceWorld): readonly string[] => {
  const found = describeObject(w.manager, "Service", "default/web");
  return "decisions" in found ? found.decisions.map(({ why }) => why) : [];
};

test("reports a load balancer that was deleted manually as lost, with the change of the address [F52 N7]", async () => {
  const w = await served();
  w.cloud.balancers.remove("b1");
  await relist(w);
  expect(w.addressesOf("web")).toEqual(["192.0.2.2"]);
  expect(newest(w, 3)).toEqual([
    expect.stringContaining("it no longer exists, and a new one is created. The address of the Service"),
    expect.stringMatching(
      /^Warning LoadBalancerDrift The load balancer no longer exists in the cloud, and Fairlead has not deleted it\. Creating a new one: create balancer /,
    ),
    "Warning AddressChanged Address changed from 192.0.2.1 to 192.0.2.2. Clients and DNS records with the former address no longer reach the Service; update them.",
  ]);
  expect(decisionsOf(w).slice(0, 2)).toEqual([
    "Address changed from 192.0.2.1 to 192.0.2.2",
    "default/web: its load balancer no longer exists in the cloud",
  ]);
});

test("the next manager reports a load balancer that was deleted while no manager ran as lost", async () => {
  const w = await served();
  await w.stop();
  w.cloud.balancers.remove("b1");
  await w.start();
  await w.pass(120);
  expect(newest(w, 2)).toEqual([
    expect.stringContaining("LoadBalancerDrift The load balancer no longer exists in the cloud"),
    expect.stringContaining("Address changed from 192.0.2.1 to 192.0.2.2"),
  ]);
});

test("does not report a failed load balancer that Fairlead replaces as lost", async () => {
  const w = await served();
  w.cloud.balancers.fail("b1");
  await relist(w);
  expect(w.changes.slice(-2)).toEqual(["DELETE /balancers/b1", "POST /balancers"]);
  const events = w.events("web").join("\n");
  expect(events).not.toContain("no longer exists");
  // The fake cloud keeps the address.
  expect(events).not.toContain("AddressChanged");
});

test("an additional address is not a change of the existing address", async () => {
  const w = await served();
  w.edit(
    "web",
    (service) => ({
      ...service,
      status: {
        ...service.status,
        loadBalancer: { ingress: [{ ip: "192.0.2.1" }, { ip: "192.0.2.99" }] },
      },
    }),
    "status",
  );
  await w.pass(60);
  expect(w.addressesOf("web")).toEqual(["192.0.2.1"]);
  expect(w.events("web").join("\n")).not.toContain("AddressChanged");
});
