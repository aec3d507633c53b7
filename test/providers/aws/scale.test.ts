// How many requests AWS's manager sends in common situations.

import { expect, test } from "bun:test";
import { owned } from "./aws-lab.ts";
import { AwsWorld } from "./aws-world.ts";

const nodeControllers = "cloud-node,cloud-node-lifecycle";

test("initializes 65 Nodes with at most two DescribeInstances, and sends no request per Node when idle [F9 F11]", async () => {
  const w = new AwsWorld();
  for (let index = 0; index < 65; index += 1) w.joinNode(`node-${index}`);
  await w.start(nodeControllers);
  await w.world.until(() => w.uninitialized === 0, "all Nodes", 60);
  expect(w.cloud.counts()["ec2:DescribeInstances"]).toBeLessThanOrEqual(2);
  for (const { metadata } of w.nodes()) w.world.setReady(metadata.name, "True");
  await w.world.pass(10);
  w.cloud.forget();
  await w.world.pass(300);
  expect(w.cloud.counts()["ec2:DescribeInstances"]).toBeLessThanOrEqual(2);
});

test("sends no change to AWS after a restart [F58]", async () => {
  const w = new AwsWorld();
  for (let index = 0; index < 5; index += 1) w.joinNode(`node-${index}`);
  await w.start();
  await w.world.until(() => w.routes().length === 5, "the routes", 120);
  expect(w.cloud.counts()).toMatchObject({ "ec2:CreateRoute": 5, "ec2:ModifyInstanceAttribute": 5 });
  await w.world.pass(60);
  await w.world.stop();
  w.cloud.forget();
  w.world.forget();
  await w.start();
  await w.world.pass(120);
  expect([w.cloud.mutations, w.world.written]).toEqual([0, []]);
});

test("deletes the Node of a terminated instance, and removes its blackhole route [F58]", async () => {
  const w = new AwsWorld();
  const first = w.joinNode("node-0");
  await w.start();
  await w.world.until(() => w.routes().length === 1, "the route", 120);
  const podCIDR = w.nodes()[0]?.spec.podCIDR ?? "";
  w.cloud.account.terminate(first);
  w.world.setReady("node-0", "Unknown");
  await w.world.until(() => w.nodes().length === 0, "the deletion of the Node", 600);
  await w.world.until(() => w.routes().length === 0, "the removal of the route", 600);
  expect(podCIDR).toBe("10.244.0.0/24");
});

test("leaves the route of a stopped instance unchanged [F58]", async () => {
  const w = new AwsWorld();
  const first = w.joinNode("node-0");
  await w.start();
  await w.world.until(() => w.routes().length === 1, "the route", 120);
  w.cloud.account.instances.change(first, { state: "stopped" });
  w.world.setReady("node-0", "Unknown");
  w.cloud.forget();
  await w.world.pass(300);
  expect(w.routes()).toEqual([`10.244.0.0/24 ${first}`]);
  expect(w.cloud.mutations).toBe(0);
});

test.each([
  ["loses the tag of the cluster", {}],
  ["has the tag of another cluster only", { "kubernetes.io/cluster/other": "owned" }],
  ["has the tags of two clusters", { ...owned, "kubernetes.io/cluster/other": "owned" }],
])("keeps the Node of an instance that %s, ready or not [F12]", async (_, tags) => {
  const w = new AwsWorld();
  const [first] = [w.joinNode("node-0"), w.joinNode("node-1")];
  await w.start(nodeControllers);
  await w.world.until(() => w.uninitialized === 0, "all Nodes", 60);
  w.cloud.account.instances.change(first, { tags });
  w.world.setReady("node-0", "Unknown");
  w.world.setReady("node-1", "True");
  await w.world.pass(1200);
  expect(w.nodes().map(({ metadata }) => metadata.name)).toEqual(["node-0", "node-1"]);
  w.cloud.account.terminate(first);
  await w.world.until(() => w.nodes().length === 1, "the deletion of its Node", 600);
});
