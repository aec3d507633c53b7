import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  isEligible,
  isRelevantNodeChange,
  isSameTargets,
  targetsOf,
} from "../../../../src/controllers/service/targets/candidate-targets.ts";
import { nodeName } from "../../../../src/core/brand.ts";
import type { Node } from "../../../../src/kube/objects.ts";
import type { BalancerTarget } from "../../../../src/provider/load-balancers.ts";
import { type NodeDraft, toNode } from "../../../support/api-server-nodes.ts";
import { toTarget } from "../service-draft.ts";

const exclude = (value: string) => ({ "node.kubernetes.io/exclude-from-external-load-balancers": value });
const autoscaler = { taints: [{ key: "ToBeDeletedByClusterAutoscaler", value: "1", effect: "NoSchedule" }] };
const deletionTimestamp = "2026-01-01T00:00:00Z";
const namesOf = (targets: readonly { readonly node: string }[]): string[] => targets.map(({ node }) => node);

describe("target eligibility, upstream and Fairlead", () => {
  const cases: readonly [string, Omit<NodeDraft, "name">, upstream: boolean, fairlead: boolean][] = [
    ["includes any Node", {}, true, true],
    [
      "includes a Node that is not ready",
      { status: { conditions: [{ type: "Ready", status: "False" }] } },
      true,
      true,
    ],
    [
      "includes an uninitialized Node",
      { spec: { taints: [{ key: "node.cloudprovider.kubernetes.io/uninitialized", effect: "NoSchedule" }] } },
      true,
      true,
    ],
    ["includes a cordoned Node", { spec: { unschedulable: true } }, true, true],
    ["excludes with an empty label value", { labels: exclude("") }, false, false],
    ["excludes with any label value", { labels: exclude("karpenter") }, false, false],
    ["excludes with a true label value", { labels: exclude("T") }, false, false],
    ["includes with a false label value", { labels: exclude("F") }, true, true],
    ["includes with a zero label value", { labels: exclude("0") }, true, true],
    ["drains a Node that the autoscaler removes, which upstream drops", { spec: autoscaler }, false, true],
    ["drains a deleted Node, which upstream drops", { deletionTimestamp }, false, true],
    ["does not drain an excluded Node", { deletionTimestamp, labels: exclude("true") }, false, false],
  ];
  test.each(cases)("%s", (_, draft, upstream, fairlead) => {
    const node = toNode({ name: "n", ...draft });
    expect(isEligible(node)).toBe(upstream);
    expect(targetsOf([node], () => undefined).length === 1).toBe(fairlead);
  });
});

describe("targetsOf", () => {
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

  test("sorts targets by name, lists canonical addresses once and marks leaving Nodes", () => {
    const [a, b, fresh, ...rest] = targetsOf(nodes, machineOf);
    expect(rest).toEqual([]);
    expect(a).toMatchObject({ node: "a", draining: true, addresses: [] });
    expect(b).toEqual({
      node: nodeName("b"),
      machine: { source: "machines", key: "b" },
      labels: { pool: "web" },
      addresses: ["10.0.0.2", "fd00::1"] as never,
      internalIPs: ["10.0.0.2"] as never,
      draining: false,
    });
    expect(fresh).toEqual({
      node: nodeName("new"),
      labels: {},
      addresses: [],
      internalIPs: [],
      draining: false,
    });
  });

  test("the targets contain upstream's targets, which exclude leaving Nodes", () => {
    expect(namesOf(targetsOf(nodes, machineOf).filter(({ draining }) => !draining))).toEqual(["b", "new"]);
  });

  test("the targets do not depend on the order of Nodes", () => {
    fc.assert(
      fc.property(fc.shuffledSubarray(nodes, { minLength: nodes.length }), (shuffled) => {
        expect(targetsOf(shuffled, machineOf)).toEqual(targetsOf(nodes, machineOf));
      }),
    );
  });

  test("counts a newly found machine as a changed target", () => {
    const before = targetsOf(nodes, machineOf);
    const after = targetsOf(nodes, ({ metadata }) => ({ source: "machines", key: metadata.name }));
    expect([isSameTargets(before, before), isSameTargets(before, after)]).toEqual([true, false]);
  });

  test("isSameTargets compares labels, addresses, draining and name by value", () => {
    const target = toTarget("n", { labels: { pool: "web" } });
    const same = (other: Partial<BalancerTarget>) => isSameTargets([target], [{ ...target, ...other }]);
    expect(same({ labels: { pool: "web" }, addresses: [...target.addresses] })).toBe(true);
    expect(same({ labels: { pool: "api" } })).toBe(false);
    expect(same({ addresses: [] })).toBe(false);
    expect(same({ internalIPs: [] })).toBe(false);
    expect(same({ draining: true })).toBe(false);
    expect(same({ node: nodeName("m") })).toBe(false);
    expect(isSameTargets([target], [])).toBe(false);
  });
});

describe("isRelevantNodeChange", () => {
  const base: NodeDraft = { name: "n", spec: { providerID: "x://1" } };
  const zone = (value: string) => ({ "topology.kubernetes.io/zone": value });
  const cases: readonly [string, NodeDraft | undefined, NodeDraft | undefined, boolean][] = [
    ["accepts a new Node", undefined, base, true],
    ["accepts a removed Node", base, undefined, true],
    ["ignores an equal copy", base, base, false],
    [
      "ignores readiness",
      base,
      { ...base, status: { conditions: [{ type: "Ready", status: "False" }] } },
      false,
    ],
    ["accepts a provider id", { name: "n" }, base, true],
    ["ignores an empty provider id", { name: "n" }, { name: "n", spec: { providerID: "" } }, false],
    ["accepts the exclusion label", base, { ...base, labels: exclude("true") }, true],
    [
      "ignores a different spelling of the exclusion label",
      { ...base, labels: exclude("") },
      { ...base, labels: exclude("1") },
      false,
    ],
    ["accepts the autoscaler's taint", base, { ...base, spec: { ...base.spec, ...autoscaler } }, true],
    ["accepts a deletion", base, { ...base, deletionTimestamp }, true],
    ["accepts a new Node with the same name", base, { ...base, uid: "other" }, true],
    ["accepts another zone", { ...base, labels: zone("a") }, { ...base, labels: zone("b") }, true],
    [
      "accepts other addresses",
      base,
      { ...base, status: { addresses: [{ type: "InternalIP", address: "10.0.0.9" }] } },
      true,
    ],
    [
      "accepts another kind of the same address",
      { ...base, status: { addresses: [{ type: "InternalIP", address: "10.0.0.9" }] } },
      { ...base, status: { addresses: [{ type: "ExternalIP", address: "10.0.0.9" }] } },
      true,
    ],
    [
      "ignores a hostname",
      base,
      { ...base, status: { addresses: [{ type: "Hostname", address: "n" }] } },
      false,
    ],
    ["ignores a label while no Service selects by labels", base, { ...base, labels: { pool: "web" } }, false],
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

  test("accepts a label while a Service selects by labels [F42]", () => {
    expect(changed(base, { ...base, labels: { pool: "web" } }, true)).toBe(true);
  });
});
