import { expect, test } from "bun:test";
import { createAlertMetrics } from "../../../src/app/metrics/alert-metrics.ts";
import type { Node } from "../../../src/kube/objects.ts";
import { Metrics } from "../../../src/telemetry/metrics.ts";

// Gauges for alerts: how many objects need attention, reported only by the leader.

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
    nodes: {
      list: () => [
        nodeOf("a", waits),
        nodeOf("b", waits),
        nodeOf("c"),
        nodeOf("excluded", waits),
        nodeOf("foreign", waits),
      ],
    },
    isSelected: ({ metadata }) => metadata.name !== "excluded",
    isForeign: ({ metadata }) => metadata.name === "foreign",
    candidates: new Map([
      ["d", { heldFor: "MassDeletionHeld" }],
      ["e", { heldFor: "MassDeletionHeld" }],
      ["f", { heldFor: "DeletionPaused" }],
      ["g", {}],
    ]),
    nodeProblems: new Map([["a", { problem: { reason: "IncompleteInstance" } }]]),
    routeProblems: () =>
      new Map([
        ["b", [{ reason: "PodCIDRTaken" }, { reason: "PodCIDRTaken" }]],
        ["c", [{ reason: "PodCIDRTaken" }, { reason: "RouteCreatedButNotListed" }]],
      ]),
    removals: { count: () => 1, held: (kind) => (kind === "routes" ? ["10.244.1.0/24"] : []) },
    service: {
      activeProblems: () =>
        new Map([
          ["default/web", ["CertificateExpired of web", "CertificateExpired of mail", "TargetLimit 7"]],
          ["default/shop", ["CertificateExpired of shop", " without a reason"]],
        ]),
      orphans: () => [{}, {}, {}],
    },
  });
  return metrics
    .text()
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"));
};

test("the leader counts Nodes, Services and load balancers that need attention", () => {
  expect(linesOf(true)).toEqual([
    "fairlead_nodes_uninitialized 2",
    'fairlead_node_deletions_held{reason="MassDeletionHeld"} 2',
    'fairlead_node_deletions_held{reason="DeletionPaused"} 1',
    'fairlead_removals_held{kind="nodes"} 0',
    'fairlead_removals_held{kind="load-balancers"} 0',
    'fairlead_removals_held{kind="routes"} 1',
    'fairlead_removals_recent{kind="nodes"} 1',
    'fairlead_removals_recent{kind="load-balancers"} 1',
    'fairlead_removals_recent{kind="routes"} 1',
    "fairlead_services_with_problems 2",
    'fairlead_problems{object="Node",reason="IncompleteInstance"} 1',
    'fairlead_problems{object="Node",reason="PodCIDRTaken"} 2',
    'fairlead_problems{object="Node",reason="RouteCreatedButNotListed"} 1',
    'fairlead_problems{object="Service",reason="CertificateExpired"} 2',
    'fairlead_problems{object="Service",reason="TargetLimit"} 1',
    "fairlead_balancers_orphaned 3",
  ]);
});

test("a replica that does not lead reports no counts, because its state is stale", () => {
  expect(linesOf(false)).toEqual([]);
});
