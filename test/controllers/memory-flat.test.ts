import { expect, test } from "bun:test";
import { ServiceWorld } from "../support/service-world.ts";
import { TrackedCollections } from "../support/tracked-collections.ts";

// Design, invariant 17: what came and went leaves nothing behind in the memory of a process that goes on for months.

const algorithm = "balancer.fake.example/algorithm";
const cycles = 3;
/** Full at most up to a size of their own: what was said lately, and one series per word of a metric. */
const bounded = ["src/kube/recent.ts", "src/telemetry/metrics.ts", "src/sandbox/"];

/** Everything that can be remembered of a Service or a node: made, changed, refused, failed, wrong, deleted. */
const cycle = async (w: ServiceWorld, round: number): Promise<void> => {
  const names = Array.from({ length: 12 }, (_, index) => `s${round}-${index}`);
  const nodes = Array.from({ length: 6 }, (_, index) => `n${round}-${index}`);
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
    const value = index % 3 === 0 ? "round-robbin" : "least-connections";
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

test("what came and went is forgotten: every map and set is as full as before [F26]", async () => {
  const tracked = new TrackedCollections();
  try {
    const w = new ServiceWorld({ nodes: 2, actionTime: 300 });
    await w.start(
      "--controllers=cloud-node,cloud-node-lifecycle,service,node-route",
      "--cluster-cidr=10.244.0.0/16",
    );
    w.create("stays");
    for (let round = -1; round <= 0; round += 1) await cycle(w, round);
    expect(w.owners()).toEqual(w.wanted());
    expect(w.cloud.counts()["POST /routes"]).toBeGreaterThan(6);
    const before = await tracked.sizes();
    for (let round = 1; round <= cycles; round += 1) await cycle(w, round);
    expect(w.owners()).toEqual(w.wanted());
    const after = await tracked.sizes();
    const grown = Object.entries(after).filter(
      ([site, size]) => size > (before[site] ?? 0) && !bounded.some((each) => site.startsWith(each)),
    );
    expect(grown.map(([site, size]) => `${site}: ${before[site] ?? 0} -> ${size}`)).toEqual([]);
    await w.stop();
  } finally {
    tracked.restore();
  }
}, 20_000);
