import { expect, test } from "bun:test";
import { createAlertMetrics } from "../../../src/app/metric-families/alert-metrics.ts";
import type { Node } from "../../../src/kube/objects.ts";
import { Metrics } from "../../../src/telemetry/metrics.ts";

// What an alert can rest on: counts of what stays wrong, told by the replica that leads and by no other.

const nodeOf = (name: string, taint?: string): Node =>
  ({
    metadata: { name, uid: name, resourceVersion: "1" },
    spec: taint === undefined ? {} : { taints: [{ key: taint, effect: "NoSchedule" }] },
  }) as unknown as Node;
const waits = "node.cloudprovider.kubernetes.io/uninitialized";

const linesOf = (leads: boolean): readonly string[] => {
  const metrics = new Metrics();
  createAlertMetrics(metrics)({
    leads: () => leads,
    nodes: { list: () => [nodeOf("a", waits), nodeOf("b", waits), nodeOf("c"), nodeOf("theirs", waits)] },
    isSelected: ({ metadata }) => metadata.name !== "theirs",
    candidates: new Map([
      ["d", { heldFor: "MassDeletionHeld" }],
      ["e", { heldFor: "MassDeletionHeld" }],
      ["f", { heldFor: "DeletionPaused" }],
      ["g", {}],
    ]),
    service: {
      activeProblems: () => new Map([["default/web", ["why"]]]),
      orphans: () => [{}, {}, {}],
    },
  });
  return metrics
    .text()
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"));
};

test("the replica that leads counts what stays wrong", () => {
  expect(linesOf(true)).toEqual([
    "fairlead_nodes_uninitialized 2",
    'fairlead_node_deletions_held{reason="MassDeletionHeld"} 2',
    'fairlead_node_deletions_held{reason="DeletionPaused"} 1',
    "fairlead_services_in_trouble 1",
    "fairlead_balancers_orphaned 3",
  ]);
});

test("a replica that waits says nothing: what it knows is old", () => {
  expect(linesOf(false)).toEqual([]);
});
