import { expect, test } from "bun:test";
import { NodeControllers } from "../../support/node-controllers.ts";
import { machine } from "../../support/scripted-source.ts";

// How soon the controller notices that a NotReady Node's machine has changed, and how many requests that takes.

const pageSize = 50;

/** Lookups of one machine at a time, as in most clouds. The first Nodes are not Ready. */
const setUp = async (counts: {
  readonly nodes: number;
  readonly notReady: number;
  readonly terminating?: number;
}) => {
  const names = Array.from({ length: counts.nodes }, (_, index) => `n${index}`);
  const terminating = (index: number) =>
    index < (counts.terminating ?? 0) ? ({ state: "terminating" } as const) : {};
  const machines = names.map((name, index) => machine(name, terminating(index)));
  const w = new NodeControllers({ script: { pageSize, lookups: { id: 1 } }, machines });
  w.inventory.requestListing(w.clock.monotonic(), "refresh");
  await w.pass(5);
  for (const [index, name] of names.entries())
    w.nodes.add({
      name,
      createdAt: w.clock.now() - 86_400_000,
      spec: { providerID: `fake://${name}` },
      status: { conditions: [{ type: "Ready", status: index < counts.notReady ? "False" : "True" }] },
    } as never);
  w.start("lifecycle");
  await w.pass(605);
  const requests = (): number => w.cloud.listings * (counts.nodes / pageSize) + w.cloud.lookupCalls.length;
  const before = requests();
  return { w, names, requestsSince: () => requests() - before };
};

const confirmation = 30;
/** Allows for the time of requests and writes. */
const slack = 3;

test.each([
  { nodes: 100, notReady: 60, terminating: 60 },
  { nodes: 1000, notReady: 100, terminating: 5 },
])(
  "notices within 15 s that a terminating machine is gone: $terminating of $notReady Nodes not Ready",
  async (counts) => {
    const { w } = await setUp(counts);
    for (const name of ["n0", "n4"]) {
      w.cloud.machines.delete(name);
      await w.pass(15 + confirmation + slack);
      expect(w.nodes.names().includes(name)).toBe(false);
    }
    await w.stop();
  },
);

test("moves the next check of a Node forward when its machine begins to terminate", async () => {
  const { w } = await setUp({ nodes: 50, notReady: 1 });
  w.cloud.put(machine("n0", { state: "terminating" }));
  w.inventory.requestListing(w.clock.monotonic(), "refresh");
  await w.pass(1);
  w.cloud.machines.delete("n0");
  await w.pass(15 + confirmation + slack);
  expect(w.nodes.names().includes("n0")).toBe(false);
  await w.stop();
});

test.each([
  { nodes: 500, notReady: 100 },
  { nodes: 1000, notReady: 10 },
])("notices within 60 s that a machine is stopped: $notReady of $nodes Nodes not Ready", async (counts) => {
  const { w } = await setUp(counts);
  w.cloud.put(machine("n9", { state: "stopped" }));
  await w.pass(60 + slack);
  expect(w.nodes.node("n9").spec.taints).toMatchObject([
    { key: "node.cloudprovider.kubernetes.io/shutdown" },
  ]);
  await w.stop();
});

test.each([
  [100, 0, 4],
  [100, 100, 20],
  [10, 0, 10],
  [5, 5, 20],
])(
  "checking %d Nodes not Ready of 1,000, of which %d have a terminating machine, costs at most %d requests per minute",
  async (notReady, terminating, perMinute) => {
    const { w, requestsSince } = await setUp({ nodes: 1000, notReady, terminating });
    await w.pass(3600);
    expect(requestsSince()).toBeLessThanOrEqual(60 * perMinute);
    await w.stop();
  },
);
