import { afterEach, describe, expect, test } from "bun:test";
import { joins, NodeControllers, type SetupOptions, uninitialized } from "../../support/node-controllers.ts";
import { machine } from "../../support/scripted-source.ts";

let world: NodeControllers | undefined;
afterEach(() => world?.stop());
const setUp = (options?: SetupOptions): NodeControllers => {
  world = new NodeControllers(options);
  return world;
};

describe("writes of the node controller", () => {
  test("the node controller writes nothing to foreign, paused, deleted and unselected Nodes [F12]", async () => {
    const all = ["foreign", "paused", "leaving", "unselected"];
    const w = setUp({
      machines: all.map((name) => machine(name)),
      isSelected: (node) => node.metadata.name !== "unselected",
    });
    joins(w, "foreign", "other://1");
    joins(w, "unselected");
    w.nodes.add({
      name: "paused",
      annotations: { "fairlead.dev/paused": "true" },
      spec: { taints: [uninitialized] },
    });
    w.nodes.add({
      name: "leaving",
      deletionTimestamp: "2026-01-01T00:00:00Z",
      spec: { taints: [uninitialized] },
    });
    w.start("node");
    await w.pass(600);
    expect(w.nodes.sent).toEqual([]);
    expect(w.reported.map(({ node, reason }) => [node, reason])).toEqual([
      ["foreign", "ForeignProviderID"],
      ["paused", "Paused"],
    ]);
  });

  test("the node controller writes nothing in observe mode, and records the plan in the journal [N3 F76]", async () => {
    const w = setUp({ mode: "observe", machines: [machine("n0")] }).start("node");
    joins(w, "n0");
    await w.pass(3600);
    expect(w.nodes.sent).toEqual([]);
    expect(w.reported).toEqual([]);
    const actions = w.nodes.journal.entries().map(({ action }) => action);
    expect(actions.slice(0, 2)).toEqual([
      "patch status: add /status/addresses",
      "patch: add /spec/providerID, add /metadata/labels, remove /spec/taints",
    ]);
    expect(actions.length).toBeLessThan(10);
  });

  test("the node controller writes nothing to initialized Nodes when it takes over", async () => {
    const w = setUp({ machines: [machine("n0", { type: "" })] });
    w.nodes.add({
      name: "n0",
      labels: { other: "x" },
      spec: { providerID: "fake://n0", taints: [{ key: "other", effect: "NoExecute" }] },
      status: {
        addresses: [
          { type: "Hostname", address: "n0" },
          { type: "InternalIP", address: "10.0.0.1" },
        ],
      },
    });
    w.start("node", "lifecycle");
    w.nodes.setReady("n0", "True");
    w.inventory.requestListing(0, "refresh");
    await w.pass(600);
    expect(w.nodes.sent).toEqual([]);
  });
});

test("addresses and labels of a Node follow the cloud after a listing [F5 F6 N20]", async () => {
  const w = setUp({ machines: [machine("n0")] }).start("node");
  joins(w, "n0");
  await w.until(() => w.initialized.length === 1, "the node to be initialized");
  await w.pass(1);
  const addresses = [
    { kind: "InternalIP", value: "10.0.0.2" },
    { kind: "InternalIP", value: "fd00::2" },
  ] as const;
  w.cloud.put(machine("n0", { type: "t2.large", addresses }));
  w.inventory.requestListing(w.clock.monotonic(), "refresh");
  await w.pass(5);
  const { metadata, status } = w.nodes.node("n0");
  expect(metadata.labels?.["node.kubernetes.io/instance-type"]).toBe("t2.large");
  expect(status.addresses).toEqual([
    { type: "InternalIP", address: "10.0.0.2" },
    { type: "InternalIP", address: "fd00::2" },
    { type: "Hostname", address: "n0" },
  ]);
  const before = w.nodes.sent.length;
  await w.pass(1);
  w.inventory.requestListing(w.clock.monotonic(), "refresh");
  await w.pass(5);
  expect(w.nodes.sent.length).toBe(before);
});

test.each<[string, (w: NodeControllers) => void]>([
  ["the cloud has not answered", () => undefined],
  [
    "the machine is missing",
    (w) => {
      w.cloud.machines.clear();
      w.inventory.requestListing(w.clock.monotonic(), "refresh");
    },
  ],
])("missing labels of a Node are set from its beta labels when %s [N20]", async (_, lose) => {
  const w = setUp({ machines: [machine("n0")] });
  const labels = { "failure-domain.beta.kubernetes.io/zone": "a", "beta.kubernetes.io/instance-type": "big" };
  lose(w);
  await w.pass(5);
  w.nodes.add({ name: "n0", labels, spec: { providerID: "fake://n0" } });
  w.start("node");
  await w.pass(60);
  expect(w.nodes.node("n0").metadata.labels).toEqual({
    ...labels,
    "topology.kubernetes.io/zone": "a",
    "node.kubernetes.io/instance-type": "big",
  });
  expect(w.nodes.sent).toHaveLength(1);
  expect(w.reported).toEqual([]);
});

test("the API server rejects a delete of a Node when another Node has its name", async () => {
  const w = setUp();
  const old = w.nodes.add({ name: "n0" });
  w.nodes.change("n0", (node) => ({ ...node, metadata: { ...node.metadata, uid: "another" } }));
  const disguised = {
    ...old,
    metadata: { ...old.metadata, resourceVersion: w.nodes.node("n0").metadata.resourceVersion },
  };
  const refused = await w.nodes.writes
    .delete(disguised, "test", new AbortController().signal)
    .catch((error: unknown) => error);
  expect(refused).toMatchObject({ kind: "conflict" });
  expect(w.nodes.journal.entries()).toMatchObject([
    { action: "delete", object: "node/n0", outcome: "refused" },
  ]);
});
