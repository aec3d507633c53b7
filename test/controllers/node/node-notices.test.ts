import { afterEach, describe, expect, test } from "bun:test";
import { NodeControllers, type SetupOptions, uninitialized } from "../../support/node-controllers.ts";
import { machine } from "../../support/scripted-source.ts";

// Messages about ignored Nodes, and about annotations without the desired effect.

let world: NodeControllers | undefined;
afterEach(() => world?.stop());
const setUp = (options?: SetupOptions): NodeControllers => {
  world = new NodeControllers(options);
  return world;
};
const reportsOf = (w: NodeControllers) =>
  w.reported.map(({ type, reason, message }) => ({ type, reason, message }));

describe("a paused Node", () => {
  test.each([
    ["that joins", "true", ["Paused"]],
    ["whose annotation is empty", "", ["InvalidAnnotation", "Paused"]],
    ["whose annotation has an unknown value", "yes", ["InvalidAnnotation", "Paused"]],
  ] as const)("a paused Node with %s is not changed, and reports that once", async (_, value, reasons) => {
    const w = setUp({ machines: [machine("n0")] }).start("node", "lifecycle");
    w.nodes.add({
      name: "n0",
      annotations: { "fairlead.dev/paused": value },
      spec: { taints: [uninitialized] },
    });
    await w.pass(1);
    w.nodes.annotate("n0", { other: "change", "fairlead.dev/paused": value });
    await w.pass(3600);
    expect(w.nodes.sent).toEqual([]);
    expect(w.reasons("n0")).toEqual(reasons);
    expect(w.reported.at(-1)?.message).toBe(
      "Paused by fairlead.dev/paused: Fairlead changes neither the Node nor its routes, and does not delete it. It stays a load balancer target. Remove the annotation to continue. It stays uninitialized until then.",
    );
  });

  test("a paused Node is not listed with its previous problem", async () => {
    const w = setUp().start("node");
    const severities = () =>
      [...w.node.report().problems].map(([name, found]) => [name, found.map(({ severity }) => severity)]);
    w.nodes.add({ name: "n0", spec: { taints: [uninitialized] } });
    await w.pass(5);
    expect(severities()).toEqual([["n0", ["error"]]]);
    w.nodes.annotate("n0", { "fairlead.dev/paused": "true" });
    await w.pass(5);
    expect(severities()).toEqual([["n0", ["notice"]]]);
  });

  test("reports the pause of a Node again when the Node is paused a second time", async () => {
    const w = setUp({ machines: [machine("n0")] }).start("node");
    w.nodes.add({ name: "n0", spec: { providerID: "fake://n0" } });
    for (const value of ["true", "false", "true"]) {
      w.nodes.annotate("n0", { "fairlead.dev/paused": value });
      await w.pass(1);
    }
    expect(w.reasons("n0")).toEqual(["Paused", "Paused"]);
  });
});

describe("a Node with the provider id of another cloud", () => {
  test("an uninitialized Node with the provider id of another cloud gets a warning", async () => {
    const w = setUp().start("node", "lifecycle");
    w.nodes.add({ name: "n0", spec: { providerID: "other://1", taints: [uninitialized] } });
    await w.pass(3600);
    expect(reportsOf(w)).toEqual([
      {
        type: "Warning",
        reason: "ForeignProviderID",
        message:
          "Provider ID other://1 belongs to another cloud, so Fairlead neither initializes nor deletes the Node. The cloud-controller-manager of that cloud must remove the taint node.cloudprovider.kubernetes.io/uninitialized. If the Node does belong to this cloud, correct --provider-id on the kubelet, delete the Node object and restart the kubelet, which registers the Node again.",
      },
    ]);
    expect(w.nodes.sent).toEqual([]);
  });

  test("an initialized Node with the provider id of another cloud gets a Normal event, which is not logged", async () => {
    const w = setUp().start("node", "lifecycle");
    w.nodes.add({ name: "n0", spec: { providerID: "other://1" } });
    await w.pass(3600);
    expect(w.reported).toMatchObject([{ type: "Normal", reason: "ForeignNode", isQuiet: true }]);
    expect(w.nodes.sent).toEqual([]);
  });

  test("a Node with the provider id of another cloud gets no event when --node-selector does not match", async () => {
    const w = setUp({ isSelected: () => false }).start("node", "lifecycle");
    w.nodes.add({
      name: "n0",
      annotations: { "fairlead.dev/paused": "true" },
      spec: { providerID: "other://1", taints: [uninitialized] },
    });
    await w.pass(60);
    expect(w.reported).toEqual([]);
  });
});

describe("a Node of a source that cannot be read", () => {
  const keyOf = (id: string) => {
    if (id === "broken://") throw new Error("unexpected id");
    return /^metal:\/\/(.+)$/.exec(id)?.[1];
  };
  const unreadable = [{ name: "metal", keyOf }];

  test("ignores an uninitialized Node of an unreadable source, with a warning", async () => {
    const w = setUp({ unreadable }).start("node", "lifecycle");
    w.nodes.add({ name: "n0", spec: { providerID: "metal://1", taints: [uninitialized] } });
    await w.pass(3600);
    expect(reportsOf(w)).toEqual([
      {
        type: "Warning",
        reason: "InstanceUnreadable",
        message:
          "Provider ID metal://1 is of source metal, to which the cloud settings give no access. Fairlead does not initialize, update or delete the Node, and creates no routes to it. It is a load balancer target. Another program must remove the taint node.cloudprovider.kubernetes.io/uninitialized. To let Fairlead manage the Node, configure the access.",
      },
    ]);
    expect(w.nodes.sent).toEqual([]);
  });

  test("neither taints nor deletes a Node of an unreadable source that is not Ready, and reports the Node once", async () => {
    const w = setUp({ unreadable }).start("node", "lifecycle");
    const conditions = [{ type: "Ready", status: "Unknown" } as const];
    w.nodes.add({ name: "n0", spec: { providerID: "metal://1" }, status: { conditions } });
    await w.pass(3600);
    w.nodes.annotate("n0", { other: "change" });
    await w.pass(3600);
    expect(w.reported).toMatchObject([{ type: "Normal", reason: "InstanceUnreadable", isQuiet: true }]);
    expect(w.nodes.sent).toEqual([]);
  });

  test("a Node of an unreadable source does not delay Nodes without a provider id or Nodes of other clouds", async () => {
    const w = setUp({ unreadable, machines: [machine("n0")] }).start("node");
    w.nodes.add({ name: "n0", spec: { taints: [uninitialized] } });
    w.nodes.add({ name: "n1", spec: { providerID: "broken://" } });
    await w.pass(5);
    expect(w.initialized).toEqual(["n0"]);
    expect(w.reasons("n1")).toEqual(["ForeignNode"]);
  });

  test("a Node of an unreadable source is a machine without handles, unless a readable source has it", () => {
    const { inventory } = setUp({ unreadable, machines: [machine("n0")] });
    const machineOf = (providerID: string) =>
      inventory.machineOf({ name: "n0" as never, providerID: providerID as never, addresses: [] });
    expect(machineOf("metal://1")).toEqual({ source: "metal", key: "1" });
    expect(machineOf("fake://n0")?.source).toBe("cloud");
    expect([machineOf("other://1"), machineOf("broken://")]).toEqual([undefined, undefined]);
  });
});

describe("fairlead.dev/node-deletion", () => {
  test.each([
    ["confirm", ' Did you mean "confirmed"?'],
    ["Never", ' Did you mean "never"?'],
    ["", ""],
    ["yes", ""],
  ])(
    "reports a node-deletion annotation with the unknown value %j before the instance is gone, and keeps the Node",
    async (value, hint) => {
      const w = setUp({ machines: [machine("n0")], lifecycle: { removalLimit: "off" } }).start(
        "node",
        "lifecycle",
      );
      w.nodes.add({
        name: "n0",
        annotations: { "fairlead.dev/node-deletion": value },
        spec: { providerID: "fake://n0" },
      });
      await w.pass(1);
      expect(reportsOf(w)).toEqual([
        {
          type: "Warning",
          reason: "InvalidAnnotation",
          message: `fairlead.dev/node-deletion must be "never" or "confirmed", got ${JSON.stringify(value)}.${hint} Any value except "confirmed" means "never": the Node is not deleted when its instance is gone. Correct the annotation, or remove it.`,
        },
      ]);
      w.cloud.machines.clear();
      w.nodes.setReady("n0", "False");
      await w.pass(3600);
      expect(w.nodes.names()).toEqual(["n0"]);
      expect(w.reasons("n0")).toEqual(["InvalidAnnotation", "DeletionForbidden"]);
    },
  );

  test("accepts spaces around the value of the node-deletion annotation", async () => {
    const w = setUp().start("node", "lifecycle");
    w.nodes.add({
      name: "n0",
      annotations: { "fairlead.dev/node-deletion": " confirmed " },
      spec: { providerID: "fake://n0" },
    });
    w.nodes.setReady("n0", "False");
    await w.pass(600);
    expect(w.nodes.names()).toEqual([]);
    expect(w.reasons("n0")).toEqual(["DeletingNode"]);
  });
});

test("an unknown Fairlead annotation is reported on the Node with the probable name", async () => {
  const w = setUp().start("node");
  w.nodes.add({
    name: "n0",
    annotations: { "fairlead.dev/node-deletoin": "never" },
    spec: { providerID: "fake://n0" },
  });
  await w.pass(60);
  expect(w.reported.map(({ message }) => message)).toEqual([
    'fairlead.dev/node-deletoin is not a known annotation; did you mean "fairlead.dev/node-deletion"?',
  ]);
});
