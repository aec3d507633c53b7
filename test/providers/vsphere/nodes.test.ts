// What the Node of a virtual machine gets when it joins.

import { expect, test } from "bun:test";
import { swapped } from "../../../providers/vsphere/uuids.ts";
import { VSphereWorld } from "./vsphere-world.ts";

const key = "example.com/team";

test("a Node gets the labels of --node-labels when it joins, and keeps a value that is changed later [F5]", async () => {
  const h = new VSphereWorld();
  h.join("node-0");
  await h.start("--config-set=node-labels=example.com/team=web");
  await h.world.until(() => h.uninitialized === 0, "the Node", 60);
  expect(h.node("node-0")?.metadata.labels).toMatchObject({ [key]: "web" });
  const node = h.node("node-0");
  if (node === undefined) throw new Error("Expected the Node.");
  h.put({ ...node, metadata: { ...node.metadata, labels: { ...node.metadata.labels, [key]: "other" } } });
  await h.world.pass(1200);
  expect(h.node("node-0")?.metadata.labels).toMatchObject({ [key]: "other" });
  await h.world.stop();
});

test("a Node joins on a host that is newer than the listing, in the last of more locations than fit into a page", async () => {
  const h = new VSphereWorld({ settings: { datacenters: "last" } });
  const { inventory } = h.cloud;
  inventory.addDatacenter("large", { hosts: 1300 });
  const { folder, pool, hosts } = inventory.addDatacenter("last");
  h.addNode("node-0", { parent: folder, pool, host: hosts[0] ?? folder });
  await h.start();
  await h.world.pass(30);
  h.forget();
  h.join("joins", { parent: inventory.addFolder("new", folder), pool, host: hosts[0] ?? folder });
  await h.world.until(() => h.node("joins")?.spec.providerID !== undefined, "the Node", 60);
  expect(h.cloud.counts()).toEqual({
    FindAllByUuid: 1,
    RetrievePropertiesEx: 2,
    ContinueRetrievePropertiesEx: 1,
  });
  await h.world.stop();
});

test("a Node never gets the id of another machine with its host name when an older listing lacks its own machine", async () => {
  const h = new VSphereWorld();
  h.addNode("node-0");
  await h.start();
  await h.world.pass(30);
  // A machine of another cluster.
  const other = h.cloud.inventory.addMachine("other", { hostName: "worker" });
  h.join("node-1");
  await h.world.until(() => h.node("node-1")?.spec.providerID !== undefined, "the first Node", 60);
  await h.world.pass(40);
  const own = h.join("worker");
  await h.world.until(() => h.node("worker")?.spec.providerID !== undefined, "the second Node", 60);
  expect(h.node("worker")?.spec.providerID).not.toBe(`vsphere://${other.uuid}`);
  expect(h.node("worker")?.spec.providerID).toBe(`vsphere://${own.uuid}`);
  await h.world.stop();
});

test.each([
  ["one", ["vcenter"], {}],
  [
    "two",
    ["east", "west"],
    { "virtual-centers": '[{"name":"east","server":"east"},{"name":"west","server":"west"}]' },
  ],
])(
  "a Node whose kubelet reports a machine id joins by the host name of %s vCenter",
  async (_, vcenters, settings) => {
    const h = new VSphereWorld({ vcenters, settings });
    h.addNode("node-0");
    await h.start();
    await h.world.pass(30);
    h.forget();
    const machine = h.cloud.inventory.addMachine("node-1");
    h.joinNode("node-1", "42000000000000000000000000000001");
    await h.world.until(() => h.node("node-1")?.spec.providerID !== undefined, "the Node", 30);
    expect(h.node("node-1")?.spec.providerID).toBe(`vsphere://${machine.uuid}`);
    expect(h.requests).toEqual(vcenters.map(() => "RetrievePropertiesEx"));
    await h.world.stop();
  },
);

test("a Node whose UUID no machine has stays uninitialized although another machine has its host name [F13]", async () => {
  const h = new VSphereWorld();
  h.cloud.inventory.addMachine("node-0");
  await h.start();
  h.joinNode("node-0", "42000000-0000-0000-0000-000000000001");
  await h.world.pass(90);
  expect(h.node("node-0")?.spec.providerID).toBeUndefined();
  expect(h.world.events("node-0").join()).toContain(
    "NotFoundInCloud The cloud has no instance with system UUID 42000000-0000-0000-0000-000000000001",
  );
  await h.world.stop();
});

test("Nodes of two vCenters with the same UUIDs stay uninitialized, and the event names both [F13]", async () => {
  const sections = '[{"name":"east","server":"east"},{"name":"west","server":"west"}]';
  const h = new VSphereWorld({ vcenters: ["east", "west"], settings: { "virtual-centers": sections } });
  const [east, west] = [...h.clouds.values()];
  const { uuid } = east?.inventory.addMachine("node-0") ?? {};
  west?.inventory.addMachine("b-0", { uuid });
  await h.start();
  for (const name of ["node-0", "b-0"]) h.joinNode(name, "");
  await h.world.pass(90);
  for (const name of ["node-0", "b-0"]) {
    expect(h.node(name)?.spec.providerID).toBeUndefined();
    expect(h.world.events(name).join()).toMatch(/If (east and west|west and east) list the same instances/);
  }
  await h.world.stop();
});

test("explain shows the UUID of a machine once, as vCenter does [F91]", async () => {
  const h = new VSphereWorld();
  const { uuid = "" } = h.addNode("node-0", { uuid: "42010203-0405-0607-0809-000000000001" });
  await h.start();
  await h.world.pass(30);
  const { out } = await h.run("explain", "node/node-0");
  expect(out.split(uuid)).toHaveLength(2);
  expect(out).not.toContain(swapped(uuid));
  await h.world.stop();
});
