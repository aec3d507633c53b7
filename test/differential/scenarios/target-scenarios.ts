// Nodes that become targets of load balancers or stop being targets. Each scenario has its own cluster.

import type { Explained, Scenario, Step } from "../rig/scenario.ts";
import type { World } from "../rig/world.ts";
import { act, isGone, joins, notReady } from "./node-scenarios.ts";
import { creates } from "./service-scenarios.ts";

const excluded = "node.kubernetes.io/exclude-from-external-load-balancers";

const start: readonly Step[] = [
  act(
    "three Nodes join",
    async (world) => {
      for (const name of ["churn-1", "churn-2", "churn-3"]) await joins(name).act(world);
    },
    async (world) => {
      const results = await Promise.all(
        ["churn-1", "churn-2", "churn-3"].map((name) => joins(name).until?.(world)),
      );
      return results.every((result) => result === true);
    },
  ),
  ...creates("churn").slice(1),
];

const hasTargets = (count: number) => (world: World) =>
  world.cloud.balancers.list().every(({ targets }) => targets.length === count);

const label = (value: string | null) => (world: World) =>
  world.editNode("churn-3", { metadata: { labels: { [excluded]: value } } });
const taint = (key: string) => (world: World) =>
  world.editNode("churn-3", { spec: { taints: [{ key, effect: "NoSchedule" }] } });

const whileUnusable: readonly Explained[] = [
  { at: "load balancer of churn: targets", row: "D38" },
  { at: "load balancer of churn: call change targets", row: "D38" },
  { at: "Service churn: event Normal UpdatedLoadBalancer: *", row: "D38" },
];

export const targets: readonly Scenario[] = [
  {
    name: "churn",
    title: "follows the label that excludes a Node, and Nodes that join and leave",
    explained: [
      { at: "Node churn-4: event Warning NotFoundInCloud: *", row: "D5" },
      { at: "Node churn-4: condition CloudReady", row: "D5" },
    ],
    steps: [
      ...start,
      act("the label is added", label(""), hasTargets(2)),
      act("the label says false", label("false"), hasTargets(3)),
      act("the label is added again", label("true"), hasTargets(2)),
      act("the label is removed", label(null), hasTargets(3)),
      act("a Node without a machine joins", (world) => world.join("churn-4")),
      act("a Node joins", (world) => joins("churn-5").act(world), hasTargets(4)),
      notReady("churn-1"),
      act("a Node is cordoned", (world) => world.editNode("churn-2", { spec: { unschedulable: true } })),
      act("a user deletes a Node", (world) => world.deleteNode("churn-5"), hasTargets(3)),
    ],
  },
  {
    name: "churn",
    title: "stops sending traffic to a Node with the taint of the autoscaler",
    explained: whileUnusable,
    steps: [
      ...start,
      act("the autoscaler taints a Node", taint("ToBeDeletedByClusterAutoscaler")),
      act("another Node joins", (world) => joins("churn-4").act(world), hasTargets(3)),
    ],
  },
  {
    name: "churn",
    title: "stops sending traffic to a Node that is being deleted",
    explained: whileUnusable,
    steps: [
      ...start,
      act("a user deletes a Node that has a finalizer", async (world) => {
        await world.editNode("churn-3", { metadata: { finalizers: ["example.com/hold"] } });
        await world.deleteNode("churn-3");
      }),
      act(
        "the finalizer is removed",
        (world) => world.editNode("churn-3", { metadata: { finalizers: null } }),
        async (world) => (await isGone("churn-3")(world)) && hasTargets(2)(world),
      ),
    ],
  },
  {
    name: "churn",
    title: "changes the target when a Node is registered again for another machine",
    steps: [
      ...start,
      act(
        "a Node and its machine are deleted",
        async (world) => {
          world.cloud.machines.remove("churn-3");
          await world.deleteNode("churn-3");
        },
        hasTargets(2),
      ),
      act("a Node with its name joins", (world) => joins("churn-3").act(world), hasTargets(3)),
    ],
  },
  {
    name: "churn",
    title: "reports a Service without any target",
    explained: [{ at: "Service churn: condition CloudWarning", row: "D50" }],
    steps: [
      ...creates("churn").slice(1),
      act("a Node joins", (world) => joins("churn-1").act(world), hasTargets(1)),
      act(
        "it is excluded",
        (world) => world.editNode("churn-1", { metadata: { labels: { [excluded]: "" } } }),
        hasTargets(0),
      ),
    ],
  },
];
