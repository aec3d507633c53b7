import { afterEach, describe, expect, test } from "bun:test";
import { milliseconds } from "../../../src/core/brand.ts";
import { runsAllTests } from "../../../src/testing/breadth.ts";
import { lagListings } from "../../support/lagging-view.ts";
import { uninitialized } from "../../support/node-controllers.ts";
import { DoubtWorld, names, type Size, settled } from "./doubt-world.ts";

// The table of doubt, second part: the whole cloud shows nothing or another project, or the API
// server lacks Nodes and Services without a seen deletion.

const all = ["nodes", "load-balancers", "routes", "volumes"] as const;
const suspicion = "may belong to another project";

let world: DoubtWorld | undefined;
afterEach(async () => {
  await world?.stop();
  expect(world?.unexpectedErrors ?? []).toEqual([]);
  world = undefined;
});

async function cluster(size: Size, kinds: Parameters<typeof settled>[1] = all): Promise<DoubtWorld> {
  const w = await settled(size, kinds);
  world = w;
  return w;
}

describe("first creations", () => {
  test("first creations do not wait at the first start on an empty cloud", async () => {
    const w = new DoubtWorld(3, all);
    world = w;
    for (const name of names("node", 3)) {
      w.cloud.machines.remove(name);
      w.changeNode(name, (node) => ({ ...node, spec: { taints: [uninitialized] }, status: {} }));
    }
    for (const name of names("web", 3)) w.create(name);
    await w.start();
    const exist = () => names("web", 3).every((name) => w.addressesOf(name).length === 1);
    await w.until(exist, "the load balancers", 5);
    await w.pass(300);
    expect([w.nodes().length, w.cloud.balancers.list().length, w.allHeld]).toEqual([3, 3, []]);
    expect(w.log).not.toContain(suspicion);
  });

  test.if(runsAllTests)(
    "creates each of 200 load balancers once, and treats none as absent, while listings lag by 10 s",
    async () => {
      const w = await cluster({ nodes: 3 }, ["load-balancers"]);
      w.cloud.balancers.actionTime = milliseconds(0);
      lagListings(w, 10);
      const services = names("web", 200);
      for (const name of services) w.create(name);
      await w.until(() => services.every((name) => w.addressesOf(name).length === 1), "all addresses");
      await w.relist(300);
      expect(w.cloudChanges).toEqual(services.map(() => "POST /balancers"));
      expect([w.owners(), w.allHeld, w.manager.removals.count("load-balancers")]).toEqual([
        w.wanted(),
        [],
        0,
      ]);
    },
  );
});

describe("credentials of another project", () => {
  const restart = async (w: DoubtWorld, project: "own" | "other"): Promise<void> => {
    await w.stop();
    w.project = project;
    await w.start();
  };

  test("with credentials of another project, deletes and recreates nothing until corrected, except for a new load balancer", async () => {
    const w = await cluster({ nodes: 1, services: 1, claims: 1 });
    await restart(w, "other");
    w.setReady("node-0", "Unknown");
    w.deleteClaim("data-0");
    w.create("new");
    await w.until(() => w.addressesOf("new").length === 1, "the address of the new Service", 60);
    await w.pass(900);
    expect([w.cloudChanges, w.nodes().length, w.volumes().length]).toEqual([["POST /balancers"], 1, 1]);
    expect([w.held("nodes"), w.held("load-balancers")]).toEqual([["node-0"], ["default/web-0"]]);
    expect(w.held("volumes")).toHaveLength(1);
    for (const name of ["node-0", "web-0", w.volumes()[0]?.metadata.name ?? ""])
      expect(w.events(name).join()).toContain(suspicion);
    w.delete("new");
    await restart(w, "own");
    await w.pass(300);
    expect([w.allHeld, w.nodes().length, w.volumes().length]).toEqual([[], 1, 0]);
    expect([w.cloud.volumes.list(), w.owners(), w.cloud.routes.list().length]).toEqual([[], w.wanted(), 1]);
  });

  test("with credentials of another project, deletes no PersistentVolume if only its handle is recorded", async () => {
    const w = await cluster({ nodes: 1, claims: 1 }, ["volumes"]);
    w.removeNode("node-0");
    await restart(w, "other");
    w.deleteClaim("data-0");
    await w.pass(900);
    expect([w.volumes().length, w.held("volumes").length]).toEqual([1, 1]);
    expect(w.events(w.held("volumes")[0] ?? "").join()).toContain(suspicion);
    await restart(w, "own");
    await w.until(() => w.volumes().length === 0, "the deletion", 180);
    expect(w.cloud.volumes.list()).toEqual([]);
  });

  test("trusts the credentials when the cloud shows a recorded volume, so that the only Node is deleted", async () => {
    const w = await cluster({ nodes: 1, claims: 1 });
    w.loseMachines("node-0");
    await restart(w, "own");
    await w.until(() => w.nodes().length === 0, "the deletion", 180);
    expect([w.allHeld, w.log.includes(suspicion)]).toEqual([[], false]);
  });
});

describe("a cloud that shows nothing", () => {
  test("a cloud that shows nothing for ten minutes changes nothing, and causes no hold afterwards", async () => {
    const w = await cluster({ nodes: 10, services: 10, claims: 10 });
    const attachments = names("data", 3).map((claim) => w.attach(claim, w.nodesFor(claim)[0]));
    await w.until(() => attachments.every((name) => w.isAttached(name)), "the attachments");
    await w.pass(60);
    w.forget();
    const before = w.inventory();
    w.project = "other";
    for (const name of names("node", 10)) w.setReady(name, "Unknown");
    await w.relist(600);
    expect(w.allHeld).not.toEqual([]);
    w.project = "own";
    for (const name of names("node", 5)) w.setReady(name, "True");
    await w.relist(600);
    expect([w.cloudChanges, w.inventory(), w.allHeld]).toEqual([[], before, []]);
  });
});

describe("Nodes and Services that vanish from the API server without a deletion event", () => {
  const shared = ["nodes", "load-balancers", "routes"] as const;
  const cloudOf = (w: DoubtWorld) => {
    const { balancers, routes } = w.cloud;
    return { balancers: balancers.list().length, routes: routes.list().length, targets: w.targetCounts() };
  };

  test.each([5, 18, 20])(
    "changes nothing in the cloud when %i of 20 Nodes and Services each vanish from a restored etcd",
    async (count) => {
      const w = await cluster({ nodes: 20, services: 20 }, shared);
      await w.vanish(names("node", count), names("web", count));
      await w.relist(900);
      expect([w.cloudChanges, cloudOf(w)]).toEqual([[], { balancers: 20, routes: 20, targets: [20] }]);
      expect(w.held("load-balancers")).toEqual(expect.arrayContaining([...names("default/web", count)]));
      expect(w.held("routes")).toHaveLength(count);
    },
  );

  test("changes nothing in the cloud when a manager starts with the kubeconfig of another cluster", async () => {
    const w = await cluster({ nodes: 20, services: 20 }, shared);
    await w.stop();
    w.removeUnseen(names("node", 18), names("web", 18));
    await w.start();
    await w.relist(900);
    expect([w.cloudChanges, cloudOf(w)]).toEqual([[], { balancers: 20, routes: 20, targets: [20] }]);
  });

  test.each([
    [4, 0, { balancers: 20, routes: 16, targets: [16] }],
    [0, 4, { balancers: 16, routes: 20, targets: [20] }],
  ])(
    "removes the cloud objects of %i Nodes and %i Services that vanish, out of 20 each",
    async (nodes, services, left) => {
      const w = await cluster({ nodes: 20, services: 20 }, shared);
      await w.vanish(names("node", nodes), names("web", services));
      await w.relist(300);
      expect([cloudOf(w), w.allHeld]).toEqual([left, []]);
    },
  );

  test.each([1, 20])("keeps the targets when all %i Nodes are missing at the start", async (nodes) => {
    const w = await cluster({ nodes, services: 2 }, ["load-balancers"]);
    await w.stop();
    w.removeUnseen(names("node", nodes), []);
    await w.start();
    await w.relist(900);
    expect([w.cloudChanges, w.targetCounts()]).toEqual([[], [nodes]]);
  });
});
