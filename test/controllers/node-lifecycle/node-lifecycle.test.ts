import { afterEach, describe, expect, test } from "bun:test";
import { milliseconds } from "../../../src/core/brand.ts";
import { NodeControllers, type SetupOptions, uninitialized } from "../../support/node-controllers.ts";
import { machine, outage, ScriptedSource } from "../../support/scripted-source.ts";

let world: NodeControllers | undefined;
afterEach(() => world?.stop());
const setUp = (options: SetupOptions = {}): NodeControllers => {
  world = new NodeControllers({ script: { takes: milliseconds(100), pageSize: 5 }, ...options });
  return world;
};
/** Listings of several pages and lookups by id: absence requires both proofs. */
const both = { takes: milliseconds(100), pageSize: 5, lookups: { id: 100 } };
const names = (count: number) => Array.from({ length: count }, (_, index) => `n${index}`);
const settled = (at: NodeControllers, name: string, status: "True" | "False" | "Unknown" = "False") =>
  at.nodes.add({
    name,
    createdAt: at.clock.now() - 86_400_000,
    spec: { providerID: `fake://${name}` },
    status: { conditions: [{ type: "Ready", status }] },
  });

describe("lifecycle controller with a missing machine", () => {
  test("deletes the Node after two proofs over the confirmation time [F18 F21]", async () => {
    const w = setUp().start("lifecycle");
    settled(w, "n0");
    await w.pass(29);
    expect(w.nodes.names()).toEqual(["n0"]);
    await w.pass(3);
    expect(w.nodes.names()).toEqual([]);
    expect(w.cloud.listings).toBe(2);
    expect(w.reported.map(({ reason, message }) => [reason, message])).toEqual([
      ["DeletingNode", "Deleting node n0 because it does not exist in the cloud provider"],
    ]);
  });

  test("starts the proofs with the first listing that lacks the machine, although the next check is later [F18]", async () => {
    const w = setUp({ script: both, machines: [machine("n0")] }).start("lifecycle");
    settled(w, "n0");
    await w.pass(5);
    w.cloud.machines.delete("n0");
    w.inventory.requestListing(w.clock.monotonic(), "refresh");
    await w.pass(34);
    expect(w.nodes.names()).toEqual([]);
  });

  test("requires a listing and a lookup as proofs if the cloud has both [F21]", async () => {
    const w = setUp({ script: both }).start("lifecycle");
    settled(w, "n0");
    await w.pass(35);
    expect(w.nodes.names()).toEqual([]);
    expect(w.cloud.listings).toBe(1);
    expect(w.cloud.lookupCalls).toEqual(["find id n0"]);
  });

  test.each(["listing", "lookup"] as const)(
    "keeps the Node while only the %s lacks the machine [F21]",
    async (liar) => {
      const w = setUp({ script: both, machines: [machine("n0")] }).start("lifecycle");
      w.cloud.hidden.set("n0", liar);
      settled(w, "n0");
      await w.pass(3600);
      expect(w.nodes.names()).toEqual(["n0"]);
      expect(w.cloud.calls.length).toBeGreaterThan(2);
    },
  );

  test("keeps the Node when the cloud lacks the machine for less than the confirmation time [F21]", async () => {
    const w = setUp({ script: both, machines: [machine("n0")] }).start("lifecycle");
    w.cloud.hidden.set("n0", "both");
    settled(w, "n0");
    await w.pass(29);
    w.cloud.hidden.clear();
    await w.pass(600);
    expect(w.nodes.names()).toEqual(["n0"]);
  });

  test("keeps the Node while it is Ready", async () => {
    const w = setUp().start("lifecycle");
    settled(w, "n0", "True");
    await w.pass(3600);
    expect(w.nodes.names()).toEqual(["n0"]);
    expect(w.cloud.calls).toEqual([]);
  });

  test("keeps a Node that becomes Ready between the last proof and the delete", async () => {
    const w = setUp({ lag: 5000 }).start("lifecycle");
    settled(w, "n0");
    await w.until(() => w.lifecycle.candidates.get("n0")?.evidence?.proofs.length === 1, "the first proof");
    await w.pass(27);
    w.nodes.setReady("n0", "True");
    const before = w.nodes.sent.length;
    await w.pass(60);
    expect(w.nodes.names()).toEqual(["n0"]);
    expect(w.nodes.sent.length).toBeGreaterThan(before);
    expect(w.reasons("n0")).not.toContain("DeletingNodeFailed");
  });

  test("keeps a new Node with the name of a deleted Node", async () => {
    const w = setUp({ lifecycle: { removalLimit: { share: 0, min: 0, max: 0 } } });
    w.start("lifecycle");
    settled(w, "n0");
    await w.pass(90);
    expect(w.reasons("n0")).toEqual(["MassDeletionHeld"]);
    w.cloud.put(machine("n0"));
    w.nodes.change("n0", (node) => ({
      ...node,
      metadata: {
        ...node.metadata,
        uid: "another",
        annotations: { "fairlead.dev/node-deletion": "confirmed" },
      },
    }));
    await w.pass(300);
    expect(w.nodes.node("n0").metadata.uid).toBe("another");
  });

  test("keeps the Node when only lookups by name lacked its machine and the Node has a provider id now", async () => {
    const w = setUp({ lifecycle: { removalLimit: { share: 0, min: 0, max: 0 } } });
    w.start("lifecycle");
    w.nodes.add({
      name: "n0",
      createdAt: w.clock.now() - 86_400_000,
      status: { conditions: [{ type: "Ready", status: "False" }] },
    });
    await w.pass(700);
    expect(w.lifecycle.candidates.get("n0")?.evidence?.proofs.length).toBeGreaterThan(1);
    w.cloud.put(machine("7", { names: ["other"] }));
    w.nodes.change("n0", (node) => ({ ...node, spec: { providerID: "fake://7" } }));
    w.nodes.annotate("n0", { "fairlead.dev/node-deletion": "confirmed" });
    await w.pass(300);
    expect(w.nodes.names()).toEqual(["n0"]);
  });

  test("deletes a Node that existed before the controller started [F18]", async () => {
    const w = setUp();
    settled(w, "n0");
    w.start("lifecycle");
    await w.pass(40);
    expect(w.nodes.names()).toEqual([]);
  });

  test("keeps Nodes that are paused, foreign, or already being deleted [F12]", async () => {
    const w = setUp().start("lifecycle");
    settled(w, "paused");
    w.nodes.annotate("paused", { "fairlead.dev/paused": "true" });
    w.nodes.change("paused", (node) => node);
    settled(w, "foreign");
    w.nodes.change("foreign", (node) => ({ ...node, spec: { providerID: "other://1" } }));
    settled(w, "leaving");
    w.nodes.change("leaving", (node) => ({
      ...node,
      metadata: { ...node.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" },
    }));
    await w.pass(600);
    expect(w.nodes.names()).toEqual(["foreign", "leaving", "paused"]);
    expect(w.nodes.sent).toEqual([]);
    expect(w.reported).toEqual([]);
  });
});

describe("the lifecycle controller", () => {
  test("keeps the Node when the cloud returns 500 [F23]", async () => {
    const w = setUp().start("lifecycle");
    w.cloud.failure = { error: outage() };
    settled(w, "n0");
    await w.pass(3600);
    expect(w.nodes.names()).toEqual(["n0"]);
    expect(w.cloud.listings).toBeGreaterThan(3);
  });

  test("backs off from a failing cloud, regardless of the number of Nodes [F23 N4]", async () => {
    const w = setUp().start("lifecycle", "node");
    w.cloud.failure = { error: outage() };
    for (const name of names(20)) settled(w, name);
    w.nodes.add({ name: "new", spec: { taints: [uninitialized] } });
    await w.pass(600);
    const before = w.cloud.listings;
    await w.pass(3600);
    expect(w.cloud.listings - before).toBeLessThanOrEqual(60);
    w.cloud.failure = undefined;
    w.cloud.put(machine("new"));
    await w.until(() => w.initialized.includes("new"), "the node to be initialized", 600);
  });

  test("queries again when a lookup returned no answer for a machine [F23]", async () => {
    const w = setUp({ script: both }).start("lifecycle");
    w.cloud.unanswered.add("n0");
    settled(w, "n0");
    await w.pass(120);
    expect(w.nodes.names()).toEqual(["n0"]);
    w.cloud.unanswered.clear();
    await w.pass(400);
    expect(w.nodes.names()).toEqual([]);
  });

  test("keeps only the Nodes of the failing source [F73]", async () => {
    const sources = (clock: NodeControllers["clock"]) =>
      [
        new ScriptedSource({ clock, name: "a", scheme: "a://" }),
        new ScriptedSource({ clock, name: "b", scheme: "b://" }),
      ] as const;
    const w = setUp({ sources });
    const [, second] = w.inventory.sources;
    (second?.source as ScriptedSource).failure = { error: outage() };
    w.start("lifecycle");
    for (const name of ["a", "b"]) {
      settled(w, name);
      w.nodes.change(name, (node) => ({ ...node, spec: { providerID: `${name}://1` } }));
    }
    await w.pass(120);
    expect(w.nodes.names()).toEqual(["b"]);
  });

  test.each(["off", "observe"] as const)("deletes no Node with deletion=%s [F20]", async (deletion) => {
    const w = setUp({ lifecycle: { deletion } }).start("lifecycle");
    settled(w, "n0");
    await w.pass(600);
    expect(w.nodes.names()).toEqual(["n0"]);
    expect(w.reasons("n0")).toEqual(deletion === "observe" ? ["DeletionObserved"] : []);
  });

  test("keeps a Node annotated node-deletion=never, and reports the missing machine after the proof [F20]", async () => {
    const w = setUp({ machines: [machine("n1")] }).start("lifecycle");
    for (const name of ["n0", "n1"]) {
      settled(w, name);
      w.nodes.annotate(name, { "fairlead.dev/node-deletion": "never" });
    }
    await w.pass(20);
    expect(w.reported).toEqual([]);
    await w.pass(600);
    expect(w.nodes.names()).toEqual(["n0", "n1"]);
    expect(w.reported.map(({ node, reason }) => [node, reason])).toEqual([["n0", "DeletionForbidden"]]);
  });

  test("deletes other Nodes although three are annotated node-deletion=never [F20 F22]", async () => {
    const w = setUp().start("lifecycle");
    for (const name of names(3)) {
      settled(w, name);
      w.nodes.annotate(name, { "fairlead.dev/node-deletion": "never" });
    }
    await w.pass(120);
    settled(w, "gone");
    await w.pass(60);
    expect(w.nodes.names()).toEqual(["n0", "n1", "n2"]);
  });

  test("keeps a Node without a provider id for ten minutes, and longer if its machine appears [F25]", async () => {
    const w = setUp().start("lifecycle");
    for (const name of ["late", "lost"]) {
      w.nodes.add({ name, status: { conditions: [{ type: "Ready", status: "False" }] } });
    }
    await w.pass(300);
    w.cloud.put(machine("late"));
    await w.pass(298);
    expect(w.nodes.names()).toEqual(["late", "lost"]);
    await w.pass(900);
    expect(w.nodes.names()).toEqual(["late"]);
  });

  test("holds only Nodes without a provider id while the cloud lists a machine without its name [F25]", async () => {
    const w = setUp().start("lifecycle");
    w.cloud.put({ ...machine("other"), names: [], addresses: [], isUndescribed: true });
    w.nodes.add({ name: "lost", status: { conditions: [{ type: "Ready", status: "False" }] } });
    settled(w, "n0");
    await w.pass(3600);
    expect(w.nodes.names()).toEqual(["lost"]);
    expect(w.reasons("lost")).toEqual(["DeletionUnproved"]);
    // Once per minute.
    expect(w.cloud.listings).toBeLessThanOrEqual(61);
    w.cloud.machines.delete("other");
    await w.pass(600);
    expect(w.nodes.names()).toEqual([]);
  });

  test("keeps a joining Node with an id when only a listing from before its join lacks it [F25]", async () => {
    const w = setUp().start("lifecycle");
    w.inventory.requestListing(0, "refresh");
    await w.pass(50);
    w.nodes.add({ name: "n0", spec: { providerID: "fake://n0", taints: [uninitialized] } });
    await w.pass(20);
    w.cloud.put(machine("n0"));
    await w.pass(600);
    expect(w.nodes.names()).toEqual(["n0"]);
  });
});
