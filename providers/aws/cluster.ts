// The cluster in AWS: its id, which is in the tags of its resources, its VPC and its subnet. Settings that are not
// configured come from the machine on which this program runs.

import { type Call, CloudError, collect, resolveOnce } from "#ccm";
import type { Filter } from "./api/ec2.ts";
import type { AwsApi } from "./api/index.ts";
import type { ApiInstance, ApiTag, Maybe } from "./api/resources.ts";
import type { InstanceMetadata } from "./credentials/metadata.ts";
import type { Settings } from "./settings.ts";

export const prefix = "kubernetes.io/cluster/";
export const formerKey = "KubernetesCluster";

/** The id of a cluster, and how it marks its resources. */
export interface ClusterTag {
  readonly id: string;
  /** The key of the tag. Its value is `owned` or `shared`. */
  readonly key: string;
  /** Whether the cluster uses the former tag, `KubernetesCluster=ID`. */
  readonly isFormer: boolean;
}

type Tags = Maybe<readonly ApiTag[]>;

/** Whether an object with these tags belongs to the cluster, exclusively or shared with other clusters. */
export function hasClusterTag({ id, key }: ClusterTag, tags: Tags): boolean {
  return (tags ?? []).some((tag) => tag.key === key || (tag.key === formerKey && tag.value === id));
}

/** Whether the cluster may delete a resource with these tags. */
export function isOwned({ id, key }: ClusterTag, tags: Tags): boolean {
  return (tags ?? []).some(
    (tag) => (tag.key === key && tag.value === "owned") || (tag.key === formerKey && tag.value === id),
  );
}

/** Whether a resource with these tags belongs to no cluster. */
export function hasNoClusterTag(tags: Tags): boolean {
  return !(tags ?? []).some(({ key }) => key.startsWith(prefix));
}

/** The conditions of the listings that together find the resources of the cluster: EC2 has no "or" between two tags. */
export function clusterFilters({ id, key, isFormer }: ClusterTag): readonly Filter[] {
  const current = { Name: "tag-key", Value: [key] };
  return isFormer ? [current, { Name: `tag:${formerKey}`, Value: [id] }] : [current];
}

function clusterTag(id: string, isFormer: boolean): ClusterTag {
  return { id, key: prefix + id, isFormer };
}

function tagOfMachine({ instanceId, tagSet }: ApiInstance): ClusterTag {
  const operation = "DescribeInstances";
  const tags = tagSet ?? [];
  const ids = tags.flatMap(({ key }) => (key.startsWith(prefix) ? [key.slice(prefix.length)] : []));
  const former = tags.find(({ key }) => key === formerKey)?.value ?? undefined;
  const all = [...new Set([...ids, ...(former === undefined ? [] : [former])])];
  const [id, ...others] = all;
  const found = all.length === 0 ? "no tag of a cluster" : `the tags of several clusters (${all.join(", ")})`;
  if (id === undefined || others.length > 0)
    throw new CloudError(
      "invalid",
      `The machine of the manager, ${instanceId}, has ${found}, so Fairlead does not know which instances belong to this cluster. Nothing is read from or changed in AWS. Set KubernetesClusterID in the file of --cloud-config, or give the machine one tag such as ${prefix}my-cluster=owned.`,
      { operation },
    );
  return clusterTag(id, former !== undefined);
}

/** Values that do not change during a connection. */
export interface Cluster {
  readonly tag: (call: Call) => Promise<ClusterTag>;
  readonly vpc: (call: Call) => Promise<string>;
  /** Undefined if this program does not run in the cluster. */
  readonly subnet: (call: Call) => Promise<string | undefined>;
}

export function clusterOf(settings: Settings, { ec2 }: AwsApi, metadata: InstanceMetadata): Cluster {
  const ownInstance = resolveOnce(async (call) => {
    const { instanceId } = await metadata.ownInstance(call);
    const [own] = await collect(ec2.instancePages({ InstanceId: [instanceId] }, call));
    if (own === undefined)
      throw new CloudError("unavailable", `DescribeInstances returned nothing for ${instanceId}.`, {
        operation: "DescribeInstances",
      });
    return own;
  });
  const {
    vpc,
    "subnet-id": subnet,
    "kubernetes-cluster-id": id,
    "kubernetes-cluster-tag": former,
    "role-arn": role,
  } = settings;
  const known = former ?? id;
  const isElsewhere = vpc !== undefined && (subnet ?? role) !== undefined && known !== undefined;
  return {
    tag: async (call) =>
      known === undefined ? tagOfMachine(await ownInstance(call)) : clusterTag(known, former !== undefined),
    vpc: async (call) => (isElsewhere ? vpc : ((await ownInstance(call)).vpcId ?? "")),
    subnet: async (call) => (isElsewhere ? subnet : ((await ownInstance(call)).subnetId ?? undefined)),
  };
}
