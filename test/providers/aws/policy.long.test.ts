// The IAM policy: its contents, and that a manager needs exactly these permissions.

import { describe, expect, test } from "bun:test";
import { impliedActions } from "../../../providers/aws/api/actions.ts";
import { aws } from "../../../providers/aws/index.ts";
import { prefix } from "../../../providers/aws/load-balancers/annotations.ts";
import { type VolumeParameters, volumeDriver } from "../../../providers/aws/volumes/volume-driver.ts";
import { seconds } from "../../../src/core/brand.ts";
import type { Call } from "../../../src/provider/call.ts";
import type { ObservedVolume, VolumeDriver, Volumes } from "../../../src/provider/volumes.ts";
import { readParameters } from "../../../src/volumes/csi/volume-requests.ts";
import { labWith } from "./aws-lab.ts";
import { AwsWorld } from "./aws-world.ts";
import { BalancerWorld, draft, network, tcpPort } from "./balancer-world.ts";

const needs = {
  nodes: true,
  routes: true,
  loadBalancers: false,
  tagging: true,
  volumes: false,
  isWriting: true,
};

interface Policy {
  readonly Statement: readonly { readonly Sid: string; readonly Action: readonly string[] }[];
}
const policyFor = (changes: Partial<typeof needs> = {}) => aws.policy?.({ ...needs, ...changes }) as Policy;
const actionsOf = ({ Statement }: Policy) => new Set(Statement.flatMap(({ Action }) => Action));

test("the policy has a statement for each use, and allows only reading in observe mode [F82]", () => {
  expect(policyFor()).toEqual({
    Version: "2012-10-17",
    Statement: [
      {
        Sid: "Nodes",
        Effect: "Allow",
        Action: ["ec2:DescribeAvailabilityZones", "ec2:DescribeInstanceTopology", "ec2:DescribeInstances"],
        Resource: "*",
      },
      {
        Sid: "Routes",
        Effect: "Allow",
        Action: [
          "ec2:CreateRoute",
          "ec2:DeleteRoute",
          "ec2:DescribeInstances",
          "ec2:DescribeRouteTables",
          "ec2:ModifyInstanceAttribute",
        ],
        Resource: "*",
      },
      {
        Sid: "Tagging",
        Effect: "Allow",
        Action: ["ec2:CreateTags", "ec2:DeleteTags"],
        Resource: "*",
      },
    ],
  } as unknown as Policy);
  expect(policyFor({ routes: false, tagging: false }).Statement.map(({ Sid }) => Sid)).toEqual(["Nodes"]);
  expect(
    [...actionsOf(policyFor({ isWriting: false }))].filter((name) => !name.includes(":Describe")),
  ).toEqual([]);
});

/** Nodes that join, with routes of which one is removed and one is moved. */
async function play(allowed: ReadonlySet<string>): Promise<AwsWorld> {
  const w = new AwsWorld();
  w.cloud.allowed = allowed;
  w.joinNode("trainer", { type: "p4d.24xlarge" });
  for (const name of ["a", "b"]) w.joinNode(name);
  await w.start("*,tagging,-service", "--config-set=tags=team=a", "--config-set=resources=instance");
  await w.world.pass(60);
  w.world.removeNode("b");
  await w.world.pass(120);
  return w;
}

const refusedIn = (w: AwsWorld) =>
  new Set(w.cloud.seen.flatMap(({ operation, status }) => (status === 403 ? [operation] : [])));

describe("a manager with exactly the permissions of its policy", () => {
  test("a manager with exactly this policy initializes Nodes, and creates and removes routes [F82 N11]", async () => {
    const w = await play(actionsOf(policyFor()));
    expect(w.uninitialized).toBe(0);
    expect(w.cloud.account.instances.list().map(({ tags }) => tags["team"])).toEqual(["a", "a", undefined]);
    expect(w.routes()).toHaveLength(2);
    expect(w.cloud.account.instances.list().map(({ sourceDestCheck }) => sourceDestCheck)).toEqual([
      false,
      false,
      false,
    ]);
    expect([...refusedIn(w)]).toEqual([]);
  });

  test.each([...actionsOf(policyFor())])("needs %s [F82 N11]", async (action) => {
    const rest = new Set(actionsOf(policyFor()));
    rest.delete(action);
    expect([...refusedIn(await play(rest))]).toEqual([action]);
  });
});

const balancersOnly = (changes: Partial<typeof needs> = {}) =>
  policyFor({ nodes: false, routes: false, tagging: false, loadBalancers: true, ...changes });

test("the policy allows listing instances even for a manager that only tags them [F82]", async () => {
  const w = new AwsWorld();
  w.cloud.allowed = actionsOf(policyFor({ nodes: false, routes: false }));
  w.joinNode("a");
  await w.start("tagging", "--config-set=tags=team=a", "--config-set=resources=instance");
  await w.world.pass(300);
  expect([...refusedIn(w)]).toEqual([]);
  expect(w.cloud.account.instances.list().map(({ tags }) => tags["team"])).toEqual(["a"]);
});

test("the policy has the permissions that Elastic Load Balancing requires of its callers: reading EC2, and the role of no other service [F82]", () => {
  const { Statement } = balancersOnly();
  expect(Statement.map(({ Sid }) => Sid)).toEqual(["Nodes", "LoadBalancers", "ServiceLinkedRole"]);
  expect(Statement[2] as object).toEqual({
    Sid: "ServiceLinkedRole",
    Effect: "Allow",
    Action: ["iam:CreateServiceLinkedRole"],
    Resource: "*",
    Condition: { StringEquals: { "iam:AWSServiceName": "elasticloadbalancing.amazonaws.com" } },
  });
  expect([...actionsOf(balancersOnly())]).toEqual(expect.arrayContaining([...impliedActions]));
  const reading = [...actionsOf(balancersOnly({ isWriting: false }))];
  expect(
    reading.filter((name) => !name.includes(":Describe") || impliedActions.includes(name as never)),
  ).toEqual([]);
  expect(policyFor().Statement.map(({ Sid }) => Sid)).not.toContain("ServiceLinkedRole");
});

test("the policy has exactly the actions that load balancers of both kinds call [F82]", async () => {
  const allowed = actionsOf(balancersOnly());
  const h = new BalancerWorld({ settings: { "nlb-security-group-mode": "Managed" } });
  h.cloud.allowed = allowed;
  const given = h.addGroup("given");
  await h.start();
  const tls = {
    "ssl-cert": "arn:aws:acm:us-west-2:123456789012:certificate/1",
    "ssl-negotiation-policy": "P",
  };
  const subnets = (...numbers: readonly number[]) =>
    numbers.map((index) => h.cloud.account.subnets.list()[index]?.id).join();
  const start = { "proxy-protocol": "*", "connection-idle-timeout": "90", subnets: subnets(0), ...tls };
  h.world.create("web", draft(start, [tcpPort(80), tcpPort(443)]));
  h.world.create(
    "shop",
    draft({ ...network, "target-group-attributes": "proxy_protocol_v2.enabled=true" }, [tcpPort(80, 30_100)]),
  );
  await h.settle();
  const change = (name: string, all: Readonly<Record<string, string>>) =>
    h.world.annotate(
      name,
      Object.fromEntries(Object.entries(all).map(([key, value]) => [prefix + key, value])),
    );
  change("web", { "security-groups": given, subnets: subnets(1), "backend-protocol": "http" });
  change("web", { "additional-resource-tags": "team=a" });
  change("shop", { "security-groups": given, "additional-resource-tags": "team=a", ...tls });
  change("shop", { "cross-zone-load-balancing-enabled": "true", "healthcheck-healthy-threshold": "5" });
  change("shop", { "target-group-attributes": "proxy_protocol_v2.enabled=false" });
  h.world.removeNode("node-0");
  await h.settle(600);
  h.world.edit("shop", (one) => ({ ...one, spec: { ...one.spec, ports: [tcpPort(8080, 30_101)] as never } }));
  await h.settle();
  void h.world.manager.askHealth("default/web");
  await h.settle(5);
  h.world.delete("web");
  h.world.delete("shop");
  await h.settle(300);
  const seen = h.cloud.seen.map(({ operation, status }) => ({ operation, status }));
  expect(seen.filter(({ status }) => status === 403)).toEqual([]);
  const called = new Set(
    seen.map(({ operation }) => operation.replace(/^elb(v2)?:/, "elasticloadbalancing:")),
  );
  const implied = new Set<string>([...impliedActions, "iam:CreateServiceLinkedRole"]);
  // Read repair and the position in the network have separate tests.
  const missing = [...allowed].filter(
    (name) =>
      !called.has(name) && !implied.has(name) && !/^ec2:(CreateTags|DescribeInstanceTopology)$/.test(name),
  );
  expect(missing).toEqual([]);
  expect([h.cloud.account.classic.all(), h.cloud.account.network.all()]).toEqual([[], []]);
});

test("the policy has exactly the actions that the life of a volume calls [F82]", async () => {
  const { Statement } = policyFor({ nodes: false, routes: false, tagging: false, volumes: true });
  const allowed = actionsOf({ Statement: Statement.filter(({ Sid }) => Sid === "Volumes") });
  const { lab, cloud } = labWith();
  const volumes = lab.cloud.volumes as Volumes<VolumeParameters>;
  const instance = cloud.account.add("node-1").id;
  cloud.allowed = allowed;
  const { values } = readParameters({}, volumeDriver as VolumeDriver<VolumeParameters>);
  const wanted = { name: "pvc-1", size: 2 ** 30, topology: undefined, parameters: values, claim: undefined };
  const { id } = await lab.run((call) => volumes.create(wanted, call));
  const get = () => lab.run(async (call) => (await volumes.get(id, call)) as ObservedVolume);
  const pass = () => lab.clock.advance(seconds(5));
  const change = async (work: (volume: ObservedVolume, call: Call) => Promise<unknown>) => {
    await pass();
    const volume = await get();
    await lab.run((call) => work(volume, call));
  };
  await change((volume, call) => volumes.attach(volume, instance, call));
  await change((volume, call) => volumes.expand(volume, 2 ** 31, call));
  await change((volume, call) => volumes.detach(volume, instance, call));
  await change(async (volume, call) => {
    await volumes.snapshots?.create({ name: "snapshot-1", volume }, call);
    for await (const page of volumes.snapshots?.list(call) ?? [])
      for (const snapshot of page) await volumes.snapshots?.remove(snapshot, call);
  });
  await change((volume, call) => volumes.remove(volume, call));
  expect([...new Set(cloud.seen.map(({ operation }) => operation))].toSorted()).toEqual(
    // EC2 requires this action, for the tags of a new volume.
    [...allowed].filter((action) => action !== "ec2:CreateTags").toSorted(),
  );
});
