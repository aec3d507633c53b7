// AWS settings: the Go manager's configuration file, and validation.

import { describe, expect, test } from "bun:test";
import { readSettings } from "#ccm/testing";
import { aws } from "../../../providers/aws/index.ts";
import { readConfigFile } from "../../../providers/aws/settings.ts";
import { instanceTags } from "../../../providers/aws/tagging.ts";
import { readConfiguration } from "../../../src/app/configuration/configuration.ts";
import { messageIn } from "../../../src/core/problem.ts";
import type { AnyProvider } from "../../../src/provider/provider.ts";
import { MemoryFiles } from "../../../src/testing/virtual-time/memory-files.ts";

/** Every key of the structs that the Go manager decodes its file into, version 1.37.1. */
const global = [
  ...["Zone", "Region", "VPC", "SubnetID", "RouteTableID", "RoleARN", "SourceARN", "KubernetesClusterTag"],
  ...["KubernetesClusterID", "DisableSecurityGroupIngress", "ElbSecurityGroup", "NodeIPFamilies"],
  ...["ClusterServiceLoadBalancerHealthProbeMode", "ClusterServiceSharedLoadBalancerHealthProbePort"],
  ...["ClusterServiceSharedLoadBalancerHealthProbePath", "SupportedTopologyInstanceTypePattern"],
  "NLBSecurityGroupMode",
];
const override = ["Service", "Region", "URL", "SigningRegion", "SigningMethod", "SigningName"];

const textsOf = (values: Readonly<Record<string, string>>) => {
  const { values: settings, problems } = readSettings(aws.config, values, { what: "setting" });
  return [...problems, ...(aws.checkConfig?.(settings) ?? [])].map(
    ({ severity, text }) => `${severity}: ${text}`,
  );
};

describe("the Go manager's configuration file for AWS", () => {
  test("accepts every key in the Go manager's configuration file [F77]", () => {
    const lines = (keys: readonly string[]) => keys.map((key) => `${key} = x`);
    const text = ["[Global]", ...lines(global), '[ServiceOverride "1"]', ...lines(override)].join("\n");
    const { settings, problems } = readConfigFile(text);
    expect(problems).toEqual([]);
    const { "service-overrides": overrides, ...others } = settings;
    expect(Object.keys(others).filter((name) => !Object.hasOwn(aws.config, name))).toEqual([]);
    expect(Object.keys(others)).toHaveLength(global.length);
    const [first] = overrides as readonly { readonly values: object }[];
    const known = Object.keys(aws.config["service-overrides"].entry ?? {});
    expect(Object.keys(first?.values ?? {}).filter((name) => !known.includes(name))).toEqual([]);
    expect(Object.keys(first?.values ?? {})).toHaveLength(override.length + 1);
  });

  test("reports all problems of the file together, each with its line [F77 F78]", async () => {
    const text = [
      "[Global]",
      "Region = us-west-2",
      "SubnetId = subnet-1",
      "KubernetesClusterId = prod",
      "NodeIPFamilies = ipv6",
      "NodeIPFamilies = ipv5",
      "DisableSecurityGroupIngress = perhaps",
      "Regoin = eu-west-1",
      "[Loadbalancer]",
      '[ServiceOverride "1"]',
      "Service = EC2",
      "Region = us-west-2",
      "URL = https://ec2.example",
    ].join("\n");
    const files = new MemoryFiles({ "/aws.conf": text });
    const { problems } = await readConfiguration({
      provider: aws as unknown as AnyProvider,
      args: ["--cloud-config=/aws.conf"],
      files: files.files,
      environment: {},
    });
    const about = problems.map(messageIn).map((line) => /^\/aws\.conf:\d+: [^;,]*/.exec(line)?.[0] ?? line);
    expect(about.toSorted()).toEqual([
      '/aws.conf:10: signing-region in [ServiceOverride "1"] is required but not set',
      "/aws.conf:6: NodeIPFamilies must be ipv4 or ipv6",
      "/aws.conf:7: DisableSecurityGroupIngress in [Global] must be true or false",
      "/aws.conf:8: Regoin in [Global] is not a known setting",
      "/aws.conf:9: section [Loadbalancer] is unknown",
    ]);
  });
});

test("reports contradictory settings together [F78]", () => {
  expect(
    textsOf({
      "kubernetes-cluster-id": "a",
      "kubernetes-cluster-tag": "b",
      "access-key-id": "AKID",
      "web-identity-token-file": "/token",
      "source-arn": "arn:x",
      "node-ip-families": "ipv4\nipv5",
      "supported-topology-instance-type-pattern": "(",
      "service-overrides": JSON.stringify(
        ["1", "2"].map((name) => ({
          name,
          service: "EC2",
          region: "us-west-2",
          url: "http://127.0.0.1:5000",
          "signing-region": "us-west-2",
        })),
      ),
    }),
  ).toEqual([
    "error: two sections [ServiceOverride] are for EC2 in us-west-2. Remove one of them",
    'error: NodeIPFamilies must be ipv4 or ipv6, got "ipv5"',
    'error: SupportedTopologyInstanceTypePattern must be a regular expression, got "("',
    'error: KubernetesClusterID is "a", and KubernetesClusterTag is "b". They name the same cluster: set them to the same value, or remove one',
    "error: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are needed together, and only one of them is set. Set both, or none",
    "error: AWS_WEB_IDENTITY_TOKEN_FILE is set without AWS_ROLE_ARN. Set the role that the token is for",
    "warning: SourceARN has no effect without RoleARN. Set RoleARN, or remove it",
  ]);
});

test("rejects volume tags that Fairlead sets itself", () => {
  expect(textsOf({ "volumes-extra-tags": "team=a,CSIVolumeName=x" })).toEqual([
    'error: the tag "CSIVolumeName" is one that Fairlead gives to volumes. Remove it',
  ]);
});

test("warns about an override of a service that Fairlead does not call", () => {
  const override = { service: "ec2", region: "us-west-2", url: "https://ec2.example", "signing-region": "x" };
  expect(textsOf({ "service-overrides": JSON.stringify([override]) })).toEqual([
    'warning: a section [ServiceOverride] is for the service "ec2", which Fairlead does not call, so it has no effect. The services are EC2, Elastic Load Balancing, Elastic Load Balancing v2',
  ]);
});

test("reports the required settings if the instance metadata service is disabled [F74]", () => {
  expect(textsOf({ "metadata-disabled": "true" })).toEqual([
    "error: Region is required where the instance metadata service is disabled (AWS_EC2_METADATA_DISABLED)",
    "error: VPC is required where the instance metadata service is disabled (AWS_EC2_METADATA_DISABLED)",
    "error: KubernetesClusterID is required where the instance metadata service is disabled (AWS_EC2_METADATA_DISABLED)",
  ]);
});

test("reads the flags of the Go manager's tagging controller, and reports flags without effect [F17]", async () => {
  const { problems, settings } = await readConfiguration({
    provider: aws as unknown as AnyProvider,
    args: [
      ...["--tags=team=a,env=prod", "--resources=instance", "--controllers=*,tagging"],
      ...["--tagging-controller-rate-limit=5", "--tagging-controller-enable-batching=true"],
    ],
    files: new MemoryFiles({}).files,
    environment: {},
  });
  const about = problems.map(({ severity, text }) => `${severity}: ${text}`);
  expect(about.filter((text) => text.includes("tagging") || text.includes("tags"))).toEqual([
    "warning: tagging-controller-rate-limit is ignored. Machines are tagged together.",
    "warning: tagging-controller-enable-batching is ignored. Machines are tagged together.",
  ]);
  const { values } = readSettings(aws.config, Object.fromEntries(settings.cloud.given), { what: "setting" });
  const { label } = instanceTags({} as never, values) ?? {};
  expect(label).toEqual({
    key: "k8s.io/cloud-provider-aws",
    value: new Bun.CryptoHasher("md5").update("env=prod,team=a").digest("hex"),
  });
});

test("starts without shared files in the home directory, and does not start without the token of a web identity [F81]", async () => {
  const problemsWith = async (environment: Readonly<Record<string, string>>) => {
    const { problems } = await readConfiguration({
      provider: aws as unknown as AnyProvider,
      args: ["--configure-cloud-routes=false"],
      files: new MemoryFiles({}).files,
      environment,
    });
    return problems.map(({ text }) => text);
  };
  expect(await problemsWith({ HOME: "/home/ccm" })).toEqual([]);
  const webIdentity = { AWS_ROLE_ARN: "arn:aws:iam::1:role/ccm", AWS_WEB_IDENTITY_TOKEN_FILE: "/token" };
  expect(await problemsWith(webIdentity)).toEqual([expect.stringContaining("/token: cannot read")]);
});
