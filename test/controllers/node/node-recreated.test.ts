import { afterEach, describe, expect, test } from "bun:test";
import { milliseconds, seconds } from "../../../src/core/brand.ts";
import { joins, NodeControllers, type SetupOptions, uninitialized } from "../../support/node-controllers.ts";
import { machine, ScriptedSource } from "../../support/scripted-source.ts";

// A Node that is deleted and recreated with the same name is a different Node: nothing that was known, counted or reported
// about the first one applies to it.

let world: NodeControllers | undefined;
afterEach(() => world?.stop());
const setUp = (options?: SetupOptions): NodeControllers => {
  world = new NodeControllers(options);
  return world;
};

/** Both changes arrive before a worker runs. */
const recreate = (w: NodeControllers, spec: object = { taints: [uninitialized] }) => {
  w.nodes.remove("n0");
  w.nodes.add({ name: "n0", uid: "uid-second", spec });
};

describe("a Node that is recreated under the same name", () => {
  test("a recreated Node does not get the provider id of the instance for which its predecessor waited", async () => {
    const w = setUp({
      machines: [machine("1", { names: ["n0"] })],
      script: { takes: milliseconds(1000) },
    }).start("node");
    joins(w);
    await w.pass(0.5);
    // The running listing shows only the old instance.
    w.cloud.machines.clear();
    w.cloud.put(machine("2", { names: ["n0"] }));
    recreate(w);
    await w.until(() => w.initialized.length === 1, "the Node to be initialized", 10);
    expect(w.nodes.node("n0").spec.providerID).toBe("fake://2");
  });

  test("does not report a recreated Node as missing because of the answer for which its predecessor waited", async () => {
    const w = setUp({ script: { takes: milliseconds(1000) } }).start("node");
    joins(w);
    await w.pass(0.5);
    w.cloud.put(machine("2", { names: ["n0"] }));
    const { spec, status } = w.nodes.node("n0");
    w.nodes.remove("n0");
    w.nodes.add({ name: "n0", uid: "uid-second", spec, status });
    await w.until(() => w.initialized.length === 1, "the Node to be initialized", 10);
    expect(w.reasons("n0")).toEqual(["Synced"]);
  });

  test("a Node does not get the provider id of a machine that had no Node when the manager started", async () => {
    const w = setUp({ machines: [machine("1", { names: ["n0"] })] }).start("node");
    w.inventory.requestListing(0, "refresh");
    // A machine is not replaced within 20 s.
    await w.pass(21);
    w.cloud.machines.clear();
    w.cloud.put(machine("2", { names: ["n0"] }));
    joins(w);
    await w.until(() => w.initialized.length === 1, "the Node to be initialized", 10);
    expect(w.nodes.node("n0").spec.providerID).toBe("fake://2");
  });

  test("a Node does not get the provider id of a machine whose Node existed only while the watch was interrupted", async () => {
    const w = setUp().start("node");
    w.inventory.requestListing(0, "refresh");
    await w.pass(5);
    w.cloud.put(machine("1", { names: ["n0"] }));
    w.inventory.requestListing(w.clock.monotonic(), "refresh");
    await w.pass(21);
    w.cloud.machines.clear();
    w.cloud.put(machine("2", { names: ["n0"] }));
    w.nodes.listed(() => joins(w));
    await w.until(() => w.initialized.length === 1, "the Node to be initialized", 10);
    expect(w.nodes.node("n0").spec.providerID).toBe("fake://2");
  });

  test("does not delete a recreated Node because of a proof about its predecessor", async () => {
    const w = setUp({ lifecycle: { removalLimit: "off" } }).start("lifecycle");
    w.nodes.add({ name: "n0", spec: { providerID: "fake://1" } });
    w.nodes.setReady("n0", "False");
    await w.pass(20);
    expect(w.lifecycle.candidates.get("n0")?.evidence?.proofs).toHaveLength(1);
    recreate(w, { providerID: "fake://1" });
    w.nodes.setReady("n0", "False");
    const { uid } = w.nodes.node("n0").metadata;
    // The predecessor would be deleted after 30 s.
    await w.pass(25);
    expect(w.nodes.node("n0").metadata.uid).toBe(uid);
    await w.until(() => w.nodes.names().length === 0, "the new Node to be deleted on its own proofs", 60);
  });

  test("a recreated Node gets its own event and its own number of attempts", async () => {
    const w = setUp().start("node");
    joins(w);
    await w.pass(300);
    expect(w.node.report().problems.get("n0")?.[0]?.attempts).toBeGreaterThan(3);
    recreate(w);
    await w.pass(1);
    expect(w.reasons("n0")).toEqual(["NotFoundInCloud", "NotFoundInCloud"]);
    expect(w.node.report().problems.get("n0")?.[0]?.attempts).toBe(1);
    expect(w.nodes.node("n0").status.conditions ?? []).toEqual([]);
  });

  test("a recreated Node waits for an answer of the other region that is newer than itself", async () => {
    const regions: ScriptedSource[] = [];
    const w = setUp({
      sources: (clock) => {
        const east = new ScriptedSource({ clock, name: "east", takes: seconds(1) });
        const west = new ScriptedSource({ clock, name: "west", takes: seconds(1) });
        regions.push(east, west);
        return [east, west];
      },
    }).start("node");
    const [east, west] = regions;
    joins(w);
    await w.pass(1.5);
    expect([east?.listings, west?.listings]).toEqual([1, 1]);
    east?.put(machine("1", { names: ["n0"] }));
    west?.put(machine("2", { names: ["n0"] }));
    recreate(w);
    await w.until(() => w.reasons("n0").includes("AmbiguousMatch"), "both matches to be found");
    expect(w.nodes.node("n0").spec.providerID).toBeUndefined();
  });
});
