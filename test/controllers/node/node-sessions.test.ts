import { afterEach, describe, expect, test } from "bun:test";
import { milliseconds } from "../../../src/core/brand.ts";
import { joins, NodeControllers, type SetupOptions, uninitialized } from "../../support/node-controllers.ts";
import { machine } from "../../support/scripted-source.ts";

// What the node controller keeps and forgets when another leadership session of the same process begins.

let world: NodeControllers | undefined;
afterEach(() => world?.stop());
const setUp = (options?: SetupOptions): NodeControllers => {
  world = new NodeControllers(options);
  return world;
};

const attemptsOf = (w: NodeControllers) => w.node.report().problems.get("n0")?.[0]?.attempts;

describe("the next session of the node controller", () => {
  test("the next session does not repeat an event about a lasting problem, and restarts its backoff", async () => {
    const w = setUp().start("node");
    joins(w);
    await w.pass(600);
    const { conditions } = w.nodes.node("n0").status;
    expect([attemptsOf(w), conditions?.[0]?.type]).toEqual([expect.any(Number), "CloudReady"]);
    expect(attemptsOf(w)).toBeGreaterThan(5);
    const written = w.nodes.sent.length;
    await w.handOver();
    await w.pass(1);
    expect(attemptsOf(w)).toBe(1);
    await w.pass(600);
    expect(w.reasons("n0")).toEqual(["NotFoundInCloud"]);
    expect(w.nodes.sent).toHaveLength(written);
    expect(w.nodes.node("n0").status.conditions).toEqual(conditions);
  });

  test("the next session writes no condition because of attempts in the last session", async () => {
    const w = setUp({ node: { failuresBeforeCondition: 5 } }).start("node");
    joins(w);
    await w.until(() => attemptsOf(w) === 4, "four attempts", 120);
    await w.handOver();
    await w.pass(1);
    expect([attemptsOf(w), w.nodes.sent]).toEqual([1, []]);
  });

  test("the next session shows reported problems until the Node is reconciled, but no problem of a deleted Node", async () => {
    const w = setUp().start("node");
    joins(w);
    joins(w, "n1");
    await w.pass(60);
    await w.endSession();
    w.nodes.remove("n1");
    w.start("node");
    expect([...w.node.report().problems.keys()]).toEqual(["n0"]);
  });

  test("the next session does not give a Node the provider id of a machine whose Node was deleted in the last session", async () => {
    const w = setUp({ machines: [machine("1", { names: ["n0"] })] }).start("node");
    joins(w);
    await w.until(() => w.initialized.length === 1, "the first Node", 10);
    w.inventory.requestListing(w.clock.monotonic(), "refresh");
    await w.pass(5);
    w.nodes.remove("n0");
    await w.endSession();
    w.cloud.machines.clear();
    w.cloud.put(machine("2", { names: ["n0"] }));
    w.nodes.add({ name: "n0", uid: "uid-second", spec: { taints: [uninitialized] } });
    w.start("node");
    await w.until(() => w.initialized.length === 2, "the second Node", 10);
    expect(w.nodes.node("n0").spec.providerID).toBe("fake://2");
  });

  test("the next session repeats a lookup that the end of the last session interrupted", async () => {
    const w = setUp({ script: { takes: milliseconds(1000) } }).start("node");
    joins(w);
    await w.pass(0.5);
    await w.endSession();
    await w.pass(60);
    w.cloud.put(machine("n0"));
    w.start("node");
    await w.until(() => w.initialized.length === 1, "the Node to be initialized", 10);
  });

  test("the next session sends no request and no write about settled Nodes", async () => {
    const names = ["n0", "n1", "n2"];
    const w = setUp({ machines: names.map((name) => machine(name)) }).start("node", "lifecycle");
    for (const name of names) joins(w, name);
    await w.until(() => w.initialized.length === 3, "all Nodes", 10);
    for (const name of names) w.nodes.setReady(name, "True");
    await w.pass(60);
    const [calls, writes, events] = [w.cloud.calls.length, w.nodes.sent.length, w.reported.length];
    await w.handOver();
    await w.pass(60);
    expect([w.cloud.calls.length, w.nodes.sent.length, w.reported.length]).toEqual([calls, writes, events]);
  });

  test("the next session ends all subscriptions of the last session", async () => {
    const w = setUp({ machines: [machine("n0")] });
    let open = 0;
    const counted = (subscribe: (listener: never) => () => void) => (listener: never) => {
      const stop = subscribe(listener);
      open += 1;
      return () => {
        open -= 1;
        stop();
      };
    };
    const { store } = w.nodes;
    Object.assign(store, { subscribe: counted(store.subscribe.bind(store)) });
    Object.assign(w.removals, { subscribe: counted(w.removals.subscribe.bind(w.removals)) });
    Object.assign(w.inventory, {
      subscribe: counted(w.inventory.subscribe.bind(w.inventory)),
      subscribeToPages: counted(w.inventory.subscribeToPages.bind(w.inventory)),
    });
    w.start("node", "lifecycle");
    joins(w);
    await w.pass(30);
    const inFirst = open;
    expect(inFirst).toBeGreaterThan(4);
    await w.handOver();
    await w.pass(30);
    expect(open).toBe(inFirst);
    await w.endSession();
    expect(open).toBe(0);
  });
});
