import { afterEach, describe, expect, test } from "bun:test";
import { milliseconds } from "../../../src/core/brand.ts";
import { joins, NodeControllers, type SetupOptions, uninitialized } from "../../support/node-controllers.ts";
import { machine, outage } from "../../support/scripted-source.ts";

let world: NodeControllers | undefined;
afterEach(() => world?.stop());
const setUp = (options?: SetupOptions): NodeControllers => {
  world = new NodeControllers(options);
  return world;
};

test("a thousand Nodes that join together cost one listing [F9 F11]", async () => {
  const names = Array.from({ length: 1000 }, (_, index) => `n${index}`);
  const w = setUp({ machines: names.map((name) => machine(name)) });
  w.start("node");
  for (const name of names) joins(w, name);
  await w.until(() => w.initialized.length === 1000, "all nodes to be initialized");
  await w.pass(30);
  expect(w.cloud.listings).toBe(1);
  expect(w.nodes.sent).toHaveLength(2000);
  expect(w.nodes.node("n999").spec).toEqual({ providerID: "fake://n999" });
});

test("a joining Node is checked again after short delays while its machine is not visible [F25]", async () => {
  const w = setUp({ script: { takes: milliseconds(100) } });
  w.start("node");
  joins(w, "late");
  await w.pass(4);
  w.cloud.put(machine("late"));
  await w.until(() => w.initialized.includes("late"), "the node to be initialized", 8);
  expect(w.cloud.listings).toBeLessThanOrEqual(5);
});

test("fifty Nodes whose machines never appear cost as many listings as one such Node [F25 N4]", async () => {
  const w = setUp({ script: { takes: milliseconds(100) } });
  w.start("node");
  for (let index = 0; index < 50; index += 1) joins(w, `lost-${index}`);
  await w.pass(600);
  const before = w.cloud.listings;
  await w.pass(3600);
  expect(w.cloud.listings - before).toBeLessThanOrEqual(40);
});

describe("a joining Node", () => {
  test("a joining Node gets its addresses first, then its id and labels in the same write that removes the taint [S4 F1 F3]", async () => {
    const w = setUp({ machines: [machine("n0", { zone: "z", region: "r" })] }).start("node");
    const seen: string[] = [];
    w.nodes.server.onWrite(({ object }) => {
      const { spec, status, labels } = { ...w.nodes.node(object.metadata.name), ...object.metadata };
      seen.push(
        `${spec.taints?.length ?? 0} ${spec.providerID ?? "-"} ${status.addresses?.[0]?.address} ${labels?.["topology.kubernetes.io/zone"] ?? "-"}`,
      );
    });
    joins(w, "n0");
    await w.until(() => w.initialized.length === 1, "the node to be initialized");
    expect(seen).toEqual(["1 - n0 -", "1 - 10.0.0.1 -", "0 fake://n0 10.0.0.1 z"]);
    expect(w.reported.map(({ type, reason, message }) => [type, reason, message])).toEqual([
      ["Normal", "Synced", "Node synced successfully"],
    ]);
    await w.pass(3600);
    expect(w.nodes.sent).toHaveLength(2);
  });

  test("a joining Node keeps its taint when its addresses cannot be written, and is initialized later [S4]", async () => {
    const w = setUp({ machines: [machine("n0")] }).start("node");
    w.nodes.server.faults.intercept = ({ url }) =>
      url.includes("/status") ? new Response("{}", { status: 500 }) : undefined;
    joins(w, "n0");
    await w.pass(30);
    expect(w.nodes.node("n0").spec).toEqual({ taints: [uninitialized] });
    expect(w.reasons("n0")).toContain("KubernetesRefused");
    w.nodes.server.faults.intercept = undefined;
    await w.until(() => w.initialized.length === 1, "the node to be initialized", 600);
    expect(w.nodes.node("n0").spec).toEqual({ providerID: "fake://n0" });
  });

  test("retries a joining Node immediately when another writer changes it, and keeps that writer's taint", async () => {
    const w = setUp({ machines: [machine("n0")], lag: 50 }).start("node");
    const other = { key: "other", effect: "NoExecute" };
    let raced = false;
    w.nodes.server.faults.intercept = ({ method, url }) => {
      if (raced || method !== "PATCH" || url.includes("/status")) return undefined;
      raced = true;
      w.nodes.change("n0", (node) => ({ ...node, spec: { taints: [uninitialized, other] } }));
      return undefined;
    };
    joins(w, "n0");
    await w.until(() => w.initialized.length === 1, "the node to be initialized", 0.5);
    expect(w.nodes.node("n0").spec).toEqual({ providerID: "fake://n0", taints: [other] });
    expect(w.reasons("n0")).toEqual(["Synced"]);
  });

  test("a joining Node keeps its taint until the cloud reports the address that its kubelet requests [S4]", async () => {
    const w = setUp({ machines: [machine("n0", { addresses: [] })] }).start("node");
    joins(w, "n0");
    w.nodes.annotate("n0", { "alpha.kubernetes.io/provided-node-ip": "10.0.0.1" });
    await w.pass(60);
    expect(w.nodes.node("n0").spec).toEqual({ taints: [uninitialized] });
    expect(w.reasons("n0")).toEqual(["NodeIPMismatch"]);
    w.cloud.put(machine("n0"));
    await w.until(() => w.initialized.length === 1, "the node to be initialized", 600);
    expect(w.nodes.node("n0").status.addresses?.[0]).toEqual({ type: "InternalIP", address: "10.0.0.1" });
  });

  test("initializes a joining Node within seconds when the cloud reports its --node-ip a little later", async () => {
    const w = setUp({ machines: [machine("n0", { addresses: [] })] }).start("node");
    joins(w, "n0");
    w.nodes.annotate("n0", { "alpha.kubernetes.io/provided-node-ip": "10.0.0.1" });
    await w.pass(5);
    w.cloud.put(machine("n0"));
    await w.until(() => w.initialized.length === 1, "the node to be initialized", 10);
  });

  test("initializes a joining Node immediately, without another listing, when its --node-ip is corrected", async () => {
    const w = setUp({ machines: [machine("n0")] }).start("node");
    joins(w, "n0");
    w.nodes.annotate("n0", { "alpha.kubernetes.io/provided-node-ip": "10.9.9.9" });
    await w.pass(1);
    expect(w.reasons("n0")).toEqual(["NodeIPMismatch"]);
    w.nodes.annotate("n0", { "alpha.kubernetes.io/provided-node-ip": "10.0.0.1" });
    await w.until(() => w.initialized.length === 1, "the node to be initialized", 1);
    expect(w.cloud.listings).toBe(1);
  });

  test("does not retry a joining Node with an incorrect --node-ip after a listing that shows the same instance", async () => {
    const w = setUp({ machines: [machine("n0")] }).start("node");
    joins(w, "n0");
    w.nodes.annotate("n0", { "alpha.kubernetes.io/provided-node-ip": "10.9.9.9" });
    await w.pass(400);
    const attempts = () => w.node.report().problems.get("n0")?.[0]?.attempts ?? 0;
    const before = attempts();
    for (let count = 0; count < 15; count += 1) {
      w.inventory.requestListing(w.clock.monotonic(), "refresh");
      await w.pass(20);
    }
    expect(attempts() - before).toBeLessThanOrEqual(3);
    w.cloud.put(machine("n0", { addresses: [{ kind: "InternalIP", value: "10.9.9.9" }] }));
    w.inventory.requestListing(w.clock.monotonic(), "refresh");
    await w.until(() => w.initialized.length === 1, "the node to be initialized", 5);
  });

  test("joining Nodes with an invalid --node-ip cost few listings, regardless of their number [N4]", async () => {
    const names = Array.from({ length: 50 }, (_, index) => `n${index}`);
    const w = setUp({ machines: names.map((name) => machine(name)) }).start("node");
    for (const name of names) {
      joins(w, name);
      w.nodes.annotate(name, { "alpha.kubernetes.io/provided-node-ip": "10.9.9.9" });
    }
    await w.pass(600);
    const before = w.cloud.listings;
    await w.pass(3600);
    expect(w.cloud.listings - before).toBeLessThanOrEqual(40);
  });

  test("a joining Node keeps the provider id that the kubelet set [S4]", async () => {
    const w = setUp({ machines: [machine("7", { names: ["n0"] })] }).start("node");
    joins(w, "n0", "fake://7");
    await w.pass(5);
    expect(w.nodes.node("n0").spec).toEqual({ providerID: "fake://7" });
  });

  test("a joining Node gets one event and a condition with the reason for waiting, which is removed at its initialization [F14 N8]", async () => {
    const w = setUp().start("node");
    joins(w, "n0");
    await w.pass(300);
    const conditions = () => w.nodes.node("n0").status.conditions ?? [];
    expect(conditions()).toMatchObject([{ type: "CloudReady", status: "False", reason: "NotFoundInCloud" }]);
    expect(w.reasons("n0")).toEqual(["NotFoundInCloud"]);
    expect(w.nodes.sent).toHaveLength(1);
    w.cloud.put(machine("n0"));
    await w.until(() => w.initialized.length === 1, "the node to be initialized", 600);
    await w.pass(1);
    expect(conditions()).toEqual([]);
  });

  test("a joining Node gets a long explanation with one write, even after many retries [F14]", async () => {
    const long = "x".repeat(100);
    const addresses = Array.from({ length: 20 }, (_, index) => ({
      kind: "InternalIP" as const,
      value: `10.0.0.${index}`,
    }));
    const node = {
      addresses: { families: ["IPv6" as const], include: [], exclude: [], networks: [], order: [] },
    };
    const w = setUp({ machines: [machine(long, { addresses })], node }).start("node");
    joins(w, long);
    await w.pass(3600);
    expect(w.nodes.sent).toHaveLength(1);
    expect(w.reasons(long)).toEqual(["NoAddressLeft"]);
    expect(w.nodes.node(long).spec.taints).toEqual([uninitialized]);
  });

  test("a joining Node gets an event with the candidates when several machines have its name [F13]", async () => {
    const twins = ["1", "2"].map((key) => machine(key, { names: ["n0"] }));
    const w = setUp({ machines: twins }).start("node");
    joins(w, "n0");
    await w.pass(60);
    expect(w.nodes.node("n0").spec.taints).toEqual([uninitialized]);
    expect(w.reported[0]).toMatchObject({ type: "Warning", reason: "AmbiguousMatch" });
    expect(w.reported[0]?.message).toContain("fake://1 (n0), fake://2 (n0)");
  });

  test("a joining Node gets an event and keeps its taint while the cloud fails [F14 F23]", async () => {
    const w = setUp().start("node");
    w.cloud.failure = { error: outage() };
    joins(w, "n0");
    await w.pass(60);
    expect(w.reasons("n0")).toEqual(["CloudUnavailable"]);
    expect(w.nodes.node("n0").spec.taints).toEqual([uninitialized]);
  });

  test("initializes a joining Node that existed before the controller started", async () => {
    const w = setUp({ machines: [machine("n0")] });
    joins(w, "n0");
    w.start("node");
    await w.until(() => w.initialized.length === 1, "the node to be initialized", 5);
  });
});
