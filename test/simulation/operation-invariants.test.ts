// Tests that the invariants about operations on routes can fail, and what they allow: events that no manager could know.

import { afterEach, expect, test } from "bun:test";
import { milliseconds, minutes, seconds } from "../../src/core/brand.ts";
import { resourceNamed } from "../../src/testing/apiserver/objects/resource-table.ts";
import type { Course } from "./route-operations.ts";
import { World } from "./world.ts";

const worlds: World[] = [];

afterEach(() => {
  for (const world of worlds.splice(0)) world.kubelets.stop();
});

/** A Node that has needed a route for ten minutes. The next operation has this course. */
const withNode = async (course: Course) => {
  const world = new World({ seed: 2, nodes: 3, replicas: 0, operations: true });
  worlds.push(world);
  await world.clock.advance(seconds(10));
  world.server.objects.patch(resourceNamed("nodes"), "", "node-0", "", (node) => ({
    ...node,
    spec: { ...node.spec, providerID: "fake://1" },
  }));
  await world.clock.advance(minutes(10));
  world.variants.routeOperations?.next.push(course);
  const destination = String(world.node("node-0")?.spec.podCIDR);
  const send = async (by: string, method: string, path: string, body?: unknown): Promise<void> => {
    const request = { method, url: `http://cloud/v1${path}`, headers: {}, body: JSON.stringify(body) };
    const sent = world.history.asWriter(by, () =>
      world.cloudAccess.transport(request, new AbortController().signal),
    );
    await world.clock.advance(seconds(1));
    await sent;
  };
  const body = { destination, machine: "1", labels: { cluster: "kubernetes", "managed-by": "fairlead" } };
  return {
    world,
    create: (by = "replica-1") => send(by, "POST", "/routes", body),
    remove: () => {
      const route = world.cloud.routes.list().find((one) => one.destination === destination);
      return send("replica-1", "DELETE", `/routes/${route?.id}`);
    },
    check: (id: string) => send("replica-1", "GET", `/operations?ids=${id}`),
    violated: () => world.invariants.violations.map(({ invariant }) => invariant),
  };
};

test("creating a route while the cloud works on it violates invariant 18", async () => {
  const { create, violated } = await withNode({ takes: 60_000, ends: "done" });
  await create();
  expect(violated()).toEqual([]);
  await create();
  expect(violated()).toEqual([18]);
});

test("creating a route again violates invariant 18 just after the process heard of its operation or leads again, not later", async () => {
  const { world, create, check, violated } = await withNode({ takes: 600_000, ends: "done" });
  await create();
  await world.clock.advance(seconds(40));
  await create();
  expect(violated()).toEqual([]);
  await check("op1");
  await create();
  expect(violated()).toEqual([18]);
  await world.clock.advance(seconds(40));
  world.leaderSince = world.clock.monotonic();
  await create();
  expect(violated()).toEqual([18, 18]);
});

test("creating a route that another process began violates invariant 18, unless its Node is new to the leader", async () => {
  const { world, create, violated } = await withNode({ takes: 60_000, ends: "done" });
  await create();
  world.leaderSince = world.clock.monotonic();
  await create("replica-2");
  expect(violated()).toEqual([18]);
  world.absence.returned("node-0");
  await create("replica-2");
  expect(violated()).toEqual([18]);
});

test.each([
  ["violates invariant 18", 10_000, [18]],
  ["violates nothing if it was created after the proof of its absence", 50_000, []],
])("creating a route that a forgotten operation created %s", async (_, takes, expected) => {
  const { world, create, check, violated } = await withNode({ takes, ends: "done", forgottenAfter: 5_000 });
  await create();
  await world.clock.advance(seconds(5));
  await check("op1");
  await world.clock.advance(minutes(1));
  await create();
  expect(violated()).toEqual([...expected]);
});

test.each([
  ["violates nothing if listings show it after the proof", { kind: "lagging", by: 6_000 }, 31_000, []],
  ["violates invariant 18 before the proof", { kind: "lagging", by: 6_000 }, 28_000, [18]],
  [
    "violates invariant 18 if listings show it before the proof",
    { kind: "lagging", by: 2_000 },
    31_000,
    [18],
  ],
  [
    "violates nothing if a stale replica hides it until after the proof",
    { kind: "stale replica" },
    31_000,
    [],
  ],
] as const)(
  "creating a route again that the former leader created late %s",
  async (_, lie, after, expected) => {
    const { world, create, violated } = await withNode({ takes: 27_000, ends: "done" });
    await create();
    world.leaderSince = world.clock.monotonic();
    world.cloudLies.routes.add(lie, 45_000);
    await world.clock.advance(milliseconds(after));
    await create("replica-2");
    expect(violated()).toEqual([...expected]);
  },
);

test("removing a needed route violates invariant 18 when the cloud accepts the removal, even without an effect", async () => {
  const { world, create, remove, violated } = await withNode({ takes: 1_000, ends: "done" });
  await create();
  await world.clock.advance(minutes(10));
  world.variants.routeOperations?.next.push({ takes: 1_000, ends: "without effect" });
  await remove();
  expect(violated()).toEqual([18]);
});
