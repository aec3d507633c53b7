// The role of vCenter has the privileges of the methods that a manager calls.

import { expect, test } from "bun:test";
import { vsphere } from "../../../providers/vsphere/index.ts";
import { privileges } from "../../../providers/vsphere/policy.ts";
import { VSphereWorld } from "./vsphere-world.ts";

const zones = { "label-zone": "k8s-zone", "label-region": "k8s-region" };
const needs = { nodes: true, routes: true, loadBalancers: true, tagging: true, volumes: true } as const;

test("the policy has exactly the privileges that the operations of a manager need [F82]", async () => {
  const h = new VSphereWorld({ settings: zones });
  // This version has a separate session for tags.
  h.cloud.apiVersion = "8.0.2.0";
  // More machines than a page has.
  for (let index = 0; index < 1300; index += 1) h.cloud.inventory.addMachine(`other-${index}`);
  h.addNode("node-0");
  h.addNode("node-1");
  await h.start();
  await h.world.pass(30);
  // The kubelet cannot read the UUID, so the machine is found by its name.
  h.cloud.inventory.addMachine("late");
  h.joinNode("late", "00000000000000000000000000000000");
  await h.world.until(() => h.uninitialized === 0, "all Nodes", 120);
  h.cloud.inventory.remove("node-1");
  h.setNotReady("node-1");
  await h.world.until(() => h.node("node-1") === undefined, "the deletion", 300);
  await h.world.stop();
  // sessions.test.ts covers shared sessions.
  const sent = [...h.requests, "CloneSession"];
  expect([...new Set(sent)].toSorted()).toEqual(Object.keys(privileges).toSorted());
});

test("the role of vCenter only reads [F82]", () => {
  expect(vsphere.policy?.({ ...needs, isWriting: true })).toMatchObject({
    privileges: ["System.Anonymous", "System.Read", "System.View"],
  });
});
