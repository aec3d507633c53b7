import { afterEach, describe, expect, test } from "bun:test";
import {
  planAddresses,
  preferProvidedNodeIP,
  sameAddressSet,
} from "../../src/controllers/node/desired/addresses.ts";
import { planLabels } from "../../src/controllers/node/desired/labels.ts";
import { planNode } from "../../src/controllers/node/plan.ts";
import { nodeDefaults } from "../../src/controllers/node/settings.ts";
import { hasTaint } from "../../src/controllers/node-facts.ts";
import type { NodeAddress, Taint } from "../../src/kube/objects.ts";
import { toNode } from "../support/api-server-nodes.ts";
import { NodeControllers } from "../support/node-controllers.ts";
import { machine } from "../support/scripted-source.ts";
import { A3, E, H, I, inCloud, U } from "../support/upstream-nodes.ts";

// Rows of upstream's tests for parts of the Node sync: labels, addresses and taints.

let world: NodeControllers | undefined;
afterEach(() => world?.stop());

const beta = (zone: string, region: string, type: string) => ({
  "failure-domain.beta.kubernetes.io/zone": zone,
  "failure-domain.beta.kubernetes.io/region": region,
  "beta.kubernetes.io/instance-type": type,
});
const current = (zone: string, region: string, type: string) => ({
  "topology.kubernetes.io/zone": zone,
  "topology.kubernetes.io/region": region,
  "node.kubernetes.io/instance-type": type,
});

describe("Test_reconcileNodeLabels", () => {
  const reconcile = (labels: Record<string, string>, preferBetaLabels: boolean) =>
    planLabels({
      labels,
      instance: machine("node01", { type: "" }),
      isNew: false,
      ownPrefixes: [],
      settings: { ...nodeDefaults, preferBetaLabels },
    }).set;
  const right = ["foo", "bar", "the-best-type"] as const;
  const wrong = ["wrongfoo", "wrongbar", "the-wrong-type"] as const;

  test.each([true, false])(
    "Test_reconcileNodeLabels 1: missing labels come from the beta labels (preferBetaLabels: %p)",
    (wins) => {
      expect(reconcile(beta(...right), wins)).toEqual(current(...right));
    },
  );
  test.each([true, false])(
    "Test_reconcileNodeLabels 2: equal labels are kept (preferBetaLabels: %p)",
    (wins) => {
      expect(reconcile({ ...beta(...right), ...current(...right) }, wins)).toEqual({});
    },
  );
  test("Test_reconcileNodeLabels 3 (upstream): beta labels replace different labels with preferBetaLabels", () => {
    expect(reconcile({ ...beta(...right), ...current(...wrong) }, true)).toEqual(current(...right));
  });
  test("Test_reconcileNodeLabels 3 (Fairlead): a label corrected by hand is kept", () => {
    expect(reconcile({ ...beta(...right), ...current(...wrong) }, false)).toEqual({});
  });
});

describe("TestNodeAddressesChangeDetected", () => {
  const [internal, external] = [I("10.0.0.1"), E("132.143.154.163")];
  const host = H("hostname.zone.region.aws.test");
  test.each([
    [1, "equal lists are not a change", [internal, external], [internal, external], false],
    [2, "a different address is a change", [E("132.143.154.164")], [external], true],
    [3, "a removed address is a change", [internal, external, host], [internal, external], true],
    [4, "an added address is a change", [internal, external], [internal, external, host], true],
    [5, "swapped types are a change", [E("10.0.0.1"), I("132.143.154.163")], [I("10.0.0.1"), external], true],
  ] as const)("TestNodeAddressesChangeDetected %d: %s", (_, _name, before, after, changed) => {
    expect(!sameAddressSet(before, after)).toBe(changed);
  });
  test("TestNodeAddressesChangeDetected, not pinned: two equal dual-stack addresses are not a change, unlike in upstream [F6]", () => {
    const dual = [I("10.0.0.1"), I("fd00::1")];
    expect(sameAddressSet(dual, [...dual])).toBe(true);
  });
});

describe("TestGetInstanceMetadata", () => {
  // Rows 2 and 5, a machine without id, do not exist in the contract: docs/decisions/0001-provider-contract.md.
  const plan = (providerID?: string, type = "") =>
    planNode({
      node: toNode({ name: "node0", spec: { taints: [U], ...(providerID !== undefined && { providerID }) } }),
      instance: machine("12345", { names: ["node0"], addresses: inCloud(A3), type }),
      ownPrefixes: [],
      settings: nodeDefaults,
    });
  test.each([1, 4])("TestGetInstanceMetadata %d: the provider id and addresses come from the cloud", () => {
    expect(plan()).toMatchObject({ providerID: "fake://12345", addresses: A3, labels: {} });
  });
  test("TestGetInstanceMetadata 3: an existing provider id is kept", () => {
    expect(plan("fake://asdasd")).not.toHaveProperty("providerID");
    expect(plan("fake://asdasd").addresses).toEqual([...A3]);
  });
  test("TestGetInstanceMetadata 6: the instance type is set for an existing provider id", () => {
    expect(plan("fake://12345", "t1.micro")).toMatchObject({
      labels: {
        "node.kubernetes.io/instance-type": "t1.micro",
        "beta.kubernetes.io/instance-type": "t1.micro",
      },
    });
  });
  test.each([2, 5])(
    "TestGetInstanceMetadata %d: a Node whose machine has no id yet waits and is retried",
    async (_) => {
      world = new NodeControllers();
      world.nodes.add({ name: "node0", spec: { taints: [U] } });
      world.start("node");
      await world.pass(3);
      world.cloud.put(machine("12345", { names: ["node0"] }));
      await world.until(() => world?.initialized.length === 1, "the node to be initialized", 30);
    },
  );
});

describe("TestAddToNodeAddresses", () => {
  const add = (...addresses: readonly NodeAddress[]) =>
    planAddresses(toNode({ name: "n" }), inCloud(addresses), nodeDefaults.addresses).desired ?? [];
  const one = E("1.1.1.1");
  const host = H("localhost");
  test.each([
    [1, "returns nothing for nothing", [], []],
    [2, "adds different addresses", [one, host], [one, host]],
    [3, "adds an address once", [one, one], [one]],
    [4, "adds only missing addresses", [one, I("10.1.1.1"), one, host], [one, I("10.1.1.1"), host]],
  ] as const)("TestAddToNodeAddresses %d: %s", (_, _name, given, expected) => {
    expect(add(...given)).toEqual([...expected]);
  });
});

describe("TestGetNodeAddressesFromNodeIP [F8 F6]", () => {
  const h = H("hostname");
  const i1 = I("10.1.1.1");
  const e5 = E("55.55.55.55");
  const dns = [
    { type: "InternalDNS", address: "ip-10-1-1-1.us-west-2.compute.internal" },
    { type: "ExternalDNS", address: "ec2-55-55-55-55.us-west-2.compute.amazonaws.com" },
  ];
  const v6 = I("fc01:1234::5678");
  const other6 = I("fc01:1234::1234");
  const pair = "10.1.1.1,fc01:1234::5678";
  const long6 = I("2600:1f14:1d4:d101:0:0:0:ba3d");
  const public6 = E("2001:db1::1");
  const rows: readonly [number, string, readonly NodeAddress[], readonly NodeAddress[] | undefined][] = [
    [1, "10.1.1.1", [i1, h], [i1, h]],
    [2, "55.55.55.55", [i1, e5, h], [e5, i1, h]],
    [
      3,
      "55.55.55.55",
      [I("44.44.44.44"), E("44.44.44.44"), I("55.55.55.55"), e5, h],
      [I("55.55.55.55"), e5, h],
    ],
    [4, "10.1.1.1", [i1, e5, ...dns, h], [i1, e5, ...dns, h]],
    [5, "10.1.1.1", [i1, I("10.2.2.2"), I("10.3.3.3"), e5, h], [i1, e5, h]],
    [6, "10.2.2.2", [i1, e5, h], undefined],
    [7, "2600:1f14:1d4:d101::ba3d", [i1, long6, h], [long6, h]],
    [8, pair, [i1, h], undefined],
    [9, pair, [i1, v6, h], [i1, v6, h]],
    [10, pair, [v6, i1, h], [i1, v6, h]],
    [11, pair, [i1, I("10.1.1.2"), other6, v6, h], [i1, v6, h]],
    [12, pair, [i1, e5, other6, v6, h], [i1, v6, e5, h]],
    [13, "fc01:1234::5678,10.1.1.1", [i1, e5, v6, public6, h], [v6, i1, e5, public6, h]],
    [14, "55.55.55.55,fc01:1234::5678", [i1, e5, v6, public6, h], [e5, v6, h]],
  ];
  test.each(rows)(
    "TestGetNodeAddressesFromNodeIP %d: selects and orders addresses for node IP %s",
    (_, requested, cloud, expected) => {
      const result = preferProvidedNodeIP(requested, cloud);
      expect("wrong" in result ? undefined : result.addresses).toEqual(expected as NodeAddress[] | undefined);
    },
  );
  test.each([
    "",
    "10.1.1.1, fc01::1",
    "10.1.1.1,10.1.1.2",
    "10.1.1.1,::",
    "0.0.0.0",
    "10.1.1.1,fc01::1,fc01::2",
  ])("TestGetNodeAddressesFromNodeIP, rules of the parser: refuses %p", (requested) => {
    expect(preferProvidedNodeIP(requested, [i1, v6, I("fc01::1"), h])).toHaveProperty("wrong");
  });
});

describe("taints by key and effect", () => {
  const foo1 = { key: "foo_1", value: "bar_1", effect: "NoExecute" };
  const foo2 = { key: "foo_2", value: "bar_2", effect: "NoSchedule" };
  test.each([
    [1, "foo_1", "NoExecute", true],
    [2, "no_such_key", "NoExecute", false],
    [3, "foo_1", "NoSchedule", false],
  ] as const)("TestTaintExists %d: decides whether %s:%s exists: %p", (_, key, effect, exists) => {
    expect(hasTaint(toNode({ name: "n", spec: { taints: [foo1, foo2] } }), key, effect)).toBe(exists);
  });

  const key = "node.cloudprovider.kubernetes.io/shutdown";
  const removal = async (taints: readonly Taint[]) => {
    world = new NodeControllers();
    world.nodes.add({
      name: "n",
      spec: { taints },
      status: { conditions: [{ type: "Ready", status: "True" }] },
    });
    world.start("lifecycle");
    await world.pass(5);
    return [world.nodes.node("n").spec.taints ?? [], world.nodes.sent.length] as const;
  };
  const foreign = { key: "foo", effect: "NoSchedule" };
  test.each([
    ["TestRemoveTaint 1: keeps a taint with another key", [foreign], [foreign], 0],
    ["TestRemoveTaint 2: removes the taint", [{ key, effect: "NoSchedule" }], [], 1],
    ["TestRemoveTaint 3: writes nothing for an empty list", [], [], 0],
    ["TestDeleteTaint 1: keeps a taint with another key", [foreign], [foreign], 0],
    [
      "TestDeleteTaint 2: keeps a taint with another effect",
      [{ key, effect: "NoExecute" }],
      [{ key, effect: "NoExecute" }],
      0,
    ],
    [
      "TestDeleteTaint 3: removes a matching taint with any value",
      [{ key, effect: "NoSchedule", value: "x" }],
      [],
      1,
    ],
    ["TestDeleteTaint 4: writes nothing for an empty list", [], [], 0],
  ] as const)("%s", async (_, taints, left, writes) => {
    expect(await removal(taints)).toEqual([[...left], writes]);
  });
});
