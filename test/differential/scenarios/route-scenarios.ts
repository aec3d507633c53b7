// Routes to the pods of Nodes.

import type { Batch } from "../rig/scenario.ts";
import type { World } from "../rig/world.ts";
import { act, isGone, joins } from "./node-scenarios.ts";

const pods = (...podCIDRs: readonly string[]) => ({
  spec: { podCIDR: podCIDRs[0] ?? "", podCIDRs },
});

const conditionOf = async (world: World, name: string) =>
  (await world.node(name))?.status.conditions?.find(({ type }) => type === "NetworkUnavailable");
const network = async (world: World, name: string): Promise<string | undefined> =>
  (await conditionOf(world, name))?.status;
const isUp = async (world: World, name: string): Promise<boolean> =>
  (await conditionOf(world, name))?.reason === "CalicoIsUp";

const routed = (name: string, ...podCIDRs: readonly string[]) => ({
  ...joins(name, pods(...podCIDRs)),
  until: async (world: World) => (await network(world, name)) === "False",
});

const removeRoutes = (world: World, destination: string): void => {
  for (const route of world.cloud.routes.list())
    if (route.destination === destination) world.cloud.routes.remove(route.id);
};

const hasRoute = (world: World, destination: string): boolean =>
  world.cloud.routes.list().some((route) => route.destination === destination);

const setNetwork = async (world: World, name: string, changes: object): Promise<void> => {
  const conditions = (await world.node(name))?.status.conditions ?? [];
  const others = conditions.filter(({ type }) => type !== "NetworkUnavailable");
  const own = { type: "NetworkUnavailable", ...changes };
  await world.editNodeStatus(name, { status: { conditions: [...others, own] } });
};

/**
 * Fairlead notices changes by others in the cloud when it lists routes: after a change of a Node, unless its last
 * listing is younger than ten seconds. So a program marks the network of this Node as unavailable until everything is
 * correct; both managers correct that.
 */
const whenListed =
  (name: string, isRight: (world: World) => Promise<boolean> | boolean) =>
  async (world: World): Promise<boolean> => {
    if (await isRight(world)) return true;
    const change = { status: "True", reason: "Probing", message: "Another program looks for a route" };
    if ((await network(world, name)) === "False") await setNetwork(world, name, change);
    return false;
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
        async (world) => (await isGone("route-plain")(world)) && !hasRoute(world, "10.244.1.0/24"),
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
        "the route is removed, and a Node changes",
        (world) => removeRoutes(world, "10.244.6.0/24"),
        whenListed("route-lost", (world) => hasRoute(world, "10.244.6.0/24")),
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
      routed("route-stray", "10.244.10.0/24"),
      act(
        "such a route exists, and a Node changes",
        (world) => {
          const [machine] = world.cloud.machines.find("route-stray");
          world.cloud.routes.create({
            destination: "10.244.11.0/24",
            machine: machine?.id ?? "",
            labels: { cluster: "kubernetes" },
          });
        },
        whenListed("route-stray", (world) => !hasRoute(world, "10.244.11.0/24")),
      ),
    ],
  },
  {
    name: "route-calico",
    title: "replaces the condition of a network plugin",
    steps: [
      {
        ...routed("route-calico", "10.244.12.0/24"),
        act: async (world) => {
          await joins("route-calico", pods("10.244.12.0/24")).act(world);
          await joins("route-calico-other", pods("10.244.13.0/24")).act(world);
        },
      },
      act(
        "the plugin writes the condition, and another Node changes",
        (world) =>
          setNetwork(world, "route-calico", {
            status: "False",
            reason: "CalicoIsUp",
            message: "Calico is up",
          }),
        // Another program would make the next change.
        whenListed("route-calico-other", async (world) => !(await isUp(world, "route-calico"))),
      ),
    ],
  },
];
