// Small worlds with one fault at the worst moment, for defects that random faults rarely reveal. The checks are those of all
// seeds. Mutations name these tests, which proves that each finds its defect.

import { afterEach, expect, test } from "bun:test";
import { removalsAnnotation } from "../../src/controllers/well-known.ts";
import { minutes, seconds } from "../../src/core/brand.ts";
import { resourceNamed } from "../../src/testing/apiserver/objects/resource-table.ts";
import { otherClusterUID } from "./cloud-invariants.ts";
import { findDeviations } from "./node-deviations.ts";
import { World, type WorldOptions } from "./world.ts";

const worlds: World[] = [];

/** A world in which all Nodes and these Services are served. */
const settled = async (options: WorldOptions, services: readonly string[] = []): Promise<World> => {
  const world = new World(options);
  worlds.push(world);
  for (const name of services) world.users.create(name, {});
  await world.clock.until(() => findDeviations(world).length === 0, minutes(5), "a settled world");
  await world.clock.advance(minutes(4));
  return world;
};

const replace = (world: World): void => {
  for (const replica of [...world.replicas]) world.killReplica(replica);
  world.startReplica();
};

const uidOf = (world: World, name: string): string => world.users.find(name)?.metadata.uid ?? "";

const balancersOf = ({ cloud }: World, uid: string) =>
  cloud.balancers.list().filter(({ labels }) => labels["owner-uid"] === uid);

afterEach(() => {
  for (const world of worlds.splice(0)) {
    for (const replica of [...world.replicas]) world.killReplica(replica);
    world.kubelets.stop();
  }
});

test("no Node is deleted before its removal is stored on the Lease, although each leader crashes [F22]", async () => {
  const world = await settled({ seed: 6, nodes: 10, replicas: 1 });
  const { clock, server, invariants } = world;
  server.faults.intercept = ({ body }, { plural, verb }) =>
    plural === "leases" && verb === "update" && String(body).includes(`"${removalsAnnotation}":"`)
      ? "hang"
      : undefined;
  for (const name of ["node-1", "node-2", "node-3", "node-4"]) {
    world.removeMachine(name);
    // Each leader stays below the mass limit, and its successor has not seen the deletion.
    for (let waited = 0; waited < 130 && world.node(name) !== undefined; waited += 1)
      await clock.advance(seconds(1));
    replace(world);
  }
  expect(invariants.violations).toEqual([]);
  server.faults.intercept = undefined;
  await clock.advance(minutes(5));
  world.releaseHolds();
  await clock.advance(minutes(10));
  expect(invariants.violations).toEqual([]);
  expect(world.nodes()).toHaveLength(6);
});

/** The API server loses the write of an address. The manager knows the response to the write, but no watch has shown it. */
const loseAddress = async (flags: readonly string[]): Promise<World> => {
  const world = await settled({ seed: 6, nodes: 3, replicas: 1, flags, ignored: [9] });
  const { clock, server, users, history } = world;
  const [replica] = world.replicas;
  const hasAddress = (): boolean => (users.find("web")?.status.loadBalancer?.ingress ?? []).length > 0;
  users.create("web", {});
  const restore = server.store.backup();
  // Other objects change, so that the watches are ahead of the backup.
  users.create("other", { type: "ClusterIP" });
  const stop = server.onWrite(() => {
    if (history.writer !== undefined && hasAddress()) replica?.kube.stallStreams();
  });
  await clock.until(hasAddress, minutes(2), "the address");
  stop();
  // A leader renews its Lease in the meantime.
  await clock.advance(seconds(10));
  restore();
  server.compact();
  replica?.kube.cutStreams();
  expect(hasAddress()).toBe(false);
  return world;
};

test("a Service gets its address again after the API server lost the write of it [N23]", async () => {
  const world = await loseAddress([]);
  await world.clock.advance(minutes(6));
  expect(findDeviations(world)).toEqual([]);
  expect(world.invariants.violations).toEqual([]);
});

test("a bookmark of an older version shows that the API server was restored, without leader election", async () => {
  const world = await loseAddress(["--leader-elect=false"]);
  await world.clock.advance(minutes(6));
  expect(findDeviations(world)).toEqual([]);
});

test("a new leader whose watches were silent changes nothing before its lists are complete [N23]", async () => {
  const world = await settled({ seed: 6, nodes: 3, replicas: 2 }, ["web"]);
  const { clock, users, replicas, leader } = world;
  const standby = replicas.find((replica) => replica !== leader);
  standby?.kube.stallStreams(120_000);
  users.editSpec("web", { ports: [{ port: 81, protocol: "TCP" }] });
  world.addNode("joins");
  await clock.advance(seconds(30));
  expect(findDeviations(world)).toEqual([]);
  if (leader !== undefined) world.killReplica(leader);
  await clock.advance(minutes(10));
  expect(world.invariants.violations).toEqual([]);
  expect(findDeviations(world)).toEqual([]);
});

test("a Service that gets a class while its load balancer is deleted loses its finalizer [F28]", async () => {
  const world = await settled({ seed: 6, nodes: 3, replicas: 1 }, ["web"]);
  const { clock, users, cloud } = world;
  cloud.faults.add({ kind: "slow", operation: "DELETE /balancers/{id}", milliseconds: 5_000, calls: 1 });
  users.editSpec("web", { type: "ClusterIP" });
  await clock.advance(seconds(2));
  users.editSpec("web", { type: "LoadBalancer", loadBalancerClass: "other.example/class" });
  await clock.advance(minutes(5));
  expect(findDeviations(world)).toEqual([]);
  expect(world.invariants.violations).toEqual([]);
});

test("the proofs about a Node do not apply to its successor, whose machine the cloud does not show yet [F21]", async () => {
  for (const waits of [5, 10, 15, 20]) {
    const world = await settled({ seed: 6, nodes: 4, replicas: 1 });
    const { clock, server, cloud, hiddenMachines } = world;
    world.removeMachine("node-1");
    await clock.until(() => isUnknown(world, "node-1"), minutes(2), "the Node to become Unknown");
    await clock.advance(seconds(waits));
    world.deleteNode("node-1");
    const machine = cloud.machines.add("node-1");
    hiddenMachines.hide(machine.id, "both", 29_000);
    server.objects.create(resourceNamed("nodes"), "", {
      metadata: { name: "node-1" },
      spec: { providerID: `fake://${machine.id}` },
      status: { conditions: [{ type: "Ready", status: "False" }] },
    });
    // The manager sees one Node, then the other, and no deletion.
    server.compact();
    for (const { kube } of world.replicas) kube.cutStreams();
    await clock.advance(minutes(3));
    expect(world.invariants.violations).toEqual([]);
    expect(world.node("node-1")).toBeDefined();
  }
});

test("a Node whose machine is hidden from a new leader stays while a Ready Node lacks its machine too [F23]", async () => {
  const world = await settled({ seed: 6, nodes: 10, replicas: 1 });
  const { clock, hiddenMachines } = world;
  for (const name of ["node-1", "node-2"])
    hiddenMachines.hide(world.machineNamed(name)?.id ?? "", "both", minutes(60));
  replace(world);
  world.silent.add("node-1");
  await clock.until(() => isUnknown(world, "node-1"), minutes(5), "the Node to become Unknown");
  await clock.advance(minutes(20));
  expect(world.invariants.violations).toEqual([]);
  expect(world.node("node-1")).toBeDefined();
});

const isUnknown = (world: World, name: string): boolean =>
  world
    .node(name)
    ?.status.conditions?.some(({ type, status }) => type === "Ready" && status === "Unknown") === true;

test("a load balancer keeps the targets of Nodes that vanished while no manager ran [N24]", async () => {
  const world = await settled({ seed: 6, nodes: 10, replicas: 1 }, ["web"]);
  const { clock, server, absence, podRanges } = world;
  for (const replica of [...world.replicas]) world.killReplica(replica);
  for (const object of server.store.list("nodes").slice(1)) {
    absence.vanishes(object.metadata.name);
    podRanges.keep(object.metadata.uid);
    server.store.remove(resourceNamed("nodes"), object);
  }
  world.startReplica();
  await clock.advance(minutes(5));
  expect(world.invariants.violations).toEqual([]);
  expect(balancersOf(world, uidOf(world, "web"))[0]?.targets).toHaveLength(10);
});

test("a load balancer of another cluster with the same name is neither changed nor deleted [N24]", async () => {
  const world = await settled({ seed: 6, nodes: 3, replicas: 1 });
  const { clock, users, cloud, cloudInvariants } = world;
  // Two Services of a restored copy: one that this cluster also has, and one that it deletes.
  for (const name of ["web", "mail"]) users.create(name, { type: "ClusterIP" });
  for (const name of ["web", "mail"]) {
    const labels = { cluster: "kubernetes", "managed-by": "fairlead", "cluster-uid": otherClusterUID };
    cloud.balancers.create({ name: `copy-${name}`, labels: { ...labels, "owner-uid": uidOf(world, name) } });
  }
  cloudInvariants.othersChanged();
  for (const name of ["web", "mail"]) users.editSpec(name, { type: "LoadBalancer" });
  await clock.advance(minutes(3));
  users.delete("mail");
  await clock.advance(minutes(7));
  expect(world.invariants.violations).toEqual([]);
});

test.each([
  ["is deleted", (world: World) => world.users.delete("web")],
  [
    "needs no load balancer for a moment",
    (world: World) => {
      world.users.editSpec("web", { type: "ClusterIP" });
      world.clock.after(seconds(2), () => world.users.editSpec("web", { type: "LoadBalancer" }));
    },
  ],
])(
  "a load balancer whose deletion has no effect is not considered gone while reads hide it, and its Service %s",
  async (_, leave) => {
    const world = await settled({ seed: 6, nodes: 3, replicas: 1 }, ["web"]);
    const { clock, cloud, cloudLies } = world;
    const [balancer] = balancersOf(world, uidOf(world, "web"));
    cloudLies.balancers.add({ kind: "missing", ids: [balancer?.id ?? ""], from: "both" }, 18_000);
    cloud.faults.add({ kind: "no-effect", operation: "DELETE /balancers/{id}" });
    leave(world);
    await clock.advance(minutes(3));
    expect(world.invariants.violations).toEqual([]);
    expect(findDeviations(world)).toEqual([]);
  },
);

test("a Service keeps its finalizer while reads hide all load balancers, although a lookup does not find its load balancer either", async () => {
  const names = ["web", "mail", "api", "dns", "shop", "game"];
  const world = await settled({ seed: 6, nodes: 3, replicas: 1, lookups: true }, names);
  const { clock, cloudLies, users } = world;
  // As with the credentials of another project.
  cloudLies.balancers.add({ kind: "missing", from: "both" }, 400_000);
  // The last listing is too old to delete the load balancers that it shows.
  await clock.advance(minutes(1));
  users.delete("web");
  await clock.advance(minutes(4));
  expect(world.invariants.violations).toEqual([]);
  expect(users.find("web")).toBeDefined();
  await clock.advance(minutes(6));
  expect(users.find("web")).toBeUndefined();
  expect(world.invariants.violations).toEqual([]);
  expect(findDeviations(world)).toEqual([]);
});
