import { afterEach, describe, expect, test } from "bun:test";
import { trueView } from "../../../providers/fake/simulator/view.ts";
import { type DoubtWorld, names, settled } from "./doubt-world.ts";

// A cloud that hid too much recovers step by step. What it shows last needs a proof from after the hold, however the hold ended.

let world: DoubtWorld | undefined;
afterEach(async () => {
  await world?.stop();
  expect(world?.unexpectedErrors ?? []).toEqual([]);
  world = undefined;
});

/** Answers of the cloud lack these machines. */
function hideMachines(w: DoubtWorld, ...hidden: readonly string[]): void {
  w.cloud.hides = ({ name }) => hidden.includes(name);
}

test("keeps a held Node whose machine the cloud shows 20 s after the machine of the Ready Node that caused the hold [F23]", async () => {
  const w = await settled({ nodes: 10 }, ["nodes"]);
  world = w;
  hideMachines(w, "node-0", "node-1");
  w.setReady("node-0", "Unknown");
  await w.pass(300);
  expect(w.held("nodes")).toEqual(["node-0"]);
  hideMachines(w, "node-0");
  await w.until(() => w.held("nodes").length === 0, "the end of the hold", 600);
  await w.pass(20);
  hideMachines(w);
  await w.pass(300);
  expect(w.hasNode("node-0")).toBe(true);
});

test("keeps a Node while the Node that should have been deleted with it is Ready again [F23]", async () => {
  const w = await settled({ nodes: 10 }, ["nodes"]);
  world = w;
  hideMachines(w, "node-0", "node-1");
  w.setReady("node-0", "Unknown");
  w.setReady("node-1", "Unknown");
  const isRefused = ({ verb, plural }: { verb: string; plural: string }) =>
    verb === "delete" && plural === "nodes";
  w.server.faults.intercept = (_, attributes) => (isRefused(attributes) ? "drop" : undefined);
  await w.until(() => w.manager.removals.count("nodes") === 2, "the deletions", 300);
  await w.pass(5);
  w.setReady("node-0", "True");
  w.server.faults.intercept = undefined;
  await w.pass(300);
  expect([w.hasNode("node-0"), w.hasNode("node-1")]).toEqual([true, true]);
  expect(w.held("nodes")).toEqual(["node-1"]);
});

describe("while Services are backing off", () => {
  const services = names("web", 5);

  /** The cloud rejects changes to five of the six load balancers. `hide` hides the first of these. */
  async function rejected() {
    const w = await settled({ services: 6 }, ["load-balancers"]);
    world = w;
    const ids = services.map((name) => w.balancerOf(name).id);
    const hide = (count: number) => {
      const hidden = ids.slice(0, count);
      w.cloud.view = { ...trueView, balancers: (all) => all.filter(({ id }) => !hidden.includes(id)) };
    };
    const edit = (name: string, port: number) =>
      w.edit(name, (service) => ({
        ...service,
        spec: { ...service.spec, ports: [{ port, protocol: "TCP" }] },
      }));
    w.cloud.faults.add({ kind: "status", operation: "PATCH /balancers/{id}", status: 400, calls: 1000 });
    for (const name of services) edit(name, 81);
    await w.pass(900);
    hide(5);
    return { w, hide, edit };
  }

  test("recreates no load balancer after one listing lacked five load balancers and the next listing lacked two", async () => {
    const { w, hide, edit } = await rejected();
    await w.relist(35);
    expect(w.held("load-balancers")).toEqual([]);
    hide(2);
    await w.relist(1);
    edit("web-0", 82);
    await w.pass(20);
    hide(0);
    await w.relist();
    expect(w.cloudChanges).not.toContain("POST /balancers");
  });

  test("recreates no load balancer after three of five Services without a listed load balancer were paused", async () => {
    const { w, hide, edit } = await rejected();
    await w.relist(5);
    for (const name of services.slice(2)) w.annotate(name, { "fairlead.dev/paused": "true" });
    await w.relist(35);
    await w.relist(35);
    edit("web-0", 82);
    await w.pass(20);
    hide(0);
    await w.relist();
    expect(w.cloudChanges).not.toContain("POST /balancers");
  });
});

test("keeps a load balancer that the cloud shows for the first time, 15 s after it has shown a machine", async () => {
  const w = await settled({ nodes: 3, services: 1 }, ["nodes", "load-balancers"]);
  world = w;
  w.hideBalancers("web-0");
  w.cloud.faults.add({ kind: "status", operation: "GET /machines", status: 500, calls: 1000 });
  await w.handOver();
  await w.relist(60);
  await w.relist(60);
  expect([w.held("load-balancers"), w.manager.removals.account.doubt]).toEqual([
    ["default/web-0"],
    "unanswered",
  ]);
  w.cloud.faults.clear();
  for (let time = 0; w.manager.removals.account.doubt !== undefined && time < 600; time += 3)
    await w.relist(3);
  await w.pass(15);
  w.showAll();
  await w.relist();
  expect(w.cloudChanges).toEqual([]);
});
