// The tagging controller with the tags of AWS: which instances get tags, in how many requests, and what their Nodes show.

import { expect, test } from "bun:test";
import { minutes } from "../../../src/core/brand.ts";
import { AwsWorld } from "./aws-world.ts";

const label = "k8s.io/cloud-provider-aws";
/** The checksum of the Go manager: the md5 of "team=a". */
const checksum = new Bun.CryptoHasher("md5").update("team=a").digest("hex");
const controllers = "cloud-node,cloud-node-lifecycle,tagging";
const flags = ["--config-set=tags=team=a", "--config-set=resources=instance"];

const labelled = (w: AwsWorld, value = checksum) =>
  w.nodes().filter(({ metadata }) => metadata.labels?.[label] === value).length;
const tagged = (w: AwsWorld) =>
  w.cloud.account.instances.list().filter(({ tags }) => tags["team"] === "a").length;
const count = (w: AwsWorld, action: string) => w.cloud.counts()[`ec2:${action}`] ?? 0;

async function started(nodes: number, ...more: readonly string[]): Promise<AwsWorld> {
  const w = new AwsWorld();
  for (let index = 0; index < nodes; index += 1) w.joinNode(`node-${index}`);
  await w.start(controllers, ...flags, ...more);
  await w.world.until(() => labelled(w) === nodes, "the labels", 300);
  return w;
}

test("tags the instances of 65 Nodes with at most two requests, and marks the Nodes as the Go manager does [F17]", async () => {
  const w = await started(65);
  expect(tagged(w)).toBe(65);
  expect(count(w, "CreateTags")).toBeLessThanOrEqual(2);
  await w.world.stop();
  w.cloud.forget();
  await w.start(controllers, ...flags);
  await w.world.pass(120);
  expect(w.cloud.mutations).toBe(0);
});

test("removes the tags from an instance when its Node is deleted, but keeps tags with other values [F17]", async () => {
  const w = await started(3);
  const { instances } = w.cloud.account;
  instances.change("node-1", { tags: { ...instances.existing("node-1").tags, team: "b" } });
  w.world.removeNode("node-0");
  w.world.removeNode("node-1");
  await w.world.until(() => instances.existing("node-0").tags["team"] === undefined, "the removal", 120);
  expect(["node-0", "node-1", "node-2"].map((name) => instances.existing(name).tags["team"])).toEqual([
    ...[undefined, "b", "a"],
  ]);
  expect(count(w, "DeleteTags")).toBe(1);
});

test("tags the instances of Nodes again when the tags change [F17]", async () => {
  const w = await started(2);
  await w.world.stop();
  await w.start(controllers, "--config-set=tags=team=c", "--config-set=resources=instance");
  const { instances } = w.cloud.account;
  await w.world.until(() => instances.list().every(({ tags }) => tags["team"] === "c"), "the new tags", 120);
});

test("tags all known instances when EC2 does not know one instance yet, and tags that instance later [F17]", async () => {
  const w = await started(4);
  await w.world.stop();
  const { instances } = w.cloud.account;
  w.cloud.untaggable.add(instances.existing("node-2").id);
  await w.start(controllers, "--config-set=tags=team=c", "--config-set=resources=instance");
  const has = (name: string) => instances.existing(name).tags["team"] === "c";
  await w.world.until(() => ["node-0", "node-1", "node-3"].every(has), "the others", 120);
  expect(has("node-2")).toBe(false);
  w.cloud.untaggable.clear();
  await w.world.until(() => has("node-2"), "the last one", 300);
});

test("neither tags nor marks a Fargate Node or a paused Node, and changes nothing in observe mode [F17]", async () => {
  const w = await started(1);
  w.world.changeNode("node-0", (node) => ({
    ...node,
    metadata: { ...node.metadata, annotations: { "fairlead.dev/paused": "true" }, labels: {} },
  }));
  await w.world.pass(60);
  expect(labelled(w)).toBe(0);
  await w.world.stop();
  w.world.changeNode("node-0", (node) => ({
    ...node,
    spec: { ...node.spec, providerID: "aws:///us-west-2a/fargate-ip-10-0-0-1" },
    metadata: { ...node.metadata, annotations: {} },
  }));
  w.joinNode("node-1");
  w.cloud.forget();
  await w.start(controllers, ...flags, "--mode=observe");
  await w.world.pass(120);
  expect(w.cloud.mutations).toBe(0);
});

test("reports why it cannot tag an instance, and continues when the cause is corrected [F17]", async () => {
  const w = new AwsWorld();
  w.joinNode("node-0");
  w.cloud.allowed = new Set(["ec2:DescribeInstances", "ec2:DescribeAvailabilityZones"]);
  await w.start(controllers, ...flags);
  await w.world.until(
    () => w.world.logged.join("").includes("The tags of machines are not complete"),
    "the log",
    120,
  );
  expect(w.world.logged.join("")).toContain("The cloud refused CreateTags");
  expect(labelled(w)).toBe(0);
  w.cloud.allowed = undefined;
  await w.world.until(() => labelled(w) === 1, "the label", minutes(20) / 1000);
});

test("reports that the tagging controller does not run without tags", async () => {
  const w = new AwsWorld();
  w.joinNode("node-0");
  await w.start(controllers);
  await w.world.until(() => w.uninitialized === 0, "the Node", 120);
  expect(w.world.logged.join("")).toContain("The controller tagging does not run");
});
