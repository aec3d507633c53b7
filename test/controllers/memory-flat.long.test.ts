import { expect, test } from "bun:test";
import { seconds } from "../../src/core/brand.ts";
import { runsAllTests } from "../../src/testing/breadth.ts";
import { scriptedWorld } from "../support/scripted-world.ts";
import { ServiceWorld } from "../support/service-world.ts";
import { TrackedCollections } from "../support/tracked-collections.ts";

// Memory stays flat: deleted objects leave nothing behind in a long-running process.

const algorithm = "balancer.fake.example/algorithm";
const cycles = 3;
/** Collections with their own limits, such as recent events and one series per label value of a metric. */
const bounded = [
  "src/kube/events/event-correlator.ts",
  "src/telemetry/metrics.ts",
  "src/app/logging/observe-reporter.ts",
  "src/testing/",
];

type Sizes = Readonly<Record<string, number>>;

/** The collections that grew with every cycle. One additional entry may be garbage to which a register still points. */
const grown = (before: Sizes, after: Sizes): readonly string[] =>
  Object.entries(after).flatMap(([site, size]) => {
    const was = before[site] ?? 0;
    const isBounded = bounded.some((each) => site.startsWith(each));
    return isBounded || size - was < cycles ? [] : [`${site}: ${was} -> ${size}`];
  });

/** A leak shows in every check; garbage to which a register or a stack still points disappears later. */
const grownSince = async (before: Sizes, tracked: TrackedCollections): Promise<readonly string[]> => {
  let found: readonly string[] = [];
  for (let check = 0; check < 5; check += 1) {
    found = grown(before, await tracked.sizes());
    if (found.length === 0) break;
  }
  return found;
};

/** Every kind of record about a Service or a Node: created, changed, rejected, failed, invalid, deleted. */
const cycle = async (w: ServiceWorld, number: number): Promise<void> => {
  const names = Array.from({ length: 12 }, (_, index) => `s${number}-${index}`);
  const nodes = Array.from({ length: 6 }, (_, index) => `n${number}-${index}`);
  for (const [index, name] of nodes.entries()) {
    w.addNode(name);
    w.changeNode(name, ({ spec, ...node }) => ({
      ...node,
      spec: { ...spec, podCIDR: `10.244.${index}.0/24` },
    }));
  }
  w.cloud.faults.add({ kind: "status", status: 422, operation: "POST /routes", calls: 2 });
  w.cloud.faults.add({ kind: "status", status: 422, operation: "POST /balancers", calls: 4 });
  w.cloud.faults.add({ kind: "status", status: 500, operation: "GET /balancers", calls: 2 });
  for (const [index, name] of names.entries()) {
    const value = index % 3 === 0 ? "number-robbin" : "least-connections";
    w.create(name, {
      annotations: { [algorithm]: value, "fairlead.dev/target-limit": index % 4 === 0 ? "2" : "x" },
    });
  }
  await w.pass(30);
  for (const [index, name] of names.entries()) {
    if (index % 2 === 0) w.annotate(name, { [algorithm]: undefined, "fairlead.dev/target-limit": undefined });
    if (index % 5 === 0) w.editSpec(name, { type: "ClusterIP" });
  }
  await w.pass(60);
  for (const name of names) w.delete(name);
  for (const name of nodes) {
    w.removeNode(name);
    for (const { id } of w.cloud.machines.list().filter((machine) => machine.name === name))
      w.cloud.machines.remove(id);
  }
  await w.pass(2400);
};

test.if(runsAllTests)(
  "every map and set returns to its original size after Services and Nodes were created and deleted [F26]",
  async () => {
    const tracked = new TrackedCollections();
    try {
      const w = new ServiceWorld({ nodes: 2, actionTime: 300 });
      await w.start(
        "--controllers=cloud-node,cloud-node-lifecycle,service,node-route",
        "--cluster-cidr=10.244.0.0/16",
      );
      w.create("stays");
      for (let number = -1; number <= 0; number += 1) await cycle(w, number);
      expect(w.owners()).toEqual(w.wanted());
      expect(w.cloud.counts()["POST /routes"]).toBeGreaterThan(6);
      const before = await tracked.sizes();
      for (let number = 1; number <= cycles; number += 1) await cycle(w, number);
      expect(w.owners()).toEqual(w.wanted());
      expect(await grownSince(before, tracked)).toEqual([]);
      await w.stop();
    } finally {
      tracked.restore();
    }
  },
);

/** This replica leads while objects are created, and another replica while they are deleted. */
const handOver = async (w: ServiceWorld, number: number): Promise<void> => {
  const names = Array.from({ length: 8 }, (_, index) => `s${number}-${index}`);
  const uninitialized = { key: "node.cloudprovider.kubernetes.io/uninitialized", effect: "NoSchedule" };
  await w.until(() => w.manager.leads(), "this replica to lead");
  for (const [index, name] of names.entries()) {
    w.create(name, { annotations: index % 2 === 0 ? { "fairlead.dev/target-policy": "endpoints" } : {} });
    w.addNode(`n-${name}`);
    w.changeNode(`n-${name}`, (node) => ({
      ...node,
      // A Node that joins without a machine, a Node whose machine is switched off, and a healthy Node.
      spec: index % 2 === 0 ? { taints: [uninitialized] } : node.spec,
      status: { ...node.status, conditions: [{ type: "Ready", status: index % 3 === 0 ? "True" : "False" }] },
    }));
  }
  await w.pass(90);
  w.holdLease("another");
  await w.until(() => !w.manager.leads(), "the other one to lead");
  for (const name of names) {
    w.edit(name, ({ metadata: { finalizers: _, ...metadata }, ...rest }) => ({ ...rest, metadata }));
    w.delete(name);
    w.removeNode(`n-${name}`);
    for (const { id } of w.cloud.machines.list().filter((machine) => machine.name === `n-${name}`))
      w.cloud.machines.remove(id);
  }
  await w.pass(5);
  w.holdLease("");
  await w.until(() => w.manager.leads(), "this replica to lead again");
  await w.pass(2400);
};

test.if(runsAllTests)(
  "forgets objects that were deleted while another replica leads, and deletes their load balancers",
  async () => {
    const tracked = new TrackedCollections();
    try {
      const w = new ServiceWorld({ nodes: 2 });
      await w.start(
        "--leader-elect=true",
        "--controllers=cloud-node,cloud-node-lifecycle,service,node-route",
        "--cluster-cidr=10.244.0.0/16",
      );
      w.create("stays");
      for (let number = -1; number <= 0; number += 1) await handOver(w, number);
      const before = await tracked.sizes();
      for (let number = 1; number <= cycles; number += 1) await handOver(w, number);
      expect(w.owners()).toEqual(w.wanted());
      expect(await grownSince(before, tracked)).toEqual([]);
      await w.stop();
    } finally {
      tracked.restore();
    }
  },
);

test("observe mode forgets a planned change when its Service is deleted", async () => {
  const tracked = new TrackedCollections();
  try {
    const w = new ServiceWorld({ nodes: 2 });
    await w.start("--mode=observe");
    const cycleOf = async (name: string): Promise<void> => {
      w.create(name);
      await w.pass(30);
      w.delete(name);
      await w.pass(60);
    };
    await cycleOf("a");
    const before = await tracked.sizes();
    for (const name of ["b", "c", "d"]) await cycleOf(name);
    expect(await grownSince(before, tracked)).toEqual([]);
    await w.stop();
  } finally {
    tracked.restore();
  }
});

test("forgets a Service that was deleted during its reconcile when the reconcile ends", async () => {
  const tracked = new TrackedCollections();
  try {
    let created = "";
    const { w } = scriptedWorld(undefined, () => ({
      prefetch: () => {
        w.delete(created);
        return new Promise((resolve) => w.clock.after(seconds(2), () => resolve(true)));
      },
    }));
    await w.start();
    const cycleOf = async (name: string): Promise<void> => {
      created = name;
      w.create(name);
      await w.pass(60);
      expect(w.find(name)).toBeUndefined();
    };
    await cycleOf("a");
    const before = await tracked.sizes();
    for (const name of ["b", "c", "d"]) await cycleOf(name);
    expect(await grownSince(before, tracked)).toEqual([]);
    await w.stop();
  } finally {
    tracked.restore();
  }
});
