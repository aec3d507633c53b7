// Credentials: the order of the chain, temporary keys, and assumed roles.

import { expect, test } from "bun:test";
import { failureOf } from "#ccm/testing";
import { minutes } from "../../../src/core/brand.ts";
import { messageOf } from "../../../src/core/error-message.ts";
import { instancesOf, type LabOptions, labWith, owned } from "./aws-lab.ts";

const none = { "access-key-id": undefined, "secret-access-key": undefined };
const role = "arn:aws:iam::123456789012:role/ccm";
const home = { home: "/home/ccm" };
const shared = {
  "/home/ccm/.aws/credentials": `
[default]
aws_access_key_id = AKIDDEFAULT
aws_secret_access_key = default-secret # a comment

[deploy]
aws_access_key_id=AKIDDEPLOY
aws_secret_access_key=deploy-secret
`,
  "/home/ccm/.aws/config": `
[default]
region = eu-west-1
[profile deploy]
region = us-west-2
s3 =
  aws_access_key_id = no
[profile admin]
role_arn = ${role}
source_profile = deploy
region = us-west-2
[profile login]
sso_session = corp
`,
};

/** The ids of the keys with which EC2 was called. */
async function keysUsed(options: LabOptions): Promise<readonly string[]> {
  const { lab } = labWith(options, (cloud) => {
    cloud.keys.set("AKIDDEFAULT", { secret: "default-secret" });
    cloud.keys.set("AKIDDEPLOY", { secret: "deploy-secret" });
    cloud.account.add("node-1", { tags: owned });
  });
  await instancesOf(lab);
  const used = lab.requests.flatMap(({ operation, headers }) =>
    operation === "DescribeInstances"
      ? (/Credential=(\w+)[\w-]*\/\d+\/([\w-]+)/
          .exec(headers?.["authorization"] ?? "")
          ?.slice(1, 3)
          .join(" ") ?? [])
      : [],
  );
  return used;
}

test("uses the profile of the settings, then the access key, then the default profile [F77 F81]", async () => {
  const files = { files: shared };
  expect(await keysUsed({ ...files, settings: { ...home, profile: "deploy" } })).toEqual([
    "AKIDDEPLOY us-west-2",
  ]);
  expect(await keysUsed({ ...files, settings: home })).toEqual(["AKIDEXAMPLE us-west-2"]);
  expect(await keysUsed({ ...files, settings: { ...home, ...none } })).toEqual(["AKIDDEFAULT us-west-2"]);
  expect(await keysUsed({ ...files, settings: { ...home, ...none, region: undefined } })).toEqual([
    "AKIDDEFAULT eu-west-1",
  ]);
});

test("assumes the role of a profile with the keys of its source profile [F81]", async () => {
  const { lab, cloud } = labWith({ files: shared, settings: { ...home, profile: "admin" } }, (simulated) => {
    simulated.keys.set("AKIDDEPLOY", { secret: "deploy-secret" });
    simulated.account.add("node-1", { tags: owned });
  });
  expect(await instancesOf(lab)).toHaveLength(1);
  expect(cloud.seen[0]?.body).toEqual({
    Action: "AssumeRole",
    Version: "2011-06-15",
    RoleArn: role,
    RoleSessionName: "fairlead",
  });
});

test("reports the settings of a profile that Fairlead does not use, and a profile that does not exist", async () => {
  const messageWith = async (profile: string) => {
    const { lab } = labWith({ files: shared, settings: { ...home, profile } });
    return messageOf(await failureOf(instancesOf(lab)));
  };
  expect(await messageWith("login")).toBe(
    'The profile "login" has sso_session, which Fairlead does not use. Set an access key, AWS_WEB_IDENTITY_TOKEN_FILE with AWS_ROLE_ARN, or run Fairlead on a machine with a role.',
  );
  expect(await messageWith("depoly")).toBe(
    'The profile "depoly" is not in the shared files, which have default, deploy, admin, login. Set AWS_PROFILE to one of them, or add it.',
  );
});

const webIdentity = { ...none, "web-identity-token-file": "/token", "web-identity-role-arn": role };

test("exchanges the token of a web identity for a key, and renews the key before it expires [F70 F81]", async () => {
  const { lab, cloud } = labWith({ settings: webIdentity, files: { "/token": "jwt\n" } }, ({ account }) => {
    account.add("node-1", { tags: owned });
  });
  await instancesOf(lab);
  const exchange = cloud.seen.find(({ operation }) => operation === "sts:AssumeRoleWithWebIdentity");
  expect(exchange?.body).toEqual({
    Action: "AssumeRoleWithWebIdentity",
    Version: "2011-06-15",
    RoleArn: role,
    RoleSessionName: "fairlead",
    WebIdentityToken: "jwt",
  });
  await lab.clock.advance(minutes(61));
  expect(await instancesOf(lab)).toHaveLength(1);
  expect(cloud.counts()["sts:AssumeRoleWithWebIdentity"]).toBe(2);
});

test("reports that STS rejects the token of a web identity", async () => {
  const { lab } = labWith({ settings: webIdentity, files: { "/token": "expired" } });
  expect(messageOf(await failureOf(instancesOf(lab)))).toContain("Token expired [ExpiredTokenException]");
});

test("assumes the role of the settings with the headers of the Go manager [F73 F81]", async () => {
  const settings = { "role-arn": role, "source-arn": "arn:aws:eks:us-west-2:1:cluster/prod" };
  const { lab, cloud } = labWith({ settings }, ({ account }) => {
    account.add("node-1", { tags: owned });
  });
  await instancesOf(lab);
  const assumed = lab.requests.find(({ operation }) => operation === "AssumeRole");
  expect([assumed?.headers?.["x-amz-source-account"], assumed?.headers?.["x-amz-source-arn"]]).toEqual([
    "123456789012",
    "arn:aws:eks:us-west-2:1:cluster/prod",
  ]);
  expect(assumed?.mutates).toBe(false);
  await lab.clock.advance(minutes(61));
  await instancesOf(lab);
  expect(cloud.counts()["sts:AssumeRole"]).toBe(2);
});

test("fetches a new key when AWS revokes the key in use [F70]", async () => {
  const { lab, cloud } = labWith({ settings: { "role-arn": role } }, ({ account }) => {
    account.add("node-1", { tags: owned });
  });
  await instancesOf(lab);
  for (const id of cloud.keys.keys()) if (id.startsWith("ASIA")) cloud.keys.delete(id);
  expect(await instancesOf(lab)).toHaveLength(1);
  expect(cloud.counts()["sts:AssumeRole"]).toBe(2);
});

test("signs valid requests while the local clock is off by ten minutes", async () => {
  const { lab, cloud } = labWith({}, ({ account }) => account.add("node-1", { tags: owned }));
  const { clock } = cloud;
  cloud.skew = minutes(10);
  expect(await instancesOf(lab)).toHaveLength(1);
  expect(cloud.counts()["ec2:DescribeInstances"]).toBe(2);
  await instancesOf(lab);
  expect(cloud.counts()["ec2:DescribeInstances"]).toBe(3);
  expect(clock).toBe(lab.clock);
});

test("uses the credentials of a container, without a token on ECS and with a token on EKS [F81]", async () => {
  const cases = [
    { settings: { "container-credentials-path": "/v2/credentials" }, token: undefined },
    {
      settings: {
        "container-credentials-url": "http://169.254.170.23/v2/credentials",
        "container-token-file": "/var/run/token",
      },
      token: "jwt",
    },
  ];
  for (const { settings, token } of cases) {
    const options = { settings: { ...none, ...settings }, files: { "/var/run/token": "jwt\n" } };
    const { lab, cloud } = labWith(options, ({ account }) => {
      account.containerToken = token;
      account.add("node-1", { tags: owned });
    });
    expect(await instancesOf(lab)).toHaveLength(1);
    expect(cloud.counts()["GET /v2/credentials"]).toBe(1);
  }
});

test("sends no request to the instance metadata service when the service is disabled", async () => {
  const { lab } = labWith({ settings: { ...none, "metadata-disabled": "true" } });
  expect(messageOf(await failureOf(instancesOf(lab)))).toBe(
    "There are no credentials: none are set, and the instance metadata service is disabled (AWS_EC2_METADATA_DISABLED). Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, a profile, or a web identity.",
  );
});
