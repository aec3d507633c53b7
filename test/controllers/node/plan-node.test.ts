import { describe, expect, test } from "bun:test";
import { planNode } from "../../../src/controllers/node/plan.ts";
import { nodeDefaults } from "../../../src/controllers/node/settings.ts";
import { isRelevantChange } from "../../../src/controllers/node/triggers.ts";
import type { Instance, InstanceAddress } from "../../../src/provider/instances.ts";
import { type NodeDraft, toNode } from "../../support/api-server-nodes.ts";
import { uninitialized } from "../../support/node-controllers.ts";
import { machine } from "../../support/scripted-source.ts";
import { external, internal, short } from "./address-draft.ts";

const H = (value: string): InstanceAddress => ({ kind: "Hostname", value });

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

  test("changes nothing on a joining Node with a cloud error, and returns the error", () => {
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

  test("initializes a Node despite a warning", () => {
    const problem = { severity: "warning", reason: "UnsupportedByCloud", text: "It is old." } as const;
    expect(plan(tainted, { problems: [problem] }).removeUninitializedTaint).toBe(true);
  });

  test("reorders addresses while the Node joins, and ignores a different order later", () => {
    const both = [internal("10.0.0.1"), external("1.1.1.1")];
    const status = {
      addresses: both.map(({ kind, value }) => ({ type: kind, address: value })).reverse(),
    };
    expect(plan({ ...tainted, status }, { addresses: both }).addresses).toHaveLength(2);
    expect(plan({ status }, { addresses: both })).not.toHaveProperty("addresses");
  });

  test("keeps the kubelet's hostname after the cloud's addresses, unless the cloud has a hostname", () => {
    const status = { addresses: [{ type: "Hostname", address: "mine" }] };
    expect(short(plan({ status }, { addresses: [internal("10.0.0.1")] }).addresses)).toEqual([
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
