// The names and tags of load balancers and their parts, in the form of the Go manager. Pure.

import type { DesiredLoadBalancer, Fields } from "#ccm";
import type { Tag } from "../api/ec2.ts";
import type { ApiSecurityGroup, ApiTag, Maybe } from "../api/resources.ts";
import { type ClusterTag, formerKey, hasClusterTag, prefix } from "../cluster.ts";

type Owner = DesiredLoadBalancer<Fields>["owner"];

/** Where load balancers are, and how the resources of the cluster are tagged. */
export interface Identity {
  readonly tag: ClusterTag;
  readonly vpc: string;
  /** The subnet of the manager's own instance, or of the settings. */
  readonly subnet: string | undefined;
}

export type Tags = Maybe<readonly ApiTag[]>;

export const serviceTag = "kubernetes.io/service-name";

export function tagIn(tags: Tags, key: string): string | undefined {
  const tag = tags?.find((one) => one.key === key);
  return tag && (tag.value ?? "");
}

/** Elastic Load Balancing writes tags in another case than EC2. */
export const tagsOf = (
  all: Maybe<readonly { readonly Key: string; readonly Value?: Maybe<string> }[]>,
): Tags => all?.map(({ Key, Value }) => ({ key: Key, value: Value }));

/** The cluster in the tags, if it is not this one. */
export function otherCluster({ tag }: Identity, tags: Tags): string | undefined {
  if (hasClusterTag(tag, tags)) return undefined;
  const other = tags?.find(({ key }) => key.startsWith(prefix));
  return other?.key.slice(prefix.length) ?? tagIn(tags, formerKey);
}

export const serviceName = ({ namespace, name }: Owner): string => `${namespace}/${name}`;

/** The tags that mark objects of this cluster. */
export function clusterTags({ tag: { id, key, isFormer } }: Identity): readonly Tag[] {
  const tag = { Key: key, Value: "owned" };
  return isFormer ? [{ Key: formerKey, Value: id }, tag] : [tag];
}

export const tagList = (tags: ReadonlyMap<string, string> | undefined): readonly Tag[] =>
  [...(tags ?? [])].map(([Key, Value]) => ({ Key, Value }));

export function newTags(
  identity: Identity,
  owner: Owner,
  additional: ReadonlyMap<string, string> | undefined,
): readonly Tag[] {
  return [...tagList(additional), { Key: serviceTag, Value: serviceName(owner) }, ...clusterTags(identity)];
}

const digest = (algorithm: "sha1" | "sha256", ...parts: readonly string[]): string =>
  new Bun.CryptoHasher(algorithm).update(parts.join("")).digest("hex").slice(0, 10);
const plain = (text: string): string => text.replaceAll(/[^0-9A-Za-z]/g, "").slice(0, 8);
const named = ({ namespace, name }: Owner, hash: string): string =>
  `k8s-${plain(namespace)}-${plain(name)}-${hash}`;

/** The immutable settings of a target group are in its name. */
export interface TargetGroupKey {
  readonly port: number;
  readonly nodePort: number;
  readonly protocol: string;
  readonly checkProtocol: string;
  readonly interval: number;
}

export function targetGroupName({ tag }: Identity, owner: Owner, key: TargetGroupKey): string {
  const { port, nodePort, protocol, checkProtocol, interval } = key;
  const parts = [tag.id, owner.namespace, owner.name, String(port), String(nodePort), protocol, "instance"];
  return named(owner, digest("sha1", ...parts, checkProtocol, String(interval)));
}

export const classicGroupName = (balancer: string): string => `k8s-elb-${balancer}`;

/** `cluster` is the value of `--cluster-name`. */
export function networkGroupName(cluster: string, owner: Owner): string {
  return named(owner, digest("sha256", cluster, owner.name, owner.namespace, owner.uid));
}

/** The description of the security groups of network load balancers. */
export const managedDescription = "[k8s] Managed SecurityGroup for LoadBalancer";

/** The security group that has this name, which is derived from the uid of a Service. */
export const groupNamed = (
  groups: readonly ApiSecurityGroup[],
  { vpc }: Identity,
  name: string,
): ApiSecurityGroup | undefined => groups.find((one) => one.groupName === name && one.vpcId === vpc);

export const sortedBy = <T>(all: readonly T[], keyOf: (one: T) => string): readonly T[] =>
  all.toSorted((one, other) => (keyOf(one) < keyOf(other) ? -1 : 1));
