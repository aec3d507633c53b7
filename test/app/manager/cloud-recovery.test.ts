import { afterEach, describe, expect, test } from "bun:test";
import { describeObject } from "../../../src/inspect/explain/describe-object.ts";
import { ServiceWorld } from "../../support/service-world.ts";

// Work that waits for the end of an outage continues soon afterwards, however long its own backoff is.

let world: ServiceWorld | undefined;
afterEach(() => world?.stop());

const started = async (): Promise<ServiceWorld> => {
  const w = new ServiceWorld();
  world = w;
  await w.start("--controllers=*", "--configure-cloud-routes=false");
  w.create("old");
  await w.until(() => w.addressesOf("old").length === 1, "the first address");
  return w;
};

describe("after an outage of the cloud", () => {
  test.each([60, 600])(
    "gives a new Service its address within 20 s after a cloud outage of %d s [N8]",
    async (length) => {
      const w = await started();
      w.cloud.faults.add({ kind: "refused", calls: 1_000_000 });
      await w.pass(400);
      w.create("web");
      await w.pass(length);
      w.cloud.faults.clear();
      await w.until(() => w.addressesOf("web").length === 1, "the address", 20);
    },
  );

  test.each([
    [60, "without a response", "refused", 20],
    [600, "without a response", "refused", 20],
    [60, "with 503", "status", 20],
    [600, "with 503", "status", 65],
    [1800, "with 503", "status", 65],
  ] as const)(
    "gives a Node its route soon after a cloud outage of %d s %s [N8]",
    async (length, _, kind, within) => {
      const w = new ServiceWorld();
      world = w;
      const inRange = (name: string, podCIDR: string) =>
        w.changeNode(name, (node) => ({ ...node, spec: { ...node.spec, podCIDR, podCIDRs: [podCIDR] } }));
      const routes = () => w.cloud.routes.list().map(({ destination }) => destination);
      inRange("node-0", "10.244.0.0/24");
      await w.start("--controllers=*", "--cluster-cidr=10.244.0.0/16");
      await w.until(() => routes().length === 1, "the first route");
      w.cloud.faults.add({ kind, status: 503, calls: 1_000_000 });
      await w.pass(400);
      inRange("node-1", "10.244.1.0/24");
      await w.pass(length);
      w.cloud.faults.clear();
      await w.until(() => routes().length === 2, "the second route", within);
    },
  );

  test("a Service whose load balancer may have been created gets its address after a 30 s proof, and reports the wait [N8]", async () => {
    const w = await started();
    w.cloud.faults.add({ kind: "reset", calls: 1_000_000 });
    w.create("web");
    await w.pass(60);
    w.cloud.faults.clear();
    await w.pass(20);
    expect(describeObject(w.manager, "Service", "default/web")).toMatchObject({
      state: "held",
      notes: [
        { reason: "WaitingForCloud", text: expect.stringContaining("lacks it too, it counts as absent") },
      ],
    });
    await w.until(() => w.addressesOf("web").length === 1, "the address", 30);
  });

  test("sends less than one request per 5 s during an outage without responses, whatever the number of waiting Services", async () => {
    const w = await started();
    w.cloud.faults.add({ kind: "refused", calls: 1_000_000 });
    for (let index = 0; index < 30; index += 1) w.create(`web-${index}`);
    await w.pass(120);
    w.forget();
    await w.pass(600);
    expect(w.cloud.seen.length).toBeLessThan(120);
    expect(describeObject(w.manager, "Service", "default/web-0")).toMatchObject({ state: "problem" });
  });

  test("a Service whose load balancer may have been created gets its address within 60 s of an outage with 503 [N8]", async () => {
    const w = new ServiceWorld();
    world = w;
    await w.start("--controllers=*", "--cluster-cidr=10.244.0.0/16");
    await w.pass(60);
    w.cloud.faults.add({ kind: "status", status: 503, calls: 1_000_000 });
    w.create("web");
    await w.pass(1000);
    w.cloud.faults.clear();
    await w.until(() => w.addressesOf("web").length === 1, "the address", 60);
  });

  test("repeats a creation that got no response once another request succeeds", async () => {
    const w = await started();
    w.cloud.faults.add({ kind: "status", status: 503, operation: "GET /balancers", calls: 1_000_000 });
    w.create("web");
    await w.pass(300);
    w.cloud.faults.clear();
    await w.until(() => w.addressesOf("web").length === 1, "the address", 20);
  });
});
