// AWS in a rehearsal: Services with all annotations of its Go manager, for classic and network load balancers.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { serveCloud } from "#ccm/testing";
import { aws as provider } from "../../../providers/aws/index.ts";
import { clusterCloud, clusterID, config } from "../../../providers/aws/simulator/harness.ts";
import type { AwsCloud } from "../../../providers/aws/simulator/index.ts";
import { milliseconds } from "../../../src/core/brand.ts";
import { systemClock } from "../../../src/platform/clock.ts";
import type { AnyProvider } from "../../../src/provider/provider.ts";
import { prefixed, type RehearsalDefinition, type RehearsedCloud, type RehearsedService } from "../cloud.ts";

const prefix = "service.beta.kubernetes.io/aws-load-balancer-";
const owned = { [`kubernetes.io/cluster/${clusterID}`]: "owned" };
const certificate = "arn:aws:acm:us-west-2:123456789012:certificate/1234";

function classic(
  annotations: Readonly<Record<string, string>> = {},
  more: RehearsedService = {},
): RehearsedService {
  return { annotations: prefixed(prefix, annotations), ...more };
}

function network(
  annotations: Readonly<Record<string, string>> = {},
  more: RehearsedService = {},
): RehearsedService {
  return classic({ type: "nlb", ...annotations }, more);
}

const web = { ports: [{ port: 80 }, { port: 443 }] };
const local = { spec: { externalTrafficPolicy: "Local" } };
const ranges = { spec: { loadBalancerSourceRanges: ["192.0.2.0/24", "10.0.0.0/8"] } };
const logs = {
  "access-log-enabled": "true",
  "access-log-s3-bucket-name": "logs",
  "access-log-s3-bucket-prefix": "web",
};
const times = { "healthcheck-healthy-threshold": "4", "healthcheck-interval": "20" };
const http = { "healthcheck-protocol": "HTTP", "healthcheck-port": "8080", "healthcheck-path": "/ready" };
const tlsWith = (certificate: string) => ({
  "ssl-cert": certificate,
  "ssl-negotiation-policy": "ELBSecurityPolicy-TLS-1-2-2017-01",
});

/** The objects that the Services' annotations name. */
export interface NamedObjects {
  /** Security groups of users. */
  readonly given: string;
  readonly extra: string;
  readonly subnets: readonly string[];
  /** A Node. */
  readonly node: string;
  readonly certificate: string;
}

type Services = Readonly<Record<string, RehearsedService>>;
const only = (node: string) => ({ "target-node-labels": `kubernetes.io/hostname=${node}` });

export function classicServices({ given, extra, node, certificate }: NamedObjects): Services {
  const tls = tlsWith(certificate);
  return {
    plain: classic(),
    ports: classic({}, web),
    local: classic({}, local),
    sources: classic({}, ranges),
    internal: classic({ internal: "true" }),
    subnets: classic({ subnets: "us-west-2b" }),
    draining: classic({ "connection-draining-enabled": "true", "connection-draining-timeout": "60" }),
    zones: classic({ "cross-zone-load-balancing-enabled": "true", "connection-idle-timeout": "120" }),
    logs: classic({ ...logs, "access-log-emit-interval": "5" }),
    tags: classic({ "additional-resource-tags": "team=a,empty=,only" }),
    check: classic({ ...http, ...times, "healthcheck-timeout": "6", "healthcheck-unhealthy-threshold": "3" }),
    tls: classic({ ...tls, "ssl-ports": "443", "backend-protocol": "http" }, web),
    "tls-tcp": classic(tls),
    "tls-https": classic({ "ssl-cert": certificate, "backend-protocol": "https" }),
    proxy: classic({ "proxy-protocol": "*" }, web),
    groups: classic({ "security-groups": given }),
    extra: classic({ "extra-security-groups": extra }),
    "one-node": classic(only(node)),
  };
}

export function networkServices({ subnets, node, certificate }: NamedObjects): Services {
  const tls = tlsWith(certificate);
  return {
    "nlb-plain": network(),
    "nlb-ports": network({}, web),
    "nlb-local": network({}, local),
    "nlb-udp": network({}, { ports: [{ port: 53, protocol: "UDP" }] }),
    "nlb-sources": network({}, ranges),
    "nlb-internal": network({ internal: "true" }),
    "nlb-subnets": network({ subnets: subnets.join() }),
    "nlb-zones": network({ "cross-zone-load-balancing-enabled": "true" }),
    "nlb-logs": network(logs),
    "nlb-tags": network({ "additional-resource-tags": "team=a" }),
    "nlb-tls": network({ ...tls, "ssl-ports": "443" }, web),
    "nlb-tls-ssl": network({ ...tls, "backend-protocol": "ssl" }),
    "nlb-check": network({ ...times, "healthcheck-port": "8080", "healthcheck-unhealthy-threshold": "4" }),
    "nlb-http": network(http),
    "nlb-timeout": network({ "healthcheck-timeout": "7" }),
    "nlb-addresses": network({ "eip-allocations": "eipalloc-1,eipalloc-2,eipalloc-3" }),
    "nlb-private": network({
      internal: "true",
      "private-ipv4-addresses": "10.0.0.77,10.0.64.77,10.0.128.77",
    }),
    "nlb-attributes": network({ "target-group-attributes": "proxy_protocol_v2.enabled=true" }),
    "nlb-one-node": network(only(node)),
  };
}

/** The Go manager's configuration file, with all services at one address. `more`: further lines in the section Global. */
export function configFile(
  url: string,
  {
    vpc,
    "subnet-id": subnet,
    region,
    "kubernetes-cluster-id": cluster,
  }: Pick<typeof config, "vpc" | "subnet-id" | "region" | "kubernetes-cluster-id">,
  more: readonly string[] = [],
): string {
  const services = ["EC2", "Elastic Load Balancing", "Elastic Load Balancing v2"].flatMap((name, index) => [
    `[ServiceOverride "${index}"]`,
    ...[`Service = ${name}`, `Region = ${region}`, `URL = ${url}`, `SigningRegion = ${region}`],
  ]);
  const place = [`Region = ${region}`, `VPC = ${vpc}`, `SubnetID = ${subnet}`];
  return ["[Global]", ...place, `KubernetesClusterID = ${cluster}`, ...more, ...services, ""].join("\n");
}

function stateOf({ account }: AwsCloud) {
  const { classic: classics, network: networks, groups } = account;
  const nameOf = (arn: string) => networks.all().find((one) => one.arn === arn)?.name ?? arn;
  return Object.fromEntries([
    ...classics.all().map(({ tags, backends, ...one }) => {
      const entries = { tags: [...tags], backends: [...backends], instances: one.instances.toSorted() };
      return [`classic load balancer ${one.name}`, { ...one, ...entries }];
    }),
    ...networks.all().map(({ tags, attributes, ...one }) => {
      const entries = { tags: [...tags], attributes: [...attributes] };
      return [`network load balancer ${one.name}`, { ...one, ...entries }];
    }),
    ...networks.listeners().map(({ tags, ...one }) => {
      return [`listener ${nameOf(one.balancer)}:${one.port}`, { ...one, tags: [...tags] }];
    }),
    ...networks.targetGroups().map(({ tags, attributes, targets, ...one }) => {
      const ids = targets.map(({ id, port }) => `${id}:${port}`).toSorted();
      return [`target group ${one.name}`, { ...one, tags: [...tags], attributes: [...attributes], ids }];
    }),
    ...groups.list().map(({ rules, ...one }) => {
      const texts = rules.map((rule) => JSON.stringify(rule)).toSorted();
      return [`security group ${one.name}`, { ...one, rules: texts }];
    }),
  ]);
}

function open(): RehearsedCloud {
  const cloud = clusterCloud({ clock: systemClock, latency: milliseconds(5) });
  const { account } = cloud;
  const addGroup = (name: string, tags: Readonly<Record<string, string>> = {}): string => {
    const id = account.id("sg");
    account.groups.put({ id, name, tags, vpc: account.vpc, description: name, rules: [] });
    return id;
  };
  const nodes = addGroup("nodes", owned);
  for (const { id, zone } of account.subnets.list()) account.subnets.change(id, { tags: { Name: zone } });
  const subnets = account.subnets.list().map(({ id }) => String(id));
  const objects = {
    given: addGroup("given"),
    extra: addGroup("extra"),
    subnets,
    node: "node-1",
    certificate,
  };
  const services = { ...classicServices(objects), ...networkServices(objects) };
  const served = serveCloud(cloud, 0);
  const folder = mkdtempSync(join(tmpdir(), "fairlead-rehearsal-"));
  const path = join(folder, "cloud.conf");
  writeFileSync(path, configFile(served.url, config));
  return {
    api: cloud,
    flags: [
      ...[`--cloud-config=${path}`, "--cluster-name=rehearsal", "--cloud-provider=aws"],
      ...["--concurrent-service-syncs=5", "--configure-cloud-routes=false"],
    ],
    env: {
      AWS_ACCESS_KEY_ID: config["access-key-id"],
      AWS_SECRET_ACCESS_KEY: config["secret-access-key"],
      AWS_EC2_METADATA_DISABLED: "true",
    },
    services,
    addMachine: (name) => void account.add(name, { tags: owned, groups: [nodes] }),
    state: () => stateOf(cloud),
    isComplete: (_, wanted) => account.classic.all().length + account.network.all().length === wanted,
    [Symbol.asyncDispose]: async () => {
      rmSync(folder, { recursive: true, force: true });
      await served[Symbol.asyncDispose]();
    },
  };
}

export const aws: RehearsalDefinition = {
  name: "aws",
  // The contract keeps each provider's own types; the framework only passes its values back to it.
  provider: provider as unknown as AnyProvider,
  peerVariable: "AWS_CCM",
  passed: /^$/,
  changed: (round) => prefixed(prefix, { "connection-idle-timeout": String(100 + round) }),
  open,
};
