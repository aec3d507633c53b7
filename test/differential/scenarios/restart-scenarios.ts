// What a manager does after it or the cloud was unavailable. Each scenario has its own cluster.

import type { Scenario } from "../rig/scenario.ts";
import type { World } from "../rig/world.ts";
import { act, isGone, joins } from "./node-scenarios.ts";
import { creates } from "./service-scenarios.ts";

const names = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => `away-${index + 1}`);

const nodesJoin = (count: number) =>
  act(
    `${count} Nodes join`,
    async (world) => {
      for (const name of names(count)) await joins(name).act(world);
    },
    async (world) => {
      const results = await Promise.all(names(count).map((name) => joins(name).until?.(world)));
      return results.every((result) => result === true);
    },
  );

const hasService = async (world: World): Promise<boolean> => {
  const service = await world.service("away-new");
  return (service?.status.loadBalancer?.ingress ?? []).length > 0;
};

export const restarts: readonly Scenario[] = [
  {
    name: "away",
    title: "changes nothing after a restart",
    explained: [
      // Upstream may update the targets after it created the load balancer, and when it starts.
      { at: "Service away-web: event Normal UpdatedLoadBalancer: *", row: "D42", isSometimes: true },
      { at: "load balancer of away-web: call change targets*", row: "D37", isSometimes: true },
    ],
    steps: [
      nodesJoin(2),
      ...creates("away-web").slice(1),
      act("the manager restarts", async (world) => {
        await world.stop();
        await world.start();
      }),
    ],
  },
  {
    name: "away",
    title: "catches up with what changed while it was away",
    explained: [
      { at: "Node away-2: label beta.kubernetes.io/instance-type", row: "D14" },
      { at: "Node away-2: label node.kubernetes.io/instance-type", row: "D14" },
      { at: "Node away-2: label fake.example/type", row: "D15" },
      // Upstream may update the targets while another worker creates or deletes the load balancer.
      { at: "Service away-*: event Normal UpdatedLoadBalancer: *", row: "D42", isSometimes: true },
      { at: "load balancer of away-*: call change targets*", row: "D37", isSometimes: true },
    ],
    steps: [
      nodesJoin(4),
      act(
        "a user creates three Services",
        async (world) => {
          for (const name of ["away-web", "away-old", "away-type"]) await world.createService(name);
        },
        async (world) =>
          (await world.services()).every(({ status }) => status.loadBalancer?.ingress !== undefined),
      ),
      act(
        "the manager restarts, and much changes in between",
        async (world) => {
          await world.stop();
          await world.editService("away-web", {
            spec: { ports: [{ name: "web", port: 81, targetPort: 8080 }] },
          });
          await world.deleteService("away-old");
          await world.editService("away-type", { spec: { type: "ClusterIP" } });
          await world.createService("away-new");
          world.cloud.machines.resize("away-2", "large-4");
          world.cloud.machines.setStatus("away-3", "stopped");
          await world.ready("away-3", false);
          await world.deleteNode("away-4");
          await world.start();
        },
        hasService,
      ),
    ],
  },
  {
    name: "away",
    title: "catches up after a cloud outage",
    explained: [
      // The texts of the cloud's errors differ between the two providers.
      { at: "Service away-new: event Warning SyncLoadBalancerFailed: *", row: "D45" },
      { at: "Service away-web: event Warning UpdateLoadBalancerFailed: *", row: "D45" },
      { at: "Service away-web: event Warning SyncLoadBalancerFailed: *", row: "D45" },
      { at: "Node away-3: event Warning CloudUnavailable: *", row: "D5" },
      // The condition appears after the third failure.
      { at: "Node away-3: condition CloudReady", row: "D5", isSometimes: true },
      // Whether the Node or the load balancer is first depends on retries, and sometimes on whether a listing was due.
      { at: "Service away-new: event Normal UpdatedLoadBalancer: *", row: "D42", isSometimes: true },
      { at: "load balancer of away-new: call change targets", row: "D42", isSometimes: true },
      { at: "Service away-new: condition CloudReady", row: "D50", isSometimes: true },
      { at: "Service away-new: event Normal WaitingForCloud: *", row: "D102", isSometimes: true },
      { at: "load balancer of away-new: call create (503)", row: "D35", isSometimes: true },
    ],
    steps: [
      nodesJoin(2),
      ...creates("away-web").slice(1),
      act("the cloud fails while a Node joins and a Service is created", async (world) => {
        world.cloud.faults.add({ kind: "status", status: 503, calls: 1_000_000 });
        await joins("away-3").act(world);
        await world.createService("away-new");
        await world.ready("away-2", false);
      }),
      act(
        "the cloud works again",
        (world) => world.cloud.faults.clear(),
        async (world) => (await hasService(world)) && (await joins("away-3").until?.(world)) === true,
      ),
    ],
  },
  {
    name: "away",
    title: "holds the deletion of many Nodes that lose their machines at once",
    explained: [
      { at: "Node away-*: exists", row: "D21" },
      { at: "Node away-*: event Normal DeletingNode: *", row: "D21" },
      { at: "Node away-*: event Warning MassDeletionHeld: *", row: "D21" },
    ],
    steps: [
      nodesJoin(10),
      act(
        "eight machines are removed",
        async (world) => {
          for (const name of names(8)) {
            world.cloud.machines.remove(name);
            await world.ready(name, false);
          }
        },
        async (world) =>
          (await isGone("away-1")(world)) ||
          (await world.events()).some(({ reason }) => reason === "MassDeletionHeld"),
      ),
    ],
  },
];
