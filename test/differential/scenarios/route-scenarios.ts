// Routes to the pods of Nodes.

import type { Batch } from "../rig/scenario.ts";
import type { World } from "../rig/world.ts";
import { act, isGone, joins } from "./node-scenarios.ts";

const pods = (...podCIDRs: readonly string[]) => ({
  spec: { podCIDR: podCIDRs[0] ?? "", podCIDRs },
});

const network = async (world: World, name: string): Promise<string | undefined> =>
  (await world.node(name))?.status.conditions?.find(({ type }) => type === "NetworkUnavailable")?.status;

const routed = (name: string, ...podCIDRs: readonly string[]) => ({
  ...joins(name, pods(...podCIDRs)),
  until: async (world: World) => (await network(world, name)) === "False",
});

const removeRoutes = (world: World, destination: string): void => {
  for (const route of world.cloud.routes.list())
    if (route.destination === destination) world.cloud.routes.remove(route.id);
};

export const routes: Batch = [
  {
    name: "route-plain",
    title: "creates a route, and removes it with its Node",
    steps: [
      routed("route-plain", "10.244.1.0/24"),
      act(
        "a user deletes the Node",
        (world) => world.deleteNode("route-plain"),
        async (world) =>
          (await isGone("route-plain")(world)) &&
          world.cloud.routes.list().every(({ destination }) => destination !== "10.244.1.0/24"),
      ),
    ],
  },
  {
    name: "route-dual",
    title: "creates a route for each address family",
    steps: [routed("route-dual", "10.244.2.0/24", "fd00:10:244:2::/64")],
  },
  { name: "route-none", title: "leaves a Node without pod range alone", steps: [joins("route-none")] },
  {
    name: "route-outside",
    title: "creates no route to a range outside --cluster-cidr",
    explained: [
      { at: "route of route-outside: to 10.99.0.0/24: *", row: "D60" },
      { at: "Node route-outside: condition NetworkUnavailable", row: "D60" },
      { at: "Node route-outside: event Warning PodCIDROutsideCluster: *", row: "D60" },
    ],
    steps: [joins("route-outside", pods("10.99.0.0/24"))],
  },
  {
    name: "route-first",
    title: "keeps the route of the first of two Nodes with one range",
    explained: [
      { at: "Node route-first-other: event Warning FailedToCreateRoute: *", row: "D59" },
      { at: "Node route-first-other: event Warning PodCIDRTaken: *", row: "D59" },
      { at: "route of route-first-other: to 10.244.5.0/24: call create (409)", row: "D59" },
    ],
    steps: [routed("route-first", "10.244.5.0/24"), joins("route-first-other", pods("10.244.5.0/24"))],
  },
  {
    name: "route-lost",
    title: "creates a route again that was removed by hand",
    steps: [
      routed("route-lost", "10.244.6.0/24"),
      act(
        "the route is removed, and another Node gets a range",
        async (world) => {
          removeRoutes(world, "10.244.6.0/24");
          await joins("route-lost-other", pods("10.244.7.0/24")).act(world);
        },
        (world) => world.cloud.routes.list().some(({ destination }) => destination === "10.244.6.0/24"),
      ),
    ],
  },
  {
    name: "route-kept",
    title: "leaves routes outside --cluster-cidr and routes of other clusters alone",
    explained: [{ at: "Node route-kept: condition NetworkUnavailable", row: "D58" }],
    steps: [
      act("two such routes exist", async (world) => {
        const { id } = world.machine("route-kept");
        await world.join("route-kept");
        world.cloud.routes.create({
          destination: "10.99.1.0/24",
          machine: id,
          labels: { cluster: "kubernetes" },
        });
        world.cloud.routes.create({
          destination: "10.244.9.0/24",
          machine: id,
          labels: { cluster: "other" },
        });
      }),
    ],
  },
  {
    name: "route-stray",
    title: "removes a stray route of this cluster",
    steps: [
      act(
        "such a route exists",
        async (world) => {
          const { id } = world.machine("route-stray");
          await world.join("route-stray", pods("10.244.10.0/24"));
          world.cloud.routes.create({
            destination: "10.244.11.0/24",
            machine: id,
            labels: { cluster: "kubernetes" },
          });
        },
        async (world) =>
          (await network(world, "route-stray")) === "False" &&
          world.cloud.routes.list().every(({ destination }) => destination !== "10.244.11.0/24"),
      ),
    ],
  },
  {
    name: "route-calico",
    title: "replaces the condition of a network plugin",
    steps: [
      routed("route-calico", "10.244.12.0/24"),
      act("the plugin writes the condition", async (world) => {
        const conditions = (await world.node("route-calico"))?.status.conditions ?? [];
        const others = conditions.filter(({ type }) => type !== "NetworkUnavailable");
        const own = {
          type: "NetworkUnavailable",
          status: "False",
          reason: "CalicoIsUp",
          message: "Calico is up",
        };
        await world.editNodeStatus("route-calico", { status: { conditions: [...others, own] } });
      }),
    ],
  },
];
