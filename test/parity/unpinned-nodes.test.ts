import { afterEach, describe, expect, test } from "bun:test";
import type { Node, NodeAddress } from "../../src/kube/objects.ts";
import { resourceNamed } from "../../src/testing/apiserver/objects/resource-table.ts";
import { toNode } from "../support/api-server-nodes.ts";
import { NodeControllers, uninitialized } from "../support/node-controllers.ts";
import { machine } from "../support/scripted-source.ts";
import { ServiceWorld } from "../support/service-world.ts";
import { H, I, inCloud } from "../support/upstream-nodes.ts";

// Behavior of upstream's two node controllers that none of its tests covers. The full list, including tests in other
// files, is in `unpinned`.

let world: NodeControllers | undefined;
afterEach(() => world?.stop());

describe("node controller on a joining Node", () => {
  test("replaces the kubelet's zone and instance type with the cloud's, in both spellings", async () => {
    const cloud = { zone: "a", region: "r", type: "big" };
    world = new NodeControllers({ machines: [machine("n0", cloud)] }).start("node");
    const kubelet = {
      "topology.kubernetes.io/zone": "wrong",
      "failure-domain.beta.kubernetes.io/region": "wrong",
      "node.kubernetes.io/instance-type": "wrong",
    };
    world.nodes.add({ name: "n0", spec: { taints: [uninitialized] }, labels: { ...kubelet, mine: "stays" } });
    await world.until(() => world?.initialized.length === 1, "the node to be initialized");
    expect(world.nodes.node("n0").metadata.labels).toEqual({
      "topology.kubernetes.io/zone": "a",
      "failure-domain.beta.kubernetes.io/zone": "a",
      "topology.kubernetes.io/region": "r",
      "failure-domain.beta.kubernetes.io/region": "r",
      "node.kubernetes.io/instance-type": "big",
      "beta.kubernetes.io/instance-type": "big",
      mine: "stays",
    });
  });

  test("keeps several hostnames of the kubelet without duplicates, after the cloud's addresses", async () => {
    const present: readonly NodeAddress[] = [H("short"), I("10.9.9.9"), H("short.example")];
    const addresses = inCloud([I("10.0.0.1")]);
    world = new NodeControllers({ machines: [machine("n0", { addresses })] }).start("node");
    world.nodes.add({ name: "n0", spec: { taints: [uninitialized] }, status: { addresses: present } });
    await world.until(() => world?.initialized.length === 1, "the node to be initialized");
    const wanted = [I("10.0.0.1"), H("short"), H("short.example")];
    expect(world.nodes.node("n0").status.addresses).toEqual(wanted);
    world.inventory.requestListing(world.clock.monotonic(), "refresh");
    await world.pass(60);
    expect(world.nodes.node("n0").status.addresses).toEqual(wanted);
    expect(world.nodes.sent).toHaveLength(2);
  });

  test("updates each histogram once, with the Node's age, when the taint is removed [F15]", async () => {
    const w = new ServiceWorld({ nodes: 0 });
    await w.start("--controllers=cloud-node");
    const { id } = w.cloud.machines.add("young");
    const node = toNode({
      name: "young",
      uid: "u",
      createdAt: w.clock.now(),
      spec: { taints: [uninitialized] },
    });
    await w.pass(20);
    w.server.store.put(resourceNamed("nodes"), node as never);
    const stored = () => w.server.store.get("nodes", undefined, "young") as unknown as Node;
    await w.until(() => stored().spec.providerID === `fake://${id}`, "the node to be initialized");
    await w.pass(3600);
    const text = w.manager.metrics.text();
    for (const name of ["cloud_provider_taint_removal", "initial_node_sync"]) {
      const histogram = `node_controller_${name}_delay_seconds`;
      expect(text).toContain(`${histogram}_count 1\n`);
      expect(text).toContain(`${histogram}_bucket{le="16"} 0\n`);
      expect(text).toContain(`${histogram}_bucket{le="64"} 1\n`);
    }
    await w.stop();
  });
});

test("a refresh leaves a Node without its machine unchanged, and sends no event", async () => {
  world = new NodeControllers({ machines: [machine("n0")] }).start("node");
  world.nodes.add({ name: "n0", spec: { providerID: "fake://n0" } });
  world.inventory.requestListing(world.clock.monotonic(), "refresh");
  await world.pass(60);
  const before = world.nodes.node("n0");
  expect(before.status.addresses).toHaveLength(1);
  world.cloud.machines.clear();
  world.inventory.requestListing(world.clock.monotonic(), "refresh");
  await world.pass(3600);
  expect(world.nodes.node("n0")).toEqual(before);
  expect(world.reasons("n0")).toEqual([]);
});

describe("node lifecycle behavior that upstream does not test", () => {
  const gone = (at: NodeControllers) =>
    at.nodes.add({
      name: "n0",
      createdAt: at.clock.now() - 86_400_000,
      spec: { providerID: "fake://n0" },
      status: { conditions: [{ type: "Ready", status: "False" }] },
    });

  test("reports a rejected deletion as a Warning with upstream's message, and a successful deletion as Normal", async () => {
    const w = new NodeControllers().start("lifecycle");
    world = w;
    w.nodes.server.faults.intercept = ({ method }) =>
      method === "DELETE"
        ? Response.json({ kind: "Status", code: 403, reason: "Forbidden", message: "no" }, { status: 403 })
        : undefined;
    gone(w);
    await w.until(() => w.reported.length > 0, "the refusal to be reported", 120);
    expect(w.reported[0]).toMatchObject({ type: "Warning", reason: "DeletingNodeFailed" });
    expect(w.reported[0]?.message).toStartWith("Failed deleting node n0: ");
    w.nodes.server.faults.intercept = undefined;
    await w.until(() => w.nodes.names().length === 0, "the node to go", 3600);
    expect(w.reported.at(-1)).toMatchObject({
      type: "Normal",
      reason: "DeletingNode",
      message: "Deleting node n0 because it does not exist in the cloud provider",
    });
  });

  test("needs a few listings and no write for a hundred Nodes that are not Ready but have machines", async () => {
    const names = Array.from({ length: 100 }, (_, index) => `n${index}`);
    const w = new NodeControllers({ machines: names.map((name) => machine(name)) }).start("lifecycle");
    world = w;
    for (const name of names)
      w.nodes.add({
        name,
        spec: { providerID: `fake://${name}` },
        status: { conditions: [{ type: "Ready", status: "Unknown" }] },
      });
    await w.pass(600);
    expect(w.nodes.sent).toEqual([]);
    expect(w.cloud.calls.length).toBeLessThan(15);
    expect(w.cloud.lookupCalls).toEqual([]);
  });
});
