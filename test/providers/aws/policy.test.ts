// The IAM policy: what it has, and that a manager needs exactly that.

import { describe, expect, test } from "bun:test";
import { aws } from "../../../providers/aws/index.ts";
import { AwsWorld } from "./aws-world.ts";

const needs = { nodes: true, routes: true, loadBalancers: true, tagging: true, isWriting: true };

interface Policy {
  readonly Statement: readonly { readonly Sid: string; readonly Action: readonly string[] }[];
}
const policyFor = (changes: Partial<typeof needs> = {}) => aws.policy?.({ ...needs, ...changes }) as Policy;
const actionsOf = ({ Statement }: Policy) => new Set(Statement.flatMap(({ Action }) => Action));

test("has a statement for each use, and reads only in observe mode [F82]", () => {
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

/** Nodes that join, with routes, one of which is removed and one that is moved. */
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
  test("initializes Nodes, and creates and removes routes [F82 N11]", async () => {
    const w = await play(actionsOf(policyFor({ loadBalancers: false })));
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
