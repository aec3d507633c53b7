import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  isEligible,
  isRelevantNodeChange,
  isSameTargets,
  targetsOf,
} from "../../../src/controllers/service/targets/eligible-nodes.ts";
import { nodeName } from "../../../src/core/brand.ts";
import type { Node } from "../../../src/kube/objects.ts";
import type { BalancerTarget } from "../../../src/provider/load-balancers.ts";
import { type NodeDraft, toNode } from "../../support/api-server-nodes.ts";
import { toTarget } from "./service-draft.ts";

const exclude = (value: string) => ({ "node.kubernetes.io/exclude-from-external-load-balancers": value });
const autoscaler = { taints: [{ key: "ToBeDeletedByClusterAutoscaler", value: "1", effect: "NoSchedule" }] };
const deletionTimestamp = "2026-01-01T00:00:00Z";
const namesOf = (targets: readonly { readonly node: string }[]): string[] => targets.map(({ node }) => node);

describe("which nodes are eligible", () => {
  const cases: readonly [string, Omit<NodeDraft, "name">, upstream: boolean, ours: boolean][] = [
    ["any node", {}, true, true],
    ["one that is not ready", { status: { conditions: [{ type: "Ready", status: "False" }] } }, true, true],
    [
      "one without machine",
      { spec: { taints: [{ key: "node.cloudprovider.kubernetes.io/uninitialized", effect: "NoSchedule" }] } },
      true,
      true,
    ],
    ["a cordoned one", { spec: { unschedulable: true } }, true, true],
    ["excluded by the empty word", { labels: exclude("") }, false, false],
    ["excluded by any word", { labels: exclude("karpenter") }, false, false],
    ["excluded by a truth", { labels: exclude("T") }, false, false],
    ["not excluded by a falsehood", { labels: exclude("F") }, true, true],
    ["not excluded by zero", { labels: exclude("0") }, true, true],
    ["one that the autoscaler takes away drains", { spec: autoscaler }, false, true],
    ["one that is deleted drains", { deletionTimestamp }, false, true],
    ["an excluded one does not drain", { deletionTimestamp, labels: exclude("true") }, false, false],
  ];
  test.each(cases)("%s", (_, draft, upstream, ours) => {
    const node = toNode({ name: "n", ...draft });
    expect(isEligible(node)).toBe(upstream);
    expect(targetsOf([node], () => undefined).length === 1).toBe(ours);
  });
});

describe("what balancers are told of nodes", () => {
  const machineOf = ({ metadata: { name } }: Node) =>
    name === "new" ? undefined : { source: "machines", key: name };
  const nodes = [
    toNode({
      name: "b",
      labels: { pool: "web" },
      status: {
        addresses: [
          { type: "Hostname", address: "b" },
          { type: "InternalIP", address: "10.0.0.2" },
          { type: "ExternalIP", address: "FD00::1" },
          { type: "InternalDNS", address: "10.0.0.2" },
        ],
      },
    }),
    toNode({ name: "new" }),
    toNode({ name: "a", spec: autoscaler }),
    toNode({ name: "excluded", labels: exclude("") }),
  ];

  test("sorted by name, addresses canonical and once, what leaves is marked", () => {
    const [a, b, fresh, ...rest] = targetsOf(nodes, machineOf);
    expect(rest).toEqual([]);
    expect(a).toMatchObject({ node: "a", draining: true, addresses: [] });
    expect(b).toEqual({
      node: nodeName("b"),
      machine: { source: "machines", key: "b" },
      labels: { pool: "web" },
      addresses: ["10.0.0.2", "fd00::1"] as never,
      draining: false,
    });
    expect(fresh).toEqual({ node: nodeName("new"), labels: {}, addresses: [], draining: false });
  });

  test("upstream drops what leaves at once", () => {
    expect(namesOf(targetsOf(nodes, machineOf).filter(({ draining }) => !draining))).toEqual(["b", "new"]);
  });

  test("the order of the nodes makes no difference", () => {
    fc.assert(
      fc.property(fc.shuffledSubarray(nodes, { minLength: nodes.length }), (shuffled) => {
        expect(targetsOf(shuffled, machineOf)).toEqual(targetsOf(nodes, machineOf));
      }),
    );
  });

  test("a machine that is found only now is another target, though the nodes are the same", () => {
    const before = targetsOf(nodes, machineOf);
    const after = targetsOf(nodes, ({ metadata }) => ({ source: "machines", key: metadata.name }));
    expect([isSameTargets(before, before), isSameTargets(before, after)]).toEqual([true, false]);
  });

  test("another label, address or fate is another target; an equal copy is not", () => {
    const target = toTarget("n", { labels: { pool: "web" } });
    const same = (other: Partial<BalancerTarget>) => isSameTargets([target], [{ ...target, ...other }]);
    expect(same({ labels: { pool: "web" }, addresses: [...target.addresses] })).toBe(true);
    expect(same({ labels: { pool: "api" } })).toBe(false);
    expect(same({ addresses: [] })).toBe(false);
    expect(same({ draining: true })).toBe(false);
    expect(same({ node: nodeName("m") })).toBe(false);
    expect(isSameTargets([target], [])).toBe(false);
  });
});

describe("which changes of a node concern balancers", () => {
  const base: NodeDraft = { name: "n", spec: { providerID: "x://1" } };
  const zone = (value: string) => ({ "topology.kubernetes.io/zone": value });
  const cases: readonly [string, NodeDraft | undefined, NodeDraft | undefined, boolean][] = [
    ["one that comes", undefined, base, true],
    ["one that goes", base, undefined, true],
    ["nothing", base, base, false],
    ["readiness", base, { ...base, status: { conditions: [{ type: "Ready", status: "False" }] } }, false],
    ["the provider id", { name: "n" }, base, true],
    ["an empty id for none", { name: "n" }, { name: "n", spec: { providerID: "" } }, false],
    ["the exclusion", base, { ...base, labels: exclude("true") }, true],
    [
      "the exclusion in other words",
      { ...base, labels: exclude("") },
      { ...base, labels: exclude("1") },
      false,
    ],
    ["the autoscaler's taint", base, { ...base, spec: { ...base.spec, ...autoscaler } }, true],
    ["its deletion", base, { ...base, deletionTimestamp }, true],
    ["another of the same name", base, { ...base, uid: "other" }, true],
    ["its zone", { ...base, labels: zone("a") }, { ...base, labels: zone("b") }, true],
    [
      "its addresses",
      base,
      { ...base, status: { addresses: [{ type: "InternalIP", address: "10.0.0.9" }] } },
      true,
    ],
    ["its hostname", base, { ...base, status: { addresses: [{ type: "Hostname", address: "n" }] } }, false],
    ["a label, while none is asked for", base, { ...base, labels: { pool: "web" } }, false],
  ];
  const changed = (before: NodeDraft | undefined, after: NodeDraft | undefined, labelsMatter?: boolean) =>
    isRelevantNodeChange(
      before && toNode(before),
      after && toNode(after),
      labelsMatter === undefined ? {} : { labelsMatter },
    );
  test.each(cases)("%s", (_, before, after, expected) => {
    expect(changed(before, after)).toBe(expected);
  });

  test("a label, while a Service chooses by labels [F42]", () => {
    expect(changed(base, { ...base, labels: { pool: "web" } }, true)).toBe(true);
  });
});
