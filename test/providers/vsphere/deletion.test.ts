// When the Node of a machine is deleted, and what must never delete a Node: lost permissions, an
// empty vCenter, moves, clones and outages.

import { afterEach, describe, expect, test } from "bun:test";
import type { VSphereCloud } from "../../../providers/vsphere/simulator/index.ts";
import { swapped } from "../../../providers/vsphere/uuids.ts";
import { toNode } from "../../support/api-server-nodes.ts";
import { VSphereWorld, type VSphereWorldOptions } from "./vsphere-world.ts";

let current: VSphereWorld | undefined;
afterEach(async () => {
  if (current?.world.isRunning) await current.world.stop();
});

/** A running manager of initialized Nodes, each with its machine. */
async function running(count = 10, options: VSphereWorldOptions = {}) {
  const h = new VSphereWorld(options);
  current = h;
  for (let index = 0; index < count; index += 1) h.addNode(`node-${index}`);
  await h.start();
  await h.world.pass(30);
  return h;
}

const names = (h: VSphereWorld) => h.nodes().map(({ metadata }) => metadata.name);

/** Half an hour is much longer than all proofs take. */
async function staysAfter(h: VSphereWorld, name: string): Promise<boolean> {
  h.setNotReady(name);
  await h.world.pass(1800);
  return names(h).includes(name);
}

test("after two proofs and not before, deletes a Node whose machine was removed [F21]", async () => {
  const h = await running();
  h.cloud.inventory.remove("node-3");
  h.setNotReady("node-3");
  await h.world.pass(20);
  expect(names(h)).toContain("node-3");
  await h.world.pass(60);
  expect(names(h)).not.toContain("node-3");
  expect(names(h)).toHaveLength(9);
});

test("keeps a Node whose machine is switched off, with its addresses and the shutdown taint [F25]", async () => {
  const h = await running();
  const { addresses } = h.node("node-3")?.status ?? {};
  expect(addresses?.length).toBeGreaterThan(1);
  h.cloud.inventory.powerOff("node-3");
  expect(await staysAfter(h, "node-3")).toBe(true);
  expect(h.node("node-3")?.spec.taints?.map(({ key }) => key)).toContain(
    "node.cloudprovider.kubernetes.io/shutdown",
  );
  expect(h.node("node-3")?.status.addresses).toEqual(addresses);
});

test("deletes none of 200 Nodes when vCenter restarts with an empty inventory, and explain states the reason [F22 F23]", async () => {
  const h = await running(200);
  const { inventory } = h.cloud;
  for (const { name } of inventory.machines()) inventory.remove(name);
  h.cloud.restart();
  for (const name of names(h)) h.setNotReady(name);
  await h.world.pass(3600);
  expect(names(h)).toHaveLength(200);
  const { out } = await h.run("explain", "node/node-3");
  expect(out).toContain("The cloud shows no instance for 200 of 200 Nodes");
});

describe("a Node that is not Ready stays", () => {
  test.each<readonly [string, (cloud: VSphereCloud) => void]>([
    [
      "while the user may not see its machine [F23]",
      ({ inventory }) => inventory.hidden.add(inventory.existing("node-3").ref.value),
    ],
    [
      "while the user may not see its datacenter",
      ({ inventory }) => inventory.hidden.add(inventory.datacenters[0]?.ref.value ?? ""),
    ],
    [
      "while its machine is inaccessible, and has no UUID",
      ({ inventory }) => inventory.change("node-3", { connection: "inaccessible", uuid: undefined }),
    ],
    [
      "while its machine is orphaned",
      ({ inventory }) => inventory.change("node-3", { connection: "orphaned" }),
    ],
    [
      "when its machine is moved to another folder and host",
      ({ inventory }) => {
        const { folder, hosts } = inventory.addDatacenter("DC-2");
        inventory.change("node-3", { parent: inventory.addFolder("k8s", folder), host: hosts[0] ?? folder });
      },
    ],
    [
      "when its datacenter is renamed",
      ({ inventory }) =>
        inventory.renamePlace(inventory.datacenters[0]?.ref ?? { type: "", value: "" }, "new"),
    ],
    [
      "when its machine is registered again, with another reference",
      ({ inventory }) => {
        const { ref: _, ...machine } = inventory.existing("node-3");
        inventory.remove("node-3");
        inventory.addMachine("node-3", machine);
      },
    ],
    [
      "when its machine becomes a template",
      ({ inventory }) => inventory.change("node-3", { isTemplate: true }),
    ],
    [
      "when another machine runs with the same UUID",
      ({ inventory }) => void inventory.addMachine("clone", { uuid: inventory.existing("node-3").uuid }),
    ],
    [
      "while listings do not show its machine, and lookups do",
      ({ faults }) => faults.hide({ resource: "node-3", from: "listings", milliseconds: 1e9 }),
    ],
    [
      "while lookups do not show its machine, and listings do",
      ({ faults }) => faults.hide({ resource: "node-3", from: "lookups", milliseconds: 1e9 }),
    ],
    ["while vCenter answers 503", ({ faults }) => faults.add({ kind: "status", status: 503, calls: 1e9 })],
    [
      "while every session ends at once",
      ({ faults }) =>
        faults.add({
          kind: "status",
          code: "NotAuthenticated",
          operation: "RetrievePropertiesEx",
          calls: 1e9,
        }),
    ],
  ])("%s", async (_, change) => {
    const h = await running();
    change(h.cloud);
    expect(await staysAfter(h, "node-3")).toBe(true);
  });

  test("keeps a Node that is not Ready while SKIP_NODE_DELETION is set, even to false", async () => {
    const h = await running(10, { environment: { SKIP_NODE_DELETION: "false" } });
    h.cloud.inventory.remove("node-3");
    expect(await staysAfter(h, "node-3")).toBe(true);
  });

  test("keeps a Node that is not Ready while the configured datacenter does not exist, and an event reports this", async () => {
    const h = await running(10, { settings: { datacenters: "DC-vcenter" } });
    h.cloud.inventory.renamePlace(h.cloud.inventory.datacenters[0]?.ref ?? { type: "", value: "" }, "new");
    expect(await staysAfter(h, "node-3")).toBe(true);
    const { out } = await h.run("explain", "node/node-3");
    expect(out).toContain('shows no datacenter "DC-vcenter"');
  });

  test("keeps a Node that is not Ready while its machine is in a datacenter that the settings do not name", async () => {
    const h = await running(10, { settings: { datacenters: "DC-vcenter" } });
    const { inventory } = h.cloud;
    inventory.change("node-3", { parent: inventory.addDatacenter("other").folder });
    expect(await staysAfter(h, "node-3")).toBe(true);
  });

  test("keeps a Node that is not Ready while the user may not see its machine, even if a copy with the same UUID was removed", async () => {
    const h = await running();
    const { inventory } = h.cloud;
    inventory.addMachine("copy", { uuid: inventory.existing("node-3").uuid, power: "poweredOff" });
    await h.world.pass(1200);
    inventory.hidden.add(inventory.existing("node-3").ref.value);
    inventory.remove("copy");
    expect(await staysAfter(h, "node-3")).toBe(true);
  });

  test("keeps a Node that is not Ready if its provider id belongs to another program [F110]", async () => {
    const h = await running();
    for (const id of ["k3s://node-x", "rke2://node-x", "vsphere://not-a-uuid"])
      h.put(toNode({ name: "foreign", uid: "uid-foreign", spec: { providerID: id } }));
    expect(await staysAfter(h, "foreign")).toBe(true);
  });

  test("keeps a Node that is not Ready if its provider id has the UUID in the kernel's order", async () => {
    const h = await running();
    const machine = h.cloud.inventory.addMachine("other-order");
    const spec = { providerID: `vsphere://${swapped(machine.uuid ?? "").toUpperCase()}` };
    h.put(toNode({ name: "other-order", uid: "uid-o", spec }));
    expect(await staysAfter(h, "other-order")).toBe(true);
    h.cloud.inventory.remove("other-order");
    await h.world.pass(1800);
    expect(names(h)).not.toContain("other-order");
  });
});

describe("a restart with fewer permissions", () => {
  /** The user loses sight of two of 20 machines, fewer than the limit, while no manager runs. */
  async function restarted() {
    const h = await running(20);
    await h.world.stop();
    for (const name of ["node-3", "node-4"])
      h.cloud.inventory.hidden.add(h.cloud.inventory.existing(name).ref.value);
    await h.start();
    await h.world.pass(60);
    return h;
  }

  test("deletes no Node while one of the hidden machines has a Ready Node, and explain states the reason [F23]", async () => {
    const h = await restarted();
    expect(await staysAfter(h, "node-3")).toBe(true);
    // A Node whose machine is gone stays as well: the inventory does not show which one is gone.
    h.cloud.inventory.remove("node-5");
    expect(await staysAfter(h, "node-5")).toBe(true);
    const { out } = await h.run("explain", "node/node-3");
    expect(out.replaceAll(/\s+/g, " ")).toContain(
      "MassDeletionHeld, from cloud-node-lifecycle-controller The cloud shows no instance for 2 of 20 Nodes. The machine of node-4 is missing although the Node is Ready",
    );
  });

  test("continues deletions when the permissions are restored", async () => {
    const h = await restarted();
    h.cloud.inventory.remove("node-5");
    expect(await staysAfter(h, "node-5")).toBe(true);
    h.cloud.inventory.hidden.clear();
    await h.world.pass(900);
    expect(names(h)).not.toContain("node-5");
    expect(names(h)).toHaveLength(19);
  });

  test("a Ready Node no longer holds the deletion of other Nodes when its operator excludes it", async () => {
    const h = await restarted();
    h.cloud.inventory.remove("node-5");
    expect(await staysAfter(h, "node-5")).toBe(true);
    for (const name of ["node-3", "node-4"]) {
      const node = h.node(name);
      if (node === undefined) throw new Error(`There is no Node ${name}.`);
      const annotations = { "fairlead.dev/node-deletion": "never" };
      h.put({ ...node, metadata: { ...node.metadata, annotations } });
    }
    await h.world.pass(900);
    expect(names(h)).not.toContain("node-5");
    expect(names(h)).toHaveLength(19);
  });
});

describe("two vCenters", () => {
  const sections = JSON.stringify([
    { name: "east", server: "east" },
    { name: "west", server: "west" },
  ]);
  const two = { vcenters: ["east", "west"], settings: { "virtual-centers": sections } };

  /** Ten Nodes in the first vCenter, and ten in the second. */
  async function inBoth() {
    const h = new VSphereWorld(two);
    current = h;
    const west = h.clouds.get("west");
    if (west === undefined) throw new Error("Expected a second vCenter.");
    for (let index = 0; index < 10; index += 1) {
      h.addNode(`east-${index}`);
      h.addNode(`west-${index}`, {}, west);
    }
    await h.start();
    await h.world.pass(30);
    return { h, west };
  }

  test("an outage of one vCenter for an hour does not affect the Nodes of both, even if a machine was removed [F23]", async () => {
    const { h, west } = await inBoth();
    west.faults.add({ kind: "refused", calls: 1e9 });
    h.cloud.inventory.remove("east-3");
    west.inventory.remove("west-3");
    h.setNotReady("east-3");
    h.setNotReady("west-3");
    h.cloud.inventory.powerOff("east-4");
    h.setNotReady("east-4");
    await h.world.pass(3600);
    // A machine with this UUID may have been moved to the vCenter that does not answer.
    expect(names(h)).toHaveLength(20);
    expect(h.node("east-4")?.spec.taints).toHaveLength(1);
    west.faults.clear();
    await h.world.pass(900);
    expect(names(h)).not.toContain("east-3");
    expect(names(h)).not.toContain("west-3");
    expect(names(h)).toHaveLength(18);
  });

  test("a machine that is moved from one vCenter to the other is not gone", async () => {
    const { h, west } = await inBoth();
    const {
      ref: _,
      host: _host,
      pool: _pool,
      parent: _parent,
      ...machine
    } = h.cloud.inventory.existing("east-3");
    h.cloud.inventory.remove("east-3");
    west.inventory.addMachine("east-3", machine);
    expect(await staysAfter(h, "east-3")).toBe(true);
  });

  test("a Node with a machine of the second vCenter waits while the first does not answer", async () => {
    const { h, west } = await inBoth();
    h.cloud.faults.add({ kind: "refused", calls: 1e9 });
    h.join("joins", {}, west);
    await h.world.pass(300);
    expect(h.node("joins")?.spec.providerID).toBeUndefined();
    expect(h.world.logged.join("\n")).toMatch(/east/);
    h.cloud.faults.clear();
    await h.world.until(() => h.node("joins")?.spec.providerID !== undefined, "the Node", 120);
  });
});
