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

describe("planAddresses [F7]", () => {
  const cloud = [E("1.1.1.1"), I("10.0.0.1", "a"), I("fd00::1", "b"), I("192.168.0.1", "b")];
  const cases: readonly [string, Partial<AddressPolicy>, readonly string[]][] = [
    [
      "keeps all addresses in the cloud's order",
      {},
      ["E 1.1.1.1", "I 10.0.0.1", "I fd00::1", "I 192.168.0.1"],
    ],
    ["keeps one family", { families: ["IPv6"] }, ["I fd00::1"]],
    [
      "orders families by preference [F6]",
      { families: ["IPv6", "IPv4"] },
      ["I fd00::1", "E 1.1.1.1", "I 10.0.0.1", "I 192.168.0.1"],
    ],
    ["keeps addresses in an included range", { include: [cidr("10.0.0.0/8")] }, ["I 10.0.0.1"]],
    [
      "drops addresses in excluded ranges",
      { exclude: [cidr("10.0.0.0/8"), cidr("fd00::/8")] },
      ["E 1.1.1.1", "I 192.168.0.1"],
    ],
    [
      "applies exclusion before inclusion",
      { include: [cidr("10.0.0.0/8")], exclude: [cidr("10.0.0.1/32")] },
      [],
    ],
    [
      "keeps addresses of a chosen network and of none",
      { networks: ["b"] },
      ["E 1.1.1.1", "I fd00::1", "I 192.168.0.1"],
    ],
    [
      "orders kinds as configured",
      { order: ["InternalIP"] },
      ["I 10.0.0.1", "I fd00::1", "I 192.168.0.1", "E 1.1.1.1"],
    ],
  ];
  test.each(cases)("%s", (_, policy, expected) => {
    const plan = planAddresses(toNode({ name: "n" }), cloud, { ...nodeDefaults.addresses, ...policy });
    expect(short(plan.desired) ?? []).toEqual([...expected]);
    expect(plan.problems.map(({ reason }) => reason)).toEqual(expected.length === 0 ? ["NoAddressLeft"] : []);
  });

  test("keeps the Node's addresses without a problem when the cloud has none", () => {
    expect(planAddresses(toNode({ name: "n" }), [], nodeDefaults.addresses)).toEqual({ problems: [] });
  });

  test("refuses to initialize a Node that requests an address when the cloud has none [F8]", () => {
    const draft = {
      name: "n",
      annotations: { "alpha.kubernetes.io/provided-node-ip": "10.9.9.9" },
      status: { addresses: [{ type: "Hostname", address: "10.9.9.9" }] },
    };
    const joining = toNode({ ...draft, spec: { taints: [uninitialized] } });
    const { desired, problems } = planAddresses(joining, [], nodeDefaults.addresses);
    expect(desired).toBeUndefined();
    expect(problems).toMatchObject([{ severity: "error", reason: "NodeIPMismatch" }]);
    expect(problems[0]?.text).toContain('requests "10.9.9.9", and the cloud reports none');
    expect(planAddresses(toNode(draft), [], nodeDefaults.addresses)).toEqual({ problems: [] });
  });

  test("drops values that are not IP addresses", () => {
    const plan = planAddresses(toNode({ name: "n" }), [I("nonsense"), I("10.0.0.1")], nodeDefaults.addresses);
    expect(short(plan.desired)).toEqual(["I 10.0.0.1"]);
  });

  test("reports a mismatch with --node-ip with the expected and actual addresses and where to correct it [F8]", () => {
    const node = toNode({ name: "n", annotations: { "alpha.kubernetes.io/provided-node-ip": "10.9.9.9" } });
    const { desired, problems } = planAddresses(node, [I("10.0.0.1")], nodeDefaults.addresses);
    expect(desired).toBeUndefined();
    expect(problems).toMatchObject([{ severity: "error", reason: "NodeIPMismatch" }]);
    expect(problems[0]?.text).toContain('requests "10.9.9.9", and the cloud reports 10.0.0.1');
    expect(problems[0]?.text).toContain("--node-ip");
  });

  test("detects a different order with sameAddresses and ignores it with sameAddressSet", () => {
    const a = { type: "InternalIP", address: "1" };
    const b = { type: "InternalIP", address: "2" };
    expect([sameAddresses([a, b], [a, b]), sameAddresses([a, b], [b, a])]).toEqual([true, false]);
    expect([sameAddressSet([a, b], [b, a]), sameAddressSet([a, a], [a, b]), sameAddressSet([a], [])]).toEqual(
      [true, false, false],
    );
  });
});

describe("planLabels [N20 F5]", () => {
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
      "sets both spellings on a new Node",
      {
        isNew: true,
        cloud: { type: "big", zone: "a" },
        set: { [zone]: "a", [betaZone]: "a", [type]: "big", [betaType]: "big" },
      },
    ],
    [
      "follows a resized machine",
      { labels: { [type]: "small" }, cloud: { type: "big" }, set: { [type]: "big" } },
    ],
    [
      "updates the old spelling when it exists",
      {
        labels: { [type]: "small", [betaType]: "small" },
        cloud: { type: "big" },
        set: { [type]: "big", [betaType]: "big" },
      },
    ],
    ["restores a missing zone", { cloud: { type: "", zone: "a" }, set: { [zone]: "a" } }],
    [
      "reports a different zone without changing it",
      { labels: { [zone]: "b" }, cloud: { type: "", zone: "a" }, set: {}, problems: [zone] },
    ],
    [
      'changes a different zone with the policy "sync"',
      {
        labels: { [zone]: "b" },
        cloud: { type: "", zone: "a" },
        settings: { labelPolicies: { [zone]: "sync" } },
        set: { [zone]: "a" },
      },
    ],
    [
      'never updates a label with the policy "once"',
      { cloud: { type: "big" }, settings: { labelPolicies: { [type]: "once" } }, set: {} },
    ],
    [
      "changes nothing when reconciling is disabled",
      { cloud: { type: "big" }, settings: { reconcileLabels: false }, set: {} },
    ],
    [
      "applies a label's own policy although reconciling is disabled",
      {
        labels: { [zone]: "b", "a/b": "1" },
        cloud: { type: "big", zone: "a", labels: { "a/b": "2", [own]: "2" } },
        settings: { reconcileLabels: false, labelPolicies: { [zone]: "sync", "a/b": "report" } },
        set: { [zone]: "a" },
        problems: ["a/b"],
      },
    ],
    [
      "sets type, zone and region on a joining Node under any policy",
      {
        isNew: true,
        labels: { [zone]: "b", [type]: "small" },
        cloud: { type: "big", zone: "a" },
        settings: { labelPolicies: { [zone]: "report", [type]: "once" } },
        set: { [zone]: "a", [betaZone]: "a", [type]: "big", [betaType]: "big" },
      },
    ],
    [
      "keeps a zone that the cloud does not report",
      { labels: { [zone]: "b" }, cloud: { type: "" }, set: {} },
    ],
    [
      "keeps labels under the provider's prefix in sync",
      { labels: { [own]: "1" }, cloud: { type: "", labels: { [own]: "2" } }, set: { [own]: "2" } },
    ],
    [
      "sets other labels only on new Nodes and never overwrites them",
      {
        isNew: true,
        labels: { "a/b": "1" },
        cloud: { type: "", labels: { "a/b": "2", "a/c": "3" } },
        set: { "a/c": "3" },
      },
    ],
    ["does not set other labels later", { cloud: { type: "", labels: { "a/c": "3" } }, set: {} }],
    [
      "never sets labels in Kubernetes' namespaces",
      { isNew: true, cloud: { type: "", labels: { "x.k8s.io/y": "1" } }, set: {} },
    ],
    [
      'reports an additional label with the policy "report"',
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

describe("planNode", () => {
  const plan = (draft: Partial<NodeDraft>, cloud: Partial<Instance> = {}) =>
    planNode({
      node: toNode({ name: "n", ...draft }),
      instance: machine("n", cloud),
      ownPrefixes: [],
      settings: nodeDefaults,
    });
  const tainted = { spec: { taints: [uninitialized] } };

  test("removes the taint and sets id, labels and addresses [F1]", () => {
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

  test("changes nothing on a joining Node with a cloud error, and passes the error on", () => {
    const problem = {
      severity: "error",
      reason: "IncompleteInstance",
      text: "It has no network yet.",
    } as const;
    expect(plan(tainted, { problems: [problem] })).toEqual({
      labels: {},
      removeUninitializedTaint: false,
      problems: [problem],
    });
  });

  test("initializes a Node in spite of a warning", () => {
    const problem = { severity: "warning", reason: "UnsupportedByCloud", text: "It is old." } as const;
    expect(plan(tainted, { problems: [problem] }).removeUninitializedTaint).toBe(true);
  });

  test("reorders addresses while the Node joins, and ignores a different order later", () => {
    const both = [I("10.0.0.1"), E("1.1.1.1")];
    const status = {
      addresses: both.map(({ kind, value }) => ({ type: kind, address: value })).reverse(),
    };
    expect(plan({ ...tainted, status }, { addresses: both }).addresses).toHaveLength(2);
    expect(plan({ status }, { addresses: both })).not.toHaveProperty("addresses");
  });

  test("keeps the kubelet's hostname after the cloud's addresses, unless the cloud has one", () => {
    const status = { addresses: [{ type: "Hostname", address: "mine" }] };
    expect(short(plan({ status }, { addresses: [I("10.0.0.1")] }).addresses)).toEqual([
      "I 10.0.0.1",
      "H mine",
    ]);
    expect(short(plan({ status }, { addresses: [H("other")] }).addresses)).toEqual(["H other"]);
  });
});

describe("isRelevantChange", () => {
  const base = toNode({
    name: "n",
    labels: { a: "1" },
    spec: { taints: [], providerID: "fake://1" },
    status: { addresses: [{ type: "InternalIP", address: "1" }], nodeInfo: { systemUUID: "" } },
  });
  test.each([
    ["the readiness", { status: { ...base.status, conditions: [{ type: "Ready", status: "True" }] } }, false],
    ["the UUID", { status: { ...base.status, nodeInfo: { systemUUID: "x" } } }, true],
    ["the addresses", { status: { ...base.status, addresses: [] } }, true],
    ["the taints", { spec: { ...base.spec, taints: [uninitialized] } }, true],
    ["the provider id", { spec: { ...base.spec, providerID: "fake://2" } }, true],
    ["the labels", { metadata: { ...base.metadata, labels: {} } }, true],
    ["the annotations", { metadata: { ...base.metadata, annotations: { a: "b" } } }, true],
    ["only the version", { metadata: { ...base.metadata, resourceVersion: "9" } }, false],
    [
      "the CloudReady condition",
      { status: { ...base.status, conditions: [{ type: "CloudReady", status: "False" }] } },
      true,
    ],
  ] as const)("decides correctly on a change of %s", (_, change, concerns) => {
    expect(isRelevantChange(base, { ...base, ...change })).toBe(concerns);
  });
});
