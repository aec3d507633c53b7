import { afterEach, describe, expect, test } from "bun:test";
import { closestName, describeObject, isNotFound } from "../../../src/inspect/explain/describe-object.ts";
import type { Description } from "../../../src/inspect/explain/description.ts";
import { notFoundText } from "../../../src/inspect/explain/explain-text.ts";
import { ServiceWorld } from "../../support/service-world.ts";

// What `explain` says about the load balancer in the cloud, and about Services that do not exist or belong to another controller.

let world: ServiceWorld | undefined;
afterEach(() => world?.stop());

async function started(...flags: readonly string[]): Promise<ServiceWorld> {
  world = new ServiceWorld();
  await world.start(...flags);
  return world;
}
const find = (w: ServiceWorld, name: string) => describeObject(w.manager, "Service", name);
const factOf = (w: ServiceWorld, fact: string): string | undefined => {
  const found = find(w, "default/web");
  return isNotFound(found) ? undefined : found.facts[fact];
};

describe("the load balancer in the cloud", () => {
  test("explain shows the load balancer in the cloud with the age of the listing [F91]", async () => {
    const w = await started();
    w.create("web");
    await w.pass(30);
    expect(factOf(w, "Load balancer")).toMatch(/^b1 \(ready\), as listed \d\ds ago$/);
    await w.pass(600);
    expect(factOf(w, "Load balancer")).toMatch(/^b1 \(ready\), as listed 10m ago$/);
  });

  test("explain never reports a load balancer as absent without the age of the answer [F91]", async () => {
    const w = await started();
    w.create("web", { annotations: { "balancer.fake.example/algorithm": "fastest" } });
    await w.pass(120);
    expect(factOf(w, "Load balancer")).toMatch(/^none with the mark of this Service, as listed .+ ago$/);
  });

  test("lists a load balancer immediately when a user changes its Service, at most every 30 s [F52]", async () => {
    const w = await started();
    w.create("web");
    await w.pass(60);
    const listings = () => w.asked.filter((what) => what === "GET /balancers").length;
    w.forget();
    w.annotate("web", { "fairlead.dev/paused": "true" });
    await w.pass(1);
    expect(listings()).toBe(1);
    for (const value of [undefined, "true", undefined]) {
      w.annotate("web", { "fairlead.dev/paused": value });
      await w.pass(1);
    }
    expect(listings()).toBe(1);
    await w.pass(30);
    w.cloud.balancers.remove("b1");
    w.annotate("web", { "fairlead.dev/paused": "true" });
    w.annotate("web", { "fairlead.dev/paused": undefined });
    await w.pass(35);
    expect(w.addressesOf("web")).toEqual(["192.0.2.2"]);
  });
});

describe("a Service that does not exist", () => {
  const names = ["default/api", "default/shop", "monitoring/grafana"];

  test.each([
    ["default/web", undefined],
    ["default/shpo", "default/shop"],
    ["default/grafana", "monitoring/grafana"],
    ["monitoring/shopp", undefined],
    ["default/prometheus", undefined],
  ])("explain suggests for %s only a similar name: %p [F91]", (name, meant) => {
    expect(closestName("Service", name, names).meant).toBe(meant);
  });

  test("explain names the load balancer that a missing Service left behind, and the reason [F91]", async () => {
    const w = await started();
    w.create("web", { annotations: { "fairlead.dev/on-delete": "keep" } });
    w.create("api");
    await w.pass(30);
    w.annotate("web", { "fairlead.dev/on-delete": undefined });
    await w.pass(30);
    const { service } = { service: w.get("web") };
    w.server.store.remove(
      {
        ...(await import("../../../src/testing/apiserver/objects/resource-table.ts")).resourceNamed(
          "services",
        ),
      },
      service as never,
    );
    await w.pass(5);
    const answer = find(w, "default/web");
    if (!isNotFound(answer)) throw new Error("Expected no Service.");
    expect(notFoundText(answer)).toStartWith(
      "Service default/web does not exist; kubectl -n default get services lists all. Its load balancer is still in the cloud: b",
    );
  });
});

test("explain names the class of a Service with a different class, and its expected controller [F91]", async () => {
  const w = await started();
  w.create("web", { spec: { loadBalancerClass: "metallb.example/lb" } });
  await w.pass(30);
  const { state, summary } = find(w, "default/web") as Description;
  expect([state, summary]).toEqual([
    "unmanaged",
    'It has loadBalancerClass "metallb.example/lb", so the controller that implements this class serves it: it has no address yet, so check that this controller is installed and runs. This manager serves only Services without a class. The field cannot be changed: for a load balancer of this manager, create the Service again without it.',
  ]);
});

test("explain states which classes this manager serves [F105]", async () => {
  const w = await started(
    "--load-balancer-class=example.com/shop,example.com/api",
    "--load-balancer-class-only",
  );
  w.create("plain");
  w.create("other", { spec: { loadBalancerClass: "example.com/other" } });
  w.create("shop", { spec: { loadBalancerClass: "example.com/shop" } });
  await w.until(() => w.addressesOf("shop").length > 0, "the address");
  await w.pass(30);
  const described = ["plain", "other", "shop"].map((name) => find(w, `default/${name}`) as Description);
  const served = 'This manager serves only the classes "example.com/shop", "example.com/api".';
  const fromThere = "it has no address yet, so check that this controller is installed and runs";
  expect(described.map(({ state, summary }) => [state, summary])).toEqual([
    [
      "unmanaged",
      `It has no loadBalancerClass, so the manager of Services without a class serves it: ${fromThere}. ${served} For a load balancer of this manager, create the Service again with a class that it serves.`,
    ],
    [
      "unmanaged",
      `It has loadBalancerClass "example.com/other", so the controller that implements this class serves it: ${fromThere}. ${served} The field cannot be changed: for a load balancer of this manager, create the Service again with a class that it serves.`,
    ],
    ["settled", expect.stringContaining("Its load balancer has the address")],
  ]);
});
