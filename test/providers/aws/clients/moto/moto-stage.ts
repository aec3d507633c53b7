// A stage on moto: instances, and Services with all of the Go manager's annotations.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { clusterID } from "../../../../../providers/aws/simulator/harness.ts";
import type { RehearsalDefinition, RehearsedService } from "../../../../../scripts/rehearse/cloud.ts";
import {
  aws,
  classicServices,
  configFile,
  networkServices,
} from "../../../../../scripts/rehearse/clouds/aws.ts";
import { MendedMoto, type SwitchedGroups } from "./mended-moto.ts";
import { ask } from "./moto-server.ts";
import { MotoState } from "./moto-state.ts";

// biome-ignore lint/suspicious/noExplicitAny: the test knows what it asked for.
type All = readonly any[];
type Texts = Readonly<Record<string, string>>;

const region = "us-west-2";
const owned = (kind: string): Texts => ({
  "TagSpecification.1.ResourceType": kind,
  "TagSpecification.1.Tag.1.Key": `kubernetes.io/cluster/${clusterID}`,
  "TagSpecification.1.Tag.1.Value": "owned",
});

export async function requestCertificate(url: string): Promise<string> {
  const headers = {
    "content-type": "application/x-amz-json-1.1",
    "x-amz-target": "CertificateManager.RequestCertificate",
    authorization: `AWS4-HMAC-SHA256 Credential=test/20261127/${region}/acm/aws4_request`,
  };
  const body = JSON.stringify({ DomainName: "shop.example" });
  const response = await fetch(url, { method: "POST", headers, body });
  const { CertificateArn } = (await response.json()) as { readonly CertificateArn: string };
  return CertificateArn;
}

/** A public VPC with a subnet in three zones, three Nodes, three security groups and a certificate. */
async function furnish(url: string) {
  const { vpcSet } = await ask(url, "DescribeVpcs", {});
  const vpc: string = vpcSet[0].vpcId;
  const { internetGateway } = await ask(url, "CreateInternetGateway", {});
  const GatewayId: string = internetGateway.internetGatewayId;
  await ask(url, "AttachInternetGateway", { InternetGatewayId: GatewayId, VpcId: vpc });
  const { routeTableSet } = await ask(url, "DescribeRouteTables", {});
  const { routeTableId: RouteTableId } = routeTableSet[0];
  await ask(url, "CreateRoute", { RouteTableId, DestinationCidrBlock: "0.0.0.0/0", GatewayId });
  const all: All = (await ask(url, "DescribeSubnets", {})).subnetSet;
  for (const { subnetId } of all.slice(3)) await ask(url, "DeleteSubnet", { SubnetId: subnetId });
  for (const { subnetId, availabilityZone } of all.slice(0, 3)) {
    const tag = { "ResourceId.1": subnetId, "Tag.1.Key": "Name", "Tag.1.Value": availabilityZone };
    await ask(url, "CreateTags", tag);
  }
  const subnets = all.slice(0, 3).map(({ subnetId }): string => subnetId);
  const addGroup = async (name: string, tags: Texts = {}): Promise<string> => {
    const parameters = { GroupName: name, GroupDescription: name, VpcId: vpc, ...tags };
    return (await ask(url, "CreateSecurityGroup", parameters)).groupId;
  };
  const nodes = await addGroup("nodes", owned("security-group"));
  await ask(url, "RunInstances", {
    ImageId: "ami-12c6146b",
    InstanceType: "m5.large",
    MinCount: "3",
    MaxCount: "3",
    SubnetId: subnets[0] ?? "",
    "SecurityGroupId.1": nodes,
    ...owned("instance"),
  });
  const { reservationSet } = await ask(url, "DescribeInstances", {});
  const instances: All = reservationSet[0].instancesSet;
  const [given, extra] = [await addGroup("given"), await addGroup("extra")];
  return { vpc, subnets, given, extra, instances, certificate: await requestCertificate(url) };
}

/** Kubernetes chooses this port at random. */
const withCheckPort = ([name, service]: [string, RehearsedService], index: number) => {
  const spec = { ...service.spec, healthCheckNodePort: 32_000 + index };
  return [name, service.spec?.["externalTrafficPolicy"] === "Local" ? { ...service, spec } : service];
};

/** `settings`: further lines of the section Global in the configuration file. */
export async function motoStage(url: string, settings: readonly string[] = []) {
  const { vpc, subnets, given, extra, instances, certificate } = await furnish(url);
  const nodes = instances.map(({ privateDnsName }): string => privateDnsName);
  const moto = new MotoState(url, [
    [vpc, "vpc"],
    [certificate, "certificate"],
    ...subnets.map((id, index): [string, string] => [id, `subnet-${index}`]),
    ...instances.flatMap(({ instanceId, ipAddress }, index): [string, string][] => [
      [instanceId, `instance-${index}`],
      [ipAddress, `public-${index}`],
      [ipAddress.replaceAll(".", "-"), `public-${index}`],
    ]),
  ]);
  const objects = { given, extra, subnets, node: nodes[1] ?? "", certificate };
  const all = Object.entries({ ...classicServices(objects), ...networkServices(objects) });
  const services: Readonly<Record<string, RehearsedService>> = Object.fromEntries(all.map(withCheckPort));
  const switched: SwitchedGroups = new Map();
  const open = () => {
    const proxy = new MendedMoto(url, switched);
    const folder = mkdtempSync(join(tmpdir(), "fairlead-moto-"));
    const path = join(folder, "cloud.conf");
    const place = { vpc, "subnet-id": subnets[0] ?? "", region, "kubernetes-cluster-id": clusterID };
    writeFileSync(path, configFile(proxy.url, place, settings));
    return {
      api: proxy,
      flags: [
        ...[`--cloud-config=${path}`, "--cluster-name=test", "--cloud-provider=aws"],
        ...["--concurrent-service-syncs=1", "--configure-cloud-routes=false"],
      ],
      env: { AWS_ACCESS_KEY_ID: "test", AWS_SECRET_ACCESS_KEY: "test", AWS_EC2_METADATA_DISABLED: "true" },
      services: {},
      nodes,
      addMachine: () => undefined,
      state: () => ({}),
      describe: () => moto.read(),
      isComplete: () => true,
      [Symbol.asyncDispose]: async () => {
        rmSync(folder, { recursive: true, force: true });
        await proxy[Symbol.asyncDispose]();
      },
    };
  };
  const definition: RehearsalDefinition = { ...aws, open };
  return { definition, moto, services, objects, vpc };
}
