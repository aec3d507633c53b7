import { afterEach, describe, expect, test } from "bun:test";
import { milliseconds } from "../../../src/core/brand.ts";
import { NodeControllers, type SetupOptions } from "../../support/node-controllers.ts";
import { machine } from "../../support/scripted-source.ts";

// What the node-lifecycle controller keeps and forgets when another leadership session of the same process begins.

let world: NodeControllers | undefined;
afterEach(() => world?.stop());
const script = { takes: milliseconds(100), pageSize: 100 };
const names = (count: number) => Array.from({ length: count }, (_, index) => `n${index}`);

/** Nodes that are not Ready, with running machines. */
function setUp(count: number, options: SetupOptions = {}): NodeControllers {
  const all = names(count);
  const w = new NodeControllers({ script, machines: all.map((name) => machine(name)), ...options });
  world = w;
  for (const name of all) {
    w.nodes.add({
      name,
      createdAt: w.clock.now() - 86_400_000,
      spec: { providerID: `fake://${name}` },
      status: { conditions: [{ type: "Ready", status: "False" }] },
    });
  }
  return w.start("lifecycle");
}

const hide = (w: NodeControllers, count: number): void => {
  for (const name of names(count)) w.cloud.hidden.set(name, "both");
};

describe("the next session of the node-lifecycle controller", () => {
  test("the next session does not repeat the event about a held Node, and holds it for a release", async () => {
    const w = setUp(10);
    await w.pass(30);
    hide(w, 5);
    await w.pass(300);
    expect(w.removals.held("nodes")).toHaveLength(5);
    for (let session = 0; session < 3; session += 1) {
      await w.handOver();
      expect(w.lifecycle.report().problems.size).toBe(5);
      await w.pass(150);
      expect(w.removals.held("nodes")).toHaveLength(5);
    }
    expect(w.reported.map(({ reason }) => reason)).toEqual(names(5).map(() => "MassDeletionHeld"));
    expect(w.nodes.names()).toHaveLength(10);
  });

  test("the next session reports a hold again that ended between the sessions", async () => {
    const w = setUp(10);
    await w.pass(30);
    hide(w, 5);
    await w.pass(300);
    await w.endSession();
    w.cloud.hidden.clear();
    w.start("lifecycle");
    await w.pass(120);
    expect(w.lifecycle.report().problems.size).toBe(0);
    hide(w, 5);
    await w.pass(300);
    expect(w.reasons("n0")).toEqual(["MassDeletionHeld", "MassDeletionHeld"]);
  });

  test("the next session shows no hold of a Node that was deleted in the meantime", async () => {
    const w = setUp(10);
    hide(w, 5);
    await w.pass(300);
    await w.endSession();
    w.nodes.remove("n0");
    w.start("lifecycle");
    expect([...w.lifecycle.report().problems.keys()].toSorted()).toEqual(["n1", "n2", "n3", "n4"]);
  });

  test("the next session has neither evidence nor checks of the last session", async () => {
    const w = setUp(3);
    await w.pass(60);
    expect(w.lifecycle.candidates.size).toBe(3);
    await w.endSession();
    w.start("lifecycle");
    expect(w.lifecycle.candidates.size).toBe(0);
    expect(w.lifecycle.report().evidence.size).toBe(0);
  });

  test("the next session counts deletions of Nodes by another client between two sessions", async () => {
    const w = setUp(10);
    await w.pass(60);
    await w.endSession();
    for (const name of names(3)) w.nodes.remove(name);
    expect(w.removals.count("nodes")).toBe(3);
    w.start("lifecycle");
    for (const name of ["n3", "n4"]) w.cloud.hidden.set(name, "both");
    await w.pass(120);
    expect(w.nodes.names()).toHaveLength(7);
    expect(w.reasons("n3")).toEqual(["MassDeletionHeld"]);
  });

  test("the next session does not count an announced deletion towards the limit if the watch shows it only now", async () => {
    const w = setUp(10, { lag: 5000 });
    await w.pass(10);
    for (const name of names(4)) w.cloud.put(machine(name, { state: "terminating" }));
    w.inventory.requestListing(w.clock.monotonic(), "refresh");
    await w.pass(60);
    for (const name of names(4)) w.cloud.machines.delete(name);
    await w.until(() => w.nodes.names().length === 6, "the deletions", 300);
    expect(w.nodes.store.size).toBe(10);
    await w.handOver();
    await w.pass(10);
    expect([w.nodes.store.size, w.removals.count("nodes")]).toEqual([6, 0]);
  });
});
