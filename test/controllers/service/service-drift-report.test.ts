import { expect, test } from "bun:test";
import { scriptedWorld } from "../../support/scripted-world.ts";
import { problemsOf } from "../../support/service-problems.ts";
import { ServiceWorld } from "../../support/service-world.ts";

// --load-balancer-drift=report: drift stays until the user changes the Service; changes of Nodes only alter targets.

const report = "--load-balancer-drift=report";
const algorithm = "balancer.fake.example/algorithm";

const message = (w: ServiceWorld) =>
  `LoadBalancerDrift The load balancer differs from the Service. It is not repaired, because --load-balancer-drift is report: change balancer (${w.cloud.balancers.get("b1").name}). Any change of the Service's spec or settings applies the whole Service.`;

async function worldWithDrift(): Promise<ServiceWorld> {
  const w = new ServiceWorld();
  await w.start(report);
  w.create("web");
  await w.pass(30);
  w.cloud.balancers.change("b1", { algorithm: "least-connections" });
  return w;
}

const driftEvents = (w: ServiceWorld) => w.events("web").filter((text) => text.includes("LoadBalancerDrift"));
const balancer = ({ cloud }: ServiceWorld) => {
  const { algorithm, targets } = cloud.balancers.get("b1");
  return [algorithm, targets.length];
};

test("a joining Node becomes a target without other repairs, until the user changes the Service", async () => {
  const w = await worldWithDrift();
  await w.pass(3600);
  expect(balancer(w)).toEqual(["least-connections", 3]);
  for (const [index, count] of [4, 5, 6].entries()) {
    w.addNode(`late-${index}`);
    await w.pass(60);
    expect(balancer(w)).toEqual(["least-connections", count]);
  }
  w.removeNode("late-0");
  await w.pass(60);
  expect(balancer(w)).toEqual(["least-connections", 5]);
  await w.pass(7200);
  expect(balancer(w)).toEqual(["least-connections", 5]);
  expect(driftEvents(w)).toEqual([`Warning ${message(w)}`]);
  expect(w.events("web").join()).toContain("UpdatedLoadBalancer");
  w.editSpec("web", { sessionAffinity: "ClientIP" });
  await w.pass(60);
  expect(balancer(w)).toEqual(["round-robin", 5]);
});

test("repairs nothing when a Node joins before the first listing shows the drift", async () => {
  const w = await worldWithDrift();
  w.addNode("late");
  await w.pass(60);
  expect(balancer(w)).toEqual(["least-connections", 4]);
  expect(driftEvents(w)).toEqual([`Warning ${message(w)}`]);
});

test("a restart repairs no drift, and applies the Nodes that joined in the meantime", async () => {
  const w = await worldWithDrift();
  await w.pass(3600);
  await w.stop();
  w.addNode("late");
  await w.start(report);
  await w.pass(7200);
  expect(balancer(w)).toEqual(["least-connections", 4]);
  expect(problemsOf(w.manager, "default/web")).toEqual([message(w)]);
  w.addNode("later");
  await w.pass(60);
  expect(balancer(w)).toEqual(["least-connections", 5]);
  w.annotate("web", { "fairlead.dev/target-drain": "30s" });
  w.editSpec("web", { sessionAffinity: "ClientIP" });
  await w.pass(60);
  expect(balancer(w)).toEqual(["round-robin", 5]);
});

test("a restart completes a Service that has no address yet", async () => {
  const w = new ServiceWorld({ actionTime: 20_000 });
  await w.start(report);
  w.create("web");
  await w.until(() => w.cloud.balancers.list().length > 0, "a load balancer");
  w.crash();
  w.cloud.balancers.actionTime = 0 as never;
  await w.pass(30);
  w.cloud.balancers.change("b1", { listeners: [] });
  await w.start(report);
  await w.pass(60);
  expect(w.cloud.balancers.get("b1").listeners).toHaveLength(1);
  expect([w.addressesOf("web"), driftEvents(w)]).toEqual([["192.0.2.1"], []]);
});

test("applies a Service that was changed while another replica led", async () => {
  const w = new ServiceWorld();
  await w.start(report, "--leader-elect=true");
  w.create("web");
  await w.pass(60);
  w.holdLease("another-replica");
  await w.pass(5);
  w.annotate("web", { [algorithm]: "least-connections" });
  w.holdLease("");
  await w.pass(60);
  expect(balancer(w)).toEqual(["least-connections", 3]);
  expect(driftEvents(w)).toEqual([]);
});

test("reports drift from the time when another replica led, without repairing it", async () => {
  const w = new ServiceWorld();
  await w.start(report, "--leader-elect=true");
  w.create("web");
  await w.pass(60);
  w.holdLease("another-replica");
  await w.pass(5);
  w.cloud.balancers.change("b1", { algorithm: "least-connections" });
  w.holdLease("");
  await w.pass(120);
  expect(balancer(w)).toEqual(["least-connections", 3]);
  expect(driftEvents(w)).toEqual([`Warning ${message(w)}`]);
});

test("a deleted Service loses its load balancer despite drift, even after a restart", async () => {
  for (const isRestarted of [false, true]) {
    const w = await worldWithDrift();
    await w.pass(3600);
    if (isRestarted) {
      w.crash();
      await w.start(report);
      await w.pass(60);
    }
    w.delete("web");
    await w.pass(60);
    expect([w.cloud.balancers.list(), w.find("web")]).toEqual([[], undefined]);
    await w.stop();
  }
});

test("with drift, leaves targets unchanged and reports this if the cloud cannot change targets separately", async () => {
  const { w, script } = scriptedWorld((one) => {
    one.ranges = "kept";
  });
  await w.start(report);
  w.create("web", { spec: { loadBalancerSourceRanges: ["198.51.100.0/24"] } });
  await w.pass(30);
  const [thing] = script.things.values();
  if (thing === undefined) throw new Error("There is no load balancer.");
  script.things.set(thing.id, { ...thing, ranges: [] });
  await w.pass(3600);
  w.addNode("late");
  await w.pass(3600);
  expect([...script.things.values()]).toMatchObject([{ ranges: [], targets: 3 }]);
  expect(driftEvents(w).at(-1)).toContain(
    "Targets are not changed either, because this cloud cannot change them independently.",
  );
  w.editSpec("web", { sessionAffinity: "ClientIP" });
  await w.pass(60);
  expect([...script.things.values()]).toMatchObject([{ ranges: ["198.51.100.0/24"], targets: 4 }]);
});

test.each(["repair", "report"])(
  "removes the target of a missing machine with its Node, without drift: --load-balancer-drift=%s",
  async (drift) => {
    const w = new ServiceWorld({ nodes: 3, controllers: "cloud-node,service" });
    await w.start(`--load-balancer-drift=${drift}`);
    w.create("web");
    const targets = (): number | undefined => w.cloud.balancers.list()[0]?.targets.length;
    await w.until(() => targets() === 3, "the targets");
    await w.pass(60);
    w.cloud.machines.remove("node-1");
    await w.pass(900);
    expect(targets()).toBe(3);
    w.removeNode("node-1");
    await w.until(() => targets() === 2, "the removal of the target", 60);
    expect(w.events("web").filter((event) => event.startsWith("Warning "))).toEqual([]);
  },
);
