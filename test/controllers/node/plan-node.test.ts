import { describe, expect, test } from "bun:test";
import { planAddresses, sameAddresses, sameAddressSet } from "../../../src/controllers/node/addresses.ts";
import { planLabels } from "../../../src/controllers/node/labels.ts";
import { planNode } from "../../../src/controllers/node/plan.ts";
import { isRelevantChange } from "../../../src/controllers/node/relevant-change.ts";
import {
  type AddressPolicy,
  type NodeSettings,
  nodeDefaults,
} from "../../../src/controllers/node/settings.ts";
import { cidr } from "../../../src/core/cidr.ts";
import type { Instance, InstanceAddress } from "../../../src/provider/instances.ts";
import { type NodeDraft, toNode } from "../../support/api-server-nodes.ts";
import { uninitialized } from "../../support/node-controllers.ts";
import { machine } from "../../support/scripted-source.ts";

const I = (value: string, network?: string): InstanceAddress => ({
  kind: "InternalIP",
  value,
  ...(network !== undefined && { network }),
});
const E = (value: string): InstanceAddress => ({ kind: "ExternalIP", value });
const H = (value: string): InstanceAddress => ({ kind: "Hostname", value });
const short = (addresses: readonly { type: string; address: string }[] | undefined) =>
  addresses?.map(({ type, address }) => `${type[0]} ${address}`);

describe("addresses by policy [F7]", () => {
  const cloud = [E("1.1.1.1"), I("10.0.0.1", "a"), I("fd00::1", "b"), I("192.168.0.1", "b")];
  const cases: readonly [string, Partial<AddressPolicy>, readonly string[]][] = [
    ["all, as the cloud orders them", {}, ["E 1.1.1.1", "I 10.0.0.1", "I fd00::1", "I 192.168.0.1"]],
    ["one family only", { families: ["IPv6"] }, ["I fd00::1"]],
    [
      "families in the order of preference [F6]",
      { families: ["IPv6", "IPv4"] },
      ["I fd00::1", "E 1.1.1.1", "I 10.0.0.1", "I 192.168.0.1"],
    ],
    ["what is in a range", { include: [cidr("10.0.0.0/8")] }, ["I 10.0.0.1"]],
    [
      "what is not in a range",
      { exclude: [cidr("10.0.0.0/8"), cidr("fd00::/8")] },
      ["E 1.1.1.1", "I 192.168.0.1"],
    ],
    ["exclusion before inclusion", { include: [cidr("10.0.0.0/8")], exclude: [cidr("10.0.0.1/32")] }, []],
    ["a network, and what is in none", { networks: ["b"] }, ["E 1.1.1.1", "I fd00::1", "I 192.168.0.1"]],
    [
      "kinds in the given order",
      { order: ["InternalIP"] },
      ["I 10.0.0.1", "I fd00::1", "I 192.168.0.1", "E 1.1.1.1"],
    ],
  ];
  test.each(cases)("%s", (_, policy, expected) => {
    const plan = planAddresses(toNode({ name: "n" }), cloud, { ...nodeDefaults.addresses, ...policy });
    expect(short(plan.wanted) ?? []).toEqual([...expected]);
    expect(plan.problems.map(({ reason }) => reason)).toEqual(expected.length === 0 ? ["NoAddressLeft"] : []);
  });

  test("a cloud that knows none leaves what is there, without a complaint", () => {
    expect(planAddresses(toNode({ name: "n" }), [], nodeDefaults.addresses)).toEqual({ problems: [] });
  });

  test("what is no IP address is left out, whatever else is chosen", () => {
    const plan = planAddresses(toNode({ name: "n" }), [I("nonsense"), I("10.0.0.1")], nodeDefaults.addresses);
    expect(short(plan.wanted)).toEqual(["I 10.0.0.1"]);
  });

  test("a mismatch with --node-ip says what was asked for, what there is, and where to correct it [F8]", () => {
    const node = toNode({ name: "n", annotations: { "alpha.kubernetes.io/provided-node-ip": "10.9.9.9" } });
    const { wanted, problems } = planAddresses(node, [I("10.0.0.1")], nodeDefaults.addresses);
    expect(wanted).toBeUndefined();
    expect(problems).toMatchObject([{ severity: "error", reason: "NodeIPMismatch" }]);
    expect(problems[0]?.text).toContain('asks for "10.9.9.9", the cloud has 10.0.0.1');
    expect(problems[0]?.text).toContain("--node-ip");
  });

  test("order is told apart by one comparison and not by the other", () => {
    const a = { type: "InternalIP", address: "1" };
    const b = { type: "InternalIP", address: "2" };
    expect([sameAddresses([a, b], [a, b]), sameAddresses([a, b], [b, a])]).toEqual([true, false]);
    expect([sameAddressSet([a, b], [b, a]), sameAddressSet([a, a], [a, b]), sameAddressSet([a], [])]).toEqual(
      [true, false, false],
    );
  });
});

describe("labels by policy [N20 F5]", () => {
  const zone = "topology.kubernetes.io/zone";
  const betaZone = "failure-domain.beta.kubernetes.io/zone";
  const type = "node.kubernetes.io/instance-type";
  const betaType = "beta.kubernetes.io/instance-type";
  const own = "cloud.example/rack";
  interface Case {
    readonly labels?: Record<string, string>;
    readonly cloud?: Partial<Instance>;
    readonly isNew?: boolean;
    readonly settings?: Partial<NodeSettings>;
    readonly set: Record<string, string>;
    readonly problems?: readonly string[];
  }
  const cases: readonly [string, Case][] = [
    [
      "a new node gets both spellings",
      {
        isNew: true,
        cloud: { type: "big", zone: "a" },
        set: { [zone]: "a", [betaZone]: "a", [type]: "big", [betaType]: "big" },
      },
    ],
    [
      "a resized machine is followed",
      { labels: { [type]: "small" }, cloud: { type: "big" }, set: { [type]: "big" } },
    ],
    [
      "the old spelling follows where it is there",
      {
        labels: { [type]: "small", [betaType]: "small" },
        cloud: { type: "big" },
        set: { [type]: "big", [betaType]: "big" },
      },
    ],
    ["a missing zone is restored", { cloud: { type: "", zone: "a" }, set: { [zone]: "a" } }],
    [
      "a different zone is only reported",
      { labels: { [zone]: "b" }, cloud: { type: "", zone: "a" }, set: {}, problems: [zone] },
    ],
    [
      "a different zone is followed when the policy says so",
      {
        labels: { [zone]: "b" },
        cloud: { type: "", zone: "a" },
        settings: { labelPolicies: { [zone]: "sync" } },
        set: { [zone]: "a" },
      },
    ],
    [
      "a label set once is never looked at again",
      { cloud: { type: "big" }, settings: { labelPolicies: { [type]: "once" } }, set: {} },
    ],
    [
      "nothing is followed when reconciling is off",
      { cloud: { type: "big" }, settings: { reconcileLabels: false }, set: {} },
    ],
    [
      "what was said of one label counts more than reconciling that is off for all",
      {
        labels: { [zone]: "b", "a/b": "1" },
        cloud: { type: "big", zone: "a", labels: { "a/b": "2", [own]: "2" } },
        settings: { reconcileLabels: false, labelPolicies: { [zone]: "sync", "a/b": "report" } },
        set: { [zone]: "a" },
        problems: ["a/b"],
      },
    ],
    [
      "type, zone and region are written when a node joins, whatever their policy",
      {
        isNew: true,
        labels: { [zone]: "b", [type]: "small" },
        cloud: { type: "big", zone: "a" },
        settings: { labelPolicies: { [zone]: "report", [type]: "once" } },
        set: { [zone]: "a", [betaZone]: "a", [type]: "big", [betaType]: "big" },
      },
    ],
    ["what the cloud does not know stays", { labels: { [zone]: "b" }, cloud: { type: "" }, set: {} }],
    [
      "labels under the provider's prefix are kept in sync",
      { labels: { [own]: "1" }, cloud: { type: "", labels: { [own]: "2" } }, set: { [own]: "2" } },
    ],
    [
      "others are set on new nodes only, and never over what is there",
      {
        isNew: true,
        labels: { "a/b": "1" },
        cloud: { type: "", labels: { "a/b": "2", "a/c": "3" } },
        set: { "a/c": "3" },
      },
    ],
    ["others are not set later", { cloud: { type: "", labels: { "a/c": "3" } }, set: {} }],
    [
      "labels of Kubernetes itself are never set",
      { isNew: true, cloud: { type: "", labels: { "x.k8s.io/y": "1" } }, set: {} },
    ],
    [
      "an additional label may be reported as well",
      {
        labels: { "a/b": "1" },
        cloud: { type: "", labels: { "a/b": "2" } },
        settings: { labelPolicies: { "a/b": "report" } },
        set: {},
        problems: ["a/b"],
      },
    ],
  ];
  test.each(cases)(
    "%s",
    (_, { labels = {}, cloud = {}, isNew = false, settings = {}, set, problems = [] }) => {
      const planned = planLabels({
        labels,
        instance: machine("n", cloud),
        isNew,
        ownPrefixes: ["cloud.example/"],
        settings: { ...nodeDefaults, ...settings },
      });
      expect(planned.set).toEqual(set);
      expect(planned.problems.map(({ key }) => key)).toEqual([...problems]);
    },
  );
});

describe("the plan of a node", () => {
  const plan = (draft: Partial<NodeDraft>, cloud: Partial<Instance> = {}) =>
    planNode({
      node: toNode({ name: "n", ...draft }),
      instance: machine("n", cloud),
      ownPrefixes: [],
      settings: nodeDefaults,
    });
  const tainted = { spec: { taints: [uninitialized] } };

  test("takes the taint away with id, labels and addresses [F1]", () => {
    expect(plan(tainted, { type: "big" })).toMatchObject({
      addresses: [{ type: "InternalIP", address: "10.0.0.1" }],
      providerID: "fake://n",
      labels: { "node.kubernetes.io/instance-type": "big" },
      removeUninitializedTaint: true,
      problems: [],
    });
  });

  test("never replaces a provider id", () => {
    const spec = { ...tainted.spec, providerID: "fake://other" };
    expect(plan({ spec })).not.toHaveProperty("providerID");
  });

  test("does nothing to a joining node that the cloud calls wrong, and passes on why", () => {
    const problem = { severity: "error", reason: "Renamed", text: "It was renamed." } as const;
    expect(plan(tainted, { problems: [problem] })).toEqual({
      labels: {},
      removeUninitializedTaint: false,
      problems: [problem],
    });
  });

  test("goes on in spite of a warning", () => {
    const problem = { severity: "warning", reason: "Old", text: "It is old." } as const;
    expect(plan(tainted, { problems: [problem] }).removeUninitializedTaint).toBe(true);
  });

  test("reorders addresses while the node joins, and leaves a mere order alone later", () => {
    const both = [I("10.0.0.1"), E("1.1.1.1")];
    const status = {
      addresses: both.map(({ kind, value }) => ({ type: kind, address: value })).reverse(),
    };
    expect(plan({ ...tainted, status }, { addresses: both }).addresses).toHaveLength(2);
    expect(plan({ status }, { addresses: both })).not.toHaveProperty("addresses");
  });

  test("keeps the kubelet's hostname behind what the cloud has, unless the cloud has one", () => {
    const status = { addresses: [{ type: "Hostname", address: "mine" }] };
    expect(short(plan({ status }, { addresses: [I("10.0.0.1")] }).addresses)).toEqual([
      "I 10.0.0.1",
      "H mine",
    ]);
    expect(short(plan({ status }, { addresses: [H("theirs")] }).addresses)).toEqual(["H theirs"]);
  });
});

describe("a change of a node", () => {
  const base = toNode({
    name: "n",
    labels: { a: "1" },
    spec: { taints: [], providerID: "fake://1" },
    status: { addresses: [{ type: "InternalIP", address: "1" }], nodeInfo: { systemUUID: "" } },
  });
  test.each([
    ["its readiness", { status: { ...base.status, conditions: [{ type: "Ready", status: "True" }] } }, false],
    ["its uuid", { status: { ...base.status, nodeInfo: { systemUUID: "x" } } }, true],
    ["its addresses", { status: { ...base.status, addresses: [] } }, true],
    ["its taints", { spec: { ...base.spec, taints: [uninitialized] } }, true],
    ["its id", { spec: { ...base.spec, providerID: "fake://2" } }, true],
    ["its labels", { metadata: { ...base.metadata, labels: {} } }, true],
    ["its annotations", { metadata: { ...base.metadata, annotations: { a: "b" } } }, true],
    ["its version alone", { metadata: { ...base.metadata, resourceVersion: "9" } }, false],
    [
      "our condition",
      { status: { ...base.status, conditions: [{ type: "CloudReady", status: "False" }] } },
      true,
    ],
  ] as const)("concerns us or not: %s", (_, change, concerns) => {
    expect(isRelevantChange(base, { ...base, ...change })).toBe(concerns);
  });
});
