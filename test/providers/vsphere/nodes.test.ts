// What the Node of a virtual machine gets when it joins.

import { expect, test } from "bun:test";
import { VSphereWorld } from "./vsphere-world.ts";

const key = "example.com/team";

test("a Node gets the labels of --node-labels when it joins, and keeps another value that it gets later [F5]", async () => {
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

test("a Node joins on a host that is newer than the listing, in the last of more places than a page has", async () => {
  const h = new VSphereWorld({ settings: { datacenters: "last" } });
  const { inventory } = h.cloud;
  inventory.addDatacenter("large", { hosts: 600 });
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
