// Tests that the invariants about absence can fail, and what they do not count: events that no manager could know.

import { expect, test } from "bun:test";
import { minutes, seconds } from "../../src/core/brand.ts";
import type { KubeObject } from "../../src/testing/apiserver/objects/kube-object.ts";
import { resourceNamed } from "../../src/testing/apiserver/objects/resource-table.ts";
import { World } from "./world.ts";

const worldOf = (): World => new World({ seed: 2, nodes: 3, replicas: 0 });

const violated = (world: World): readonly number[] =>
  world.invariants.violations.map(({ invariant }) => invariant);

const send = async (world: World, method: string, path: string, body?: unknown): Promise<void> => {
  const sent = world.cloudAccess.transport(
    {
      method,
      url: `http://cloud/v1${path}`,
      headers: {},
      ...(body !== undefined && { body: JSON.stringify(body) }),
    },
    new AbortController().signal,
  );
  await world.clock.advance(seconds(1));
  await sent;
};

const leads = (world: World, holderIdentity: string): void => {
  const metadata = { namespace: "kube-system", name: "cloud-controller-manager" };
  world.server.store.put(resourceNamed("leases"), {
    metadata,
    spec: { holderIdentity },
  } as unknown as KubeObject);
};

const services = ["a", "b", "c"];

/** Services with load balancers, as the id of each load balancer by the name of its Service. */
const withBalancers = async (world: World): Promise<ReadonlyMap<string, string>> => {
  const ids = new Map<string, string>();
  for (const name of services) {
    world.users.create(name, {});
    const labels = { cluster: "kubernetes", "managed-by": "fairlead", "owner-uid": uidOf(world, name) };
    ids.set(name, world.cloud.balancers.create({ name, labels }).id);
  }
  await world.clock.advance(seconds(10));
  return ids;
};

const uidOf = (world: World, name: string): string => world.users.find(name)?.metadata.uid ?? "";

const vanish = (world: World, kind: "services" | "nodes", name: string): KubeObject => {
  const object = world.server.store.list(kind).find(({ metadata }) => metadata.name === name);
  if (object === undefined) throw new Error(`There is no ${name}.`);
  world.absence.vanishes(kind === "services" ? object.metadata.uid : name);
  world.server.store.remove(resourceNamed(kind), object);
  return object;
};

test("removing the load balancers of three vanished Services violates invariant 19", async () => {
  const world = worldOf();
  const ids = await withBalancers(world);
  for (const name of services) vanish(world, "services", name);
  for (const id of ids.values()) await send(world, "DELETE", `/balancers/${id}`);
  expect(violated(world)).toContain(19);
});

test("a vanished Service that no longer needed a load balancer does not count towards the limit", async () => {
  const world = worldOf();
  const ids = await withBalancers(world);
  world.users.edit("a", "NodePort", (one) => ({ ...one, spec: { ...one.spec, type: "NodePort" } }));
  for (const name of services) vanish(world, "services", name);
  for (const id of ids.values()) await send(world, "DELETE", `/balancers/${id}`);
  expect(violated(world)).not.toContain(19);
});

/** A Node whose route has existed for longer than a watch may be silent. */
const withRoute = async (
  world: World,
): Promise<{ readonly create: () => Promise<void>; readonly remove: () => Promise<void> }> => {
  leads(world, "replica-1");
  await world.clock.advance(seconds(10));
  world.server.objects.patch(resourceNamed("nodes"), "", "node-0", "", (node) => ({
    ...node,
    spec: { ...node.spec, providerID: "fake://1" },
  }));
  const destination = String(world.node("node-0")?.spec.podCIDR);
  const labels = { cluster: "kubernetes", "managed-by": "fairlead" };
  const create = () => send(world, "POST", "/routes", { destination, machine: "1", labels });
  await create();
  await world.clock.advance(minutes(10));
  const [route] = world.cloud.routes.list().filter((one) => one.destination === destination);
  return { create, remove: () => send(world, "DELETE", `/routes/${route?.id}`) };
};

test("creating a route that the leader has created before violates invariant 18", async () => {
  const world = worldOf();
  const { create } = await withRoute(world);
  await create();
  expect(violated(world)).toContain(18);
});

test("creating a route that only the last leader knew violates invariant 18, unless its Node returns later", async () => {
  const world = worldOf();
  const { create } = await withRoute(world);
  world.absence.returned("node-0");
  await world.clock.advance(seconds(1));
  leads(world, "replica-2");
  await create();
  expect(violated(world)).toEqual([18]);
  world.absence.returned("node-0");
  await create();
  expect(violated(world)).toEqual([18]);
});

test("creating a route that its Node shows violates invariant 18, even by another leader", async () => {
  const world = worldOf();
  const { create } = await withRoute(world);
  world.server.objects.patch(resourceNamed("nodes"), "", "node-0", "status", (node) => ({
    ...node,
    status: {
      ...node.status,
      conditions: [{ type: "NetworkUnavailable", status: "False", reason: "RouteCreated" }],
    },
  }));
  leads(world, "replica-2");
  await create();
  expect(violated(world)).toContain(18);
});

test.each([
  ["that were lost while Nodes needed them violates invariant 19", true],
  ["that were lost before their Nodes got the ranges violates nothing", false],
])("creating three routes %s", async (_, isNeeded) => {
  const world = worldOf();
  await world.clock.advance(seconds(10));
  const nodes = ["node-0", "node-1", "node-2"];
  const assign = (name: string, index: number) =>
    world.server.objects.patch(resourceNamed("nodes"), "", name, "", (node) => ({
      ...node,
      spec: { ...node.spec, providerID: `fake://${index + 1}` },
    }));
  if (isNeeded) for (const [index, name] of nodes.entries()) assign(name, index);
  const ranges = nodes.map((name) => String(world.node(name)?.spec.podCIDR));
  for (const range of ranges) world.absence.lost(range);
  if (!isNeeded) for (const [index, name] of nodes.entries()) assign(name, index);
  const labels = { cluster: "kubernetes", "managed-by": "fairlead" };
  for (const [index, destination] of ranges.entries())
    await send(world, "POST", "/routes", { destination, machine: String(index + 1), labels });
  expect(violated(world).includes(19)).toBe(isNeeded);
});

test.each([
  ["violates invariant 18 long after it returned", 10, [18]],
  ["only counts just after it returned", 0, []],
])("removing the route of a Node that had vanished %s", async (_, after, expected) => {
  const world = worldOf();
  const { remove } = await withRoute(world);
  const node = vanish(world, "nodes", "node-0");
  await world.clock.advance(seconds(10));
  world.absence.returned("node-0");
  world.server.store.put(resourceNamed("nodes"), node);
  await world.clock.advance(minutes(after));
  await remove();
  expect(violated(world).filter((invariant) => invariant >= 18)).toEqual([...expected]);
});
