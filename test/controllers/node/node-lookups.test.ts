import { afterEach, expect, test } from "bun:test";
import { milliseconds, seconds } from "../../../src/core/brand.ts";
import type { Node } from "../../../src/kube/objects.ts";
import { sleep } from "../../../src/platform/clock.ts";
import { priorities } from "../../../src/runtime/work-queue.ts";
import { joins, NodeControllers, type SetupOptions } from "../../support/node-controllers.ts";
import { machine } from "../../support/scripted-source.ts";

let world: NodeControllers | undefined;
afterEach(() => world?.stop());
const setUp = (options?: SetupOptions): NodeControllers => {
  world = new NodeControllers(options);
  return world;
};

test("a running listing answers a Node that joins during it [F9]", async () => {
  const names = ["n0", "n1", "n2"];
  const w = setUp({ machines: names.map((name) => machine(name)), script: { takes: milliseconds(1000) } });
  w.start("node");
  for (const name of names) {
    joins(w, name);
    await w.pass(0.3);
  }
  await w.until(() => w.initialized.length === 3, "all nodes to be initialized", 1);
  expect(w.cloud.listings).toBe(1);
});

test("looks up a Node by its id if the Node gets the id during a lookup by name [F13]", async () => {
  const script = { takes: milliseconds(500), pageSize: 1, lookups: { id: 10, name: 10 } };
  const others = ["a", "b", "c"].map((key) => machine(key));
  const w = setUp({ machines: others, script }).start("node");
  w.inventory.requestListing(0, "refresh");
  await w.pass(10);
  w.cloud.put(machine("7", { names: ["unknown to the kubelet"] }));
  joins(w, "n0");
  await w.pass(0.2);
  w.nodes.change("n0", (node) => ({ ...node, spec: { ...node.spec, providerID: "fake://7" } }));
  await w.until(() => w.initialized.length === 1, "the node to be initialized", 5);
  expect(w.cloud.lookupCalls).toEqual(["find name n0", "find id 7"]);
});

test("the node controller of the next session continues with the current state [N14]", async () => {
  const w = setUp({ machines: [machine("n0"), machine("n1")], script: { takes: milliseconds(1000) } });
  w.start("node");
  joins(w, "n0");
  await w.pass(0.5);
  await w.endSession();
  joins(w, "n1");
  await w.pass(60);
  expect(w.nodes.sent).toEqual([]);
  w.start("node");
  await w.until(() => w.initialized.length === 2, "both nodes to be initialized", 5);
});

test("a listing without changes enqueues no Node [F10]", async () => {
  const w = setUp({ machines: ["n0", "n1", "n2"].map((name) => machine(name)) }).start("node");
  for (const name of ["n0", "n1", "n2"]) joins(w, name);
  await w.until(() => w.initialized.length === 3, "all nodes to be initialized", 5);
  await w.pass(5);
  const checked: string[] = [];
  const add = w.node.queue.add.bind(w.node.queue);
  w.node.queue.add = (key, options) => {
    checked.push(key);
    add(key, options);
  };
  w.inventory.requestListing(w.clock.monotonic(), "refresh");
  await w.pass(5);
  expect(checked).toEqual([]);
  w.cloud.put(machine("n1", { type: "larger" }));
  w.inventory.requestListing(w.clock.monotonic(), "refresh");
  await w.pass(5);
  expect(checked).toEqual(["n1"]);
});

test("a Node without identifying properties gets an event, and is initialized once the Node reports a UUID", async () => {
  const w = setUp({ machines: [machine("7", { uuids: ["AB-CD"] })], matchBy: ["uuid"] }).start("node");
  joins(w, "n0");
  await w.pass(600);
  const reported = w.reported.filter(({ node }) => node === "n0");
  expect(reported.map(({ reason }) => reason)).toEqual(["NothingToMatchBy"]);
  expect(reported[0]?.message).toBe(
    'This cloud finds instances by system UUID, and Node "n0" has none. The Node stays uninitialized until the kubelet reports one. If it never does, set --provider-id on the kubelet.',
  );
  expect(w.nodes.node("n0").status.conditions).toMatchObject([{ type: "CloudReady", status: "False" }]);
  expect(w.cloud.listings).toBe(0);
  w.nodes.change("n0", (node) => ({
    ...node,
    status: { ...node.status, nodeInfo: { systemUUID: "ab-cd" } },
  }));
  await w.until(() => w.initialized.length === 1, "the node to be initialized", 5);
});

test("a Node that is reconciled long after its lookup was answered triggers a new listing [F9]", async () => {
  const names = ["n0", "n1", "n2"];
  const machines = names.map((name) => machine(name));
  const w = setUp({ machines, script: { takes: milliseconds(1000) }, concurrency: 1 }).start("node");
  const { writes } = w.nodes;
  const patch = writes.patch.bind(writes);
  writes.patch = async (...given) => {
    await sleep(w.clock, seconds(25), given[3]);
    return patch(...given);
  };
  w.inventory.requestListing(0, "refresh");
  await w.pass(0.5);
  // The running listing answers all of them.
  for (const name of names) joins(w, name);
  await w.until(() => w.initialized.length === 2, "two nodes to be initialized", 120);
  expect(w.cloud.listings).toBe(1);
  await w.until(() => w.initialized.length === 3, "the last node to be initialized", 60);
  expect(w.cloud.listings).toBe(2);
});

test("reports an ambiguous name in a recent listing within seconds [F13]", async () => {
  const twins = [machine("7", { names: ["n0"] }), machine("8", { names: ["n0"] })];
  const w = setUp({ machines: twins }).start("node");
  w.inventory.requestListing(0, "refresh");
  await w.pass(20);
  joins(w, "n0");
  await w.until(() => w.reasons("n0").length > 0, "the event", 5);
  expect(w.cloud.listings).toBe(2);
});

for (const [what, change] of [
  [
    "had its taint removed by another writer",
    (node: Node): Node => ({ ...node, spec: { taints: [], providerID: "fake://n0" } }),
  ],
  [
    "was paused",
    (node: Node): Node => ({
      ...node,
      metadata: { ...node.metadata, annotations: { "fairlead.dev/paused": "true" } },
    }),
  ],
] as const) {
  test(`a Node that ${what} during its lookup is not enqueued as urgent by later listings`, async () => {
    const w = setUp({ machines: [machine("n0")], script: { takes: milliseconds(1000) } }).start("node");
    joins(w, "n0");
    await w.pass(0.5);
    w.nodes.change("n0", change);
    await w.pass(30);
    const urgent: string[] = [];
    const add = w.node.queue.add.bind(w.node.queue);
    w.node.queue.add = (key, options) => {
      if (options?.priority === priorities.urgent) urgent.push(key);
      add(key, options);
    };
    w.inventory.requestListing(w.clock.monotonic(), "refresh");
    await w.pass(10);
    expect(urgent).toEqual([]);
  });
}
