import { afterEach, describe, expect, test } from "bun:test";
import { planNode } from "../../src/controllers/node/plan.ts";
import { nodeDefaults } from "../../src/controllers/node/settings.ts";
import { toNode } from "../support/api-server-nodes.ts";
import { NodeControllers } from "../support/node-controllers.ts";
import { machine } from "../support/scripted-source.ts";
import { E, I, inCloud, U } from "../support/upstream-nodes.ts";

// Rows of upstream's tests for the addresses of initialized Nodes.

let world: NodeControllers | undefined;
afterEach(() => world?.stop());

describe("TestNodeAddressesNotUpdate", () => {
  // Upstream writes the addresses after it has removed the taint. Fairlead writes them first, so that any observer of
  // the removal sees them.
  test.each(["TestNodeAddressesNotUpdate", "TestNodeAddressesNotUpdateV2"])(
    "%s: a refresh gives a tainted Node no addresses; only its initialization does [S4]",
    async (_) => {
      world = new NodeControllers({ machines: [machine("node0")], isSelected: () => false });
      world.nodes.add({ name: "node0", spec: { taints: [U] } });
      world.start("node");
      world.inventory.requestListing(0, "refresh");
      await world.pass(60);
      expect(world.nodes.node("node0").status.addresses).toBeUndefined();
    },
  );
});

describe("TestUpdateNodeStatus", () => {
  // Upstream makes one call per Node with any number of workers; Fairlead makes one per page (decision 0001).
  test.each([1, 5, 10, 30])(
    "TestUpdateNodeStatus: a hundred Nodes with %d workers cost one listing [F9]",
    async (concurrency) => {
      const names = Array.from({ length: 100 }, (_, index) => `node${index}`);
      const addresses = inCloud([I("10.0.0.1"), E("132.143.154.163")]);
      world = new NodeControllers({
        machines: names.map((name) => machine(name, { addresses, type: "" })),
        concurrency,
      });
      for (const name of names) world.nodes.add({ name, spec: { providerID: `fake://${name}` } });
      world.start("node");
      world.inventory.requestListing(0, "refresh");
      await world.pass(5);
      expect(world.cloud.calls.map(({ what }) => what)).toEqual(["list"]);
      expect(world.nodes.sent).toHaveLength(100);
      expect(names.every((name) => world?.nodes.node(name).status.addresses?.length === 2)).toBe(true);
    },
  );
});

describe("TestUpdateNodeStatusReconcilesAdditionalLabels", () => {
  const changes = (key: string, present: string | undefined, desired: string, settings = nodeDefaults) => {
    const metadata = { labels: present === undefined ? {} : { [key]: present } };
    const node = toNode({ name: "node0", ...metadata });
    const instance = machine("node0", { type: "", labels: { [key]: desired } });
    return planNode({ node, instance, ownPrefixes: ["cloud.example/"], settings }).labels as unknown;
  };
  const ofCloud = "cloud.example/rack";

  test.each([
    ["1: a missing label is added", ofCloud, undefined, "a", { [ofCloud]: "a" }],
    ["2: a changed label gets the value of the cloud", ofCloud, "a", "b", { [ofCloud]: "b" }],
    ["3: a label of kubernetes.io is left out", "topology.kubernetes.io/rack", undefined, "a", {}],
    ["4: a label of k8s.io is left out", "k8s.io/rack", "a", "b", {}],
    ["5: a label without value is added", ofCloud, undefined, "", { [ofCloud]: "" }],
  ] as const)("TestUpdateNodeStatusReconcilesAdditionalLabels %s [F5]", (_, key, present, desired, set) => {
    expect(changes(key, present, desired)).toEqual(set);
  });
  test("TestUpdateNodeStatusReconcilesAdditionalLabels 6: without the reconciliation no label is written", () => {
    expect(changes(ofCloud, "a", "b", { ...nodeDefaults, reconcileLabels: false })).toEqual({});
  });
  test("TestUpdateNodeStatusReconcilesAdditionalLabels 2 (upstream): --label-policy=KEY=sync lets the cloud decide about a label without its prefix", () => {
    const settings = { ...nodeDefaults, labelPolicies: { rack: "sync" as const } };
    expect(changes("rack", "a", "b", settings)).toEqual({ rack: "b" });
  });
  test("TestUpdateNodeStatusReconcilesAdditionalLabels 2 (Fairlead): a label without the prefix of the cloud keeps its value", () => {
    expect(changes("rack", "a", "b")).toEqual({});
  });
  test("TestReconcileAdditionalLabelsReturnsEarly: an instance without labels changes no labels", () => {
    const node = toNode({ name: "node0" });
    const instance = machine("node0", { type: "" });
    expect(planNode({ node, instance, ownPrefixes: [], settings: nodeDefaults }).labels as unknown).toEqual(
      {},
    );
  });
});
