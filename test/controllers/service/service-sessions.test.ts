import { afterEach, describe, expect, test } from "bun:test";
import { trueView } from "../../../providers/fake/simulator/view.ts";
import { putEndpoints } from "../../support/put-endpoints.ts";
import { scriptedWorld } from "../../support/scripted-world.ts";
import { ServiceWorld } from "../../support/service-world.ts";

// What the service controller keeps and forgets when this process leads again after another replica.

let world: ServiceWorld | undefined;
afterEach(async () => {
  await world?.stop();
  world = undefined;
});

const names = Array.from({ length: 20 }, (_, index) => `s${index}`);

async function settledWorld(services: readonly string[]): Promise<ServiceWorld> {
  const w = new ServiceWorld();
  world = w;
  await w.start("--leader-elect=true");
  for (const name of services) w.create(name);
  await w.until(() => services.every((name) => w.addressesOf(name).length > 0), "the addresses");
  await w.pass(30);
  w.forget();
  return w;
}

/**
 * Another replica leads for a minute, in which this happens, and then this replica leads again. `holder`: the holder of the Lease
 * until then. With this replica's identity, the Lease shows that no other process has led.
 */
async function leadAgain(
  w: ServiceWorld,
  meanwhile: () => void = () => undefined,
  holder = "",
): Promise<void> {
  for (let time = 0; time < 60; time += 5) {
    w.holdLease("other");
    await w.pass(5);
    if (time === 30) meanwhile();
  }
  expect(w.manager.leads()).toBe(false);
  w.forget();
  w.holdLease(holder);
  await w.until(() => w.manager.leads(), "it to lead");
  await w.pass(60);
}

const withoutFinalizers = (w: ServiceWorld, name: string): void =>
  w.edit(name, ({ metadata, ...rest }) => ({ ...rest, metadata: { ...metadata, finalizers: [] } }));

/** The number of events with this reason about the Service. */
const countsOf = (w: ServiceWorld, name: string, reason: string): readonly unknown[] =>
  w.server.store.list("events", "default").flatMap((event) => {
    const { name: about } = event["involvedObject"] as { readonly name?: string };
    return about === name && event["reason"] === reason ? [event["count"] ?? 1] : [];
  });

describe("a session that begins again in the same process", () => {
  test("the next session of the same process costs one listing and no change", async () => {
    const w = await settledWorld(["web", "shop"]);
    await leadAgain(w);
    expect(w.asked).toEqual(["GET /balancers"]);
    expect(w.written.filter((write) => write.includes("/services/"))).toEqual([]);
  });

  test("the next session lists load balancers with its own listing, and the earlier listing stops", async () => {
    const w = await settledWorld(["web"]);
    const earlier = w.manager.balancers;
    await leadAgain(w);
    expect(w.manager.balancers).not.toBe(earlier);
    w.forget();
    earlier?.request(Number.POSITIVE_INFINITY, "refresh");
    await w.pass(60);
    expect(w.asked).toEqual([]);
  });

  test("the next session reconciles a Service that a user restores to the state that the last session wrote", async () => {
    const w = await settledWorld(["web"]);
    const algorithm = () => w.cloud.balancers.list()[0]?.algorithm;
    const set = (value?: string) => w.annotate("web", { "balancer.fake.example/algorithm": value });
    const before = algorithm();
    // The watch does not return the last write before the session ends.
    let isSilent = false;
    w.readFault = (path, query) => {
      if (!path.endsWith("/services") || !query.has("watch")) return undefined;
      isSilent = true;
      return new Response(new ReadableStream());
    };
    await w.until(() => isSilent, "the next watch", 600);
    const ip = "192.0.2.77";
    w.cloud.view = { ...trueView, balancers: (all) => all.map((one) => ({ ...one, ip })) };
    w.manager.balancers?.request(Number.POSITIVE_INFINITY, "refresh");
    await w.until(() => w.addressesOf("web")[0] === ip, "the write", 10);
    for (let time = 0; time < 300; time += 5) {
      w.holdLease("other");
      await w.pass(5);
      if (time === 0) w.readFault = undefined;
      if (time === 200) set("least-connections");
    }
    w.holdLease("");
    await w.until(() => algorithm() === "least-connections", "the change", 60);
    await w.pass(60);
    set();
    await w.until(() => algorithm() === before, "what it was before", 60);
  });

  test("the next session does not repeat an event that still applies", async () => {
    const w = await settledWorld(["web"]);
    w.annotate("web", { "fairlead.dev/target-drain": "soon" });
    await w.pass(30);
    const reason = "InvalidAnnotation";
    const before = countsOf(w, "web", reason);
    expect(before).toEqual([1]);
    await leadAgain(w);
    expect(countsOf(w, "web", reason)).toEqual(before);
  });

  test("the next session removes the load balancers of Services whose deletion this process saw in between, without a limit", async () => {
    const w = await settledWorld(names);
    await leadAgain(w, () => {
      for (const name of names) {
        withoutFinalizers(w, name);
        w.delete(name);
      }
    });
    expect([w.owners(), w.manager.report().balancersOnHold]).toEqual([[], []]);
  });

  const pendingWorld = async () => {
    const { w, script } = scriptedWorld((one) => {
      one.operationLimit = 10;
    });
    world = w;
    await w.start("--leader-elect=true");
    w.create("web");
    await w.until(() => script.checks.length > 0, "a check of the operation");
    const [operation = ""] = script.operations;
    return { w, script, operation };
  };

  test("the next session waits for an open operation if no other process has led, and creates nothing twice", async () => {
    const { w, script, operation } = await pendingWorld();
    await leadAgain(w, undefined, w.manager.identity);
    script.outcomes.set(operation, "done");
    await w.pass(60);
    expect([script.applied.length, script.things.size]).toEqual([1, 1]);
    expect(w.get("web").status.loadBalancer?.ingress).toHaveLength(1);
  });

  test("the next session checks no open operation if another process has led, and creates nothing twice", async () => {
    const { w, script, operation } = await pendingWorld();
    let checks = -1;
    await leadAgain(w, () => {
      checks = script.checks.length;
      script.complete(operation);
    });
    expect([script.checks.length, script.applied.length, script.things.size]).toEqual([checks, 1, 1]);
    expect(w.get("web").status.loadBalancer?.ingress).toHaveLength(1);
  });

  test("the next session watches EndpointSlices again, after a time in which no replica watched them", async () => {
    const w = new ServiceWorld({ nodes: 2 });
    world = w;
    await w.start("--leader-elect=true");
    putEndpoints(w, "web", ["node-0"]);
    w.create("web", { annotations: { "fairlead.dev/target-policy": "endpoints" } });
    await w.until(() => w.addressesOf("web").length > 0, "the address");
    let reads = -1;
    const count = (): number => w.read.filter((path) => path.endsWith("/endpointslices")).length;
    await w.pass(30);
    for (let time = 0; time < 600; time += 5) {
      w.holdLease("other");
      await w.pass(5);
      if (time === 30) reads = count();
    }
    expect(count()).toBe(reads);
    w.holdLease("");
    await w.until(() => w.manager.leads(), "it to lead");
    putEndpoints(w, "web", ["node-1"]);
    await w.pass(60);
    expect(count()).toBeGreaterThan(reads);
    const [machine] = w.cloud.machines.find("node-1");
    expect(w.cloud.balancers.list()[0]?.targets).toEqual([machine?.id ?? ""]);
  });
});
