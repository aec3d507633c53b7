import { afterEach, describe, expect, test } from "bun:test";
import { doubtKinds } from "./doubt-kinds.ts";
import { type DoubtWorld, names, settled } from "./doubt-world.ts";

// If the cloud lacks too much, the absences have no consequences, for any kind of object: what a user sees, as one table. The
// limit is a fifth of the objects, and at least two, within ten minutes; a proof takes 30 s.

let world: DoubtWorld | undefined;
afterEach(async () => {
  await world?.stop();
  expect(world?.unexpectedErrors ?? []).toEqual([]);
  world = undefined;
});

async function cluster(...of: Parameters<typeof settled>): Promise<DoubtWorld> {
  const w = await settled(...of);
  world = w;
  return w;
}

describe.each(doubtKinds)("the doubt about $kind", (kind) => {
  const lose = async (count: number, of: number): Promise<DoubtWorld> => {
    const w = await kind.start(of);
    world = w;
    kind.lose(w, count);
    return w;
  };

  test("acts on two of 20 lost objects after the proof of absence", async () => {
    const w = await lose(2, 20);
    await w.relist(25);
    expect(kind.acted(w)).toBe(0);
    await w.pass(150);
    expect([kind.acted(w), w.allHeld]).toEqual([2, []]);
  });

  test("holds five of 20 lost objects, states the reason, and acts after a release", async () => {
    const w = await lose(5, 20);
    await w.relist(600);
    await w.pass(5);
    expect([kind.acted(w), w.held(kind.kind).length]).toEqual([0, 5]);
    expect(w.events(kind.nameOf(w, 0)).join()).toContain(kind.reason);
    w.release(kind.kind);
    await w.pass(150);
    expect([kind.acted(w), w.allHeld]).toEqual([5, []]);
  });

  test("holds three of 14 lost objects although ten others join during the hold", async () => {
    const w = await lose(3, 14);
    await w.relist(300);
    expect(w.held(kind.kind)).toHaveLength(3);
    await kind.join(w, 10);
    await w.relist(600);
    expect([kind.acted(w), w.held(kind.kind).length]).toEqual([0, 3]);
  });

  test("counts the former leader's removals in the last ten minutes", async () => {
    const w = await lose(2, 10);
    await w.relist(150);
    expect(kind.acted(w)).toBe(2);
    await w.handOver();
    await w.pass(20);
    kind.lose(w, 1, 2);
    await w.relist(240);
    expect([kind.acted(w), w.held(kind.kind).length]).toEqual([2, 1]);
    await w.pass(600);
    expect([kind.acted(w), w.allHeld]).toEqual([3, []]);
  });

  test("a hold stays when another process takes over the Lease, and ends with a release", async () => {
    const w = await lose(5, 20);
    await w.relist(300);
    await w.handOver();
    await w.relist(600);
    expect([kind.acted(w), w.held(kind.kind).length]).toEqual([0, 5]);
    w.release(kind.kind);
    await w.pass(240);
    expect([kind.acted(w), w.allHeld]).toEqual([5, []]);
  });
});

describe("Nodes that leave", () => {
  const taint = (key: string) => (w: DoubtWorld, name: string) =>
    w.changeNode(name, ({ spec, ...node }) => ({
      ...node,
      spec: { ...spec, taints: [{ key, effect: "NoSchedule" }] },
    }));
  const shared = ["nodes", "load-balancers", "routes"] as const;

  test.each([
    ["a taint of cluster-autoscaler", taint("ToBeDeletedByClusterAutoscaler")],
    ["a taint of karpenter", taint("karpenter.sh/disrupted")],
    [
      "a cordon",
      (w: DoubtWorld, name: string) =>
        w.changeNode(name, ({ spec, ...node }) => ({ ...node, spec: { ...spec, unschedulable: true } })),
    ],
    [
      "a terminating instance",
      (w: DoubtWorld, name: string) => {
        w.cloud.machines.setStatus(name, "terminating");
        w.setReady(name, "Unknown");
      },
    ],
  ])("are deleted without a hold when %s announces eight of ten", async (_, announce) => {
    const w = await cluster({ nodes: 10, services: 3 }, shared);
    const leaving = names("node", 8);
    for (const name of leaving) announce(w, name);
    await w.pass(60);
    w.loseMachines(...leaving);
    await w.until(() => w.nodes().length === 2, "the deletions", 300);
    await w.pass(60);
    expect([w.allHeld, w.targetCounts(), w.cloud.routes.list().length]).toEqual([[], [2], 2]);
    expect(w.log).not.toContain("treated as a fault");
  });

  test("a Node loses its targets and routes when one of ten is reclaimed without an announcement", async () => {
    const w = await cluster({ nodes: 10, services: 3 }, shared);
    w.loseMachines("node-0");
    await w.pass(25);
    expect(w.hasNode("node-0")).toBe(true);
    await w.until(() => !w.hasNode("node-0"), "the deletion", 60);
    await w.pass(60);
    expect([w.allHeld, w.targetCounts(), w.cloud.routes.list().length]).toEqual([[], [9], 9]);
  });

  test("Nodes stay until a release when a pool of ten of 20 is replaced without a cordon", async () => {
    const w = await cluster({ nodes: 20, services: 3 }, shared);
    w.loseMachines(...names("node", 10));
    await w.pass(600);
    expect([w.held("nodes").length, w.nodes().length, w.cloud.routes.list().length]).toEqual([10, 20, 20]);
    w.release("nodes");
    await w.until(() => w.nodes().length === 10, "the deletions", 120);
    await w.pass(90);
    expect([w.allHeld, w.targetCounts(), w.cloud.routes.list().length]).toEqual([[], [10], 10]);
  });

  test("Nodes stay until a release when all ten are replaced, and Services use the new Nodes immediately", async () => {
    const w = await cluster({ nodes: 10, services: 3 }, shared);
    const addresses = w.addressesOf("web-0");
    const joined = names("new", 10);
    w.join(...joined);
    w.loseMachines(...names("node", 10));
    await w.pass(600);
    expect([w.held("nodes").length, w.nodes().length]).toEqual([10, 20]);
    const machines = joined.map((name) => w.machineOf(name));
    for (const { targets } of w.cloud.balancers.list())
      expect(targets).toEqual(expect.arrayContaining(machines));
    w.create("late");
    await w.until(() => w.addressesOf("late").length === 1, "the address of a new Service", 30);
    w.release("nodes");
    await w.until(() => w.nodes().length === 10, "the deletions", 120);
    await w.pass(90);
    expect(w.nodes().map(({ metadata }) => metadata.name)).toEqual(joined.toSorted());
    expect([w.allHeld, w.targetCounts(), w.cloud.routes.list().length]).toEqual([[], [10], 10]);
    expect(w.addressesOf("web-0")).toEqual(addresses);
  });
});

describe("while five of 20 load balancers are hidden", () => {
  const holding = async (): Promise<DoubtWorld> => {
    const w = await cluster({ nodes: 2, services: 20 }, ["load-balancers"]);
    w.hideBalancers(...names("web", 5));
    await w.relist();
    expect(w.held("load-balancers")).toHaveLength(5);
    return w;
  };

  test("a deleted Service with a visible load balancer loses it and its finalizer while five of 20 are hidden", async () => {
    const w = await holding();
    w.delete("web-19");
    await w.until(() => w.find("web-19") === undefined, "the release", 60);
    expect([w.cloud.balancers.list().length, w.held("load-balancers").length]).toEqual([19, 5]);
  });

  test("creates and changes the load balancers of new and edited Services while five of 20 are hidden", async () => {
    const w = await holding();
    w.create("new");
    w.editSpec("web-18", { ports: [{ port: 81, protocol: "TCP" }] });
    const isChanged = () => w.balancerOf("web-18").listeners[0]?.port === 81;
    await w.until(() => w.addressesOf("new").length === 1 && isChanged(), "the changes", 60);
    await w.relist();
    expect([w.cloud.balancers.list().length, w.held("load-balancers").length]).toEqual([21, 5]);
  });

  test("a deleted Service with a hidden load balancer keeps its finalizer until the load balancer is shown", async () => {
    const w = await holding();
    w.delete("web-0");
    await w.relist(900);
    expect([w.find("web-0")?.metadata.finalizers?.length, w.cloud.balancers.list().length]).toEqual([1, 20]);
    expect(w.events("web-0").join()).toContain("MassRemovalHeld The load balancer of this Service is absent");
    w.showAll();
    await w.until(() => w.find("web-0") === undefined, "the release", 300);
    expect([w.owners(), w.allHeld]).toEqual([w.wanted(), []]);
  });
});

describe("while five of 20 routes are hidden", () => {
  test("a new Node gets its route, and a deleted Node loses its visible route, while five of 20 routes are hidden", async () => {
    const w = await cluster({ nodes: 20 }, ["routes"]);
    const ranges = names("node", 20).map((name) => w.rangeOf(name));
    w.hideRoutes(...ranges.slice(0, 5));
    await w.pass(180);
    expect(w.held("routes")).toHaveLength(5);
    w.join("new");
    w.removeNode("node-19");
    await w.pass(180);
    const expected = [...ranges.slice(0, 19), w.rangeOf("new")];
    expect(
      w.cloud.routes
        .list()
        .map(({ destination }) => destination)
        .toSorted(),
    ).toEqual(expected.toSorted());
    expect(w.held("routes")).toHaveLength(5);
    w.showAll();
    await w.pass(180);
    expect([w.cloudChanges.toSorted(), w.allHeld]).toEqual([["DELETE /routes/{id}", "POST /routes"], []]);
  });
});

describe("while volumes are hidden", () => {
  test("keeps the finalizers of released PersistentVolumes when five of 20 volumes are hidden and one claim is deleted", async () => {
    const w = await cluster({ nodes: 3, claims: 20 }, ["volumes"]);
    const { name } = w.volumeOf("data-0").metadata;
    w.hideVolumes(...names("data", 5));
    w.deleteClaim("data-0");
    await w.pass(600);
    expect([w.volumes().length, w.held("volumes")]).toEqual([20, expect.arrayContaining([name])]);
    w.deleteClaim("data-19");
    w.claim("new");
    await w.until(() => w.isBound("new") && w.volumes().length === 20, "a creation and a deletion", 60);
    w.showAll();
    await w.until(() => w.volumes().length === 19, "the deletion", 180);
    expect([w.cloud.volumes.list().length, w.allHeld]).toEqual([19, []]);
  });

  test("accepts no detachment when pods end while the cloud shows no volume", async () => {
    const w = await cluster({ nodes: 6, claims: 10 }, ["volumes"]);
    const { view } = w.cloud;
    const attachments = names("data", 10).map((claim, index) =>
      w.attach(claim, w.nodesFor(claim)[index % 2] ?? ""),
    );
    await w.until(() => attachments.every((name) => w.isAttached(name)), "the attachments");
    await w.pass(60);
    w.hideVolumes(...names("data", 10));
    for (const name of attachments) w.detach(name);
    await w.pass(900);
    const attached = () => w.cloud.volumes.list().filter(({ machine }) => machine !== null).length;
    expect([attachments.filter((name) => w.attachment(name) !== undefined).length, attached()]).toEqual([
      10, 10,
    ]);
    w.cloud.view = view;
    w.showAll();
    await w.until(
      () => attachments.every((name) => w.attachment(name) === undefined),
      "the detachments",
      180,
    );
    await w.pass(1);
    expect([attached(), w.allHeld]).toEqual([0, []]);
  });
});
