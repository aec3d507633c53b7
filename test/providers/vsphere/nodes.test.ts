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
