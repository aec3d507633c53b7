// The security group that Fairlead creates for a load balancer, and the steps that change rules and groups. Pure.

import { errorProblem, type ProviderProblem } from "#ccm";
import type { Tag } from "../api/ec2.ts";
import type { ApiSecurityGroup } from "../api/resources.ts";
import { hasNoClusterTag, isOwned } from "../cluster.ts";
import type { Desired, Observed } from "./balancer.ts";
import {
  clusterTags,
  groupNamed,
  type Identity,
  newTags,
  otherCluster,
  serviceTag,
} from "./balancer-names.ts";
import { type GroupChange, permissionsOf, type Rule } from "./rules.ts";
import { type AwsStep, created, ec2, onListing, type Request, stepFor } from "./steps.ts";

type Steps = readonly AwsStep[];

const ingress = (GroupId: string, rules: readonly Rule[]) => ({
  GroupId,
  IpPermissions: permissionsOf(rules),
});

export const openSteps = (changes: readonly GroupChange[], why: string): Steps =>
  changes.flatMap(({ group, added }) =>
    stepFor(
      { do: `open security group for ${why}`, on: group },
      added.length > 0 && ec2("AuthorizeSecurityGroupIngress", ingress(group, added)),
    ),
  );

export const closeSteps = (changes: readonly GroupChange[], why: string): Steps =>
  changes.flatMap(({ group, removed, needsTidying, checked }) =>
    stepFor(
      { do: `close security group for ${why}`, on: group },
      removed.length > 0 &&
        (checked === undefined
          ? ec2("RevokeSecurityGroupIngress", ingress(group, removed))
          : { close: { group, rules: removed, checked } }),
      removed.length > 0 && needsTidying === true && { tidy: group },
    ),
  );

/** Waits for a listing that shows whether another load balancer uses a security group. */
export const restOnUses = (steps: Steps): Steps => steps.map((one) => ({ ...one, restsOn: onListing }));

export const deleteGroup = ({ groupId, groupName }: ApiSecurityGroup): AwsStep => ({
  do: "delete security group",
  on: `${groupName} (${groupId})`,
  restsOn: onListing,
  requests: [ec2("DeleteSecurityGroup", { GroupId: groupId })],
});

/** Keeps a group that another load balancer uses. */
export const deleteUnused = ({ group }: OwnGroup, { usedGroups }: Pick<Observed, "usedGroups">): Steps =>
  group === undefined || usedGroups.has(group.groupId) ? [] : [deleteGroup(group)];

/** The group with Fairlead's name. It belongs to this cluster or to another one, or it has no tags and gets them. */
export interface OwnGroup {
  readonly group: ApiSecurityGroup | undefined;
  readonly repairs: Steps;
  readonly problem?: ProviderProblem;
}

export function ownGroupOf(groups: readonly ApiSecurityGroup[], identity: Identity, name: string): OwnGroup {
  const group = groupNamed(groups, identity, name);
  if (group === undefined || isOwned(identity.tag, group.tagSet)) return { group, repairs: [] };
  const other = otherCluster(identity, group.tagSet);
  if (other === undefined && hasNoClusterTag(group.tagSet)) {
    const repair = ec2("CreateTags", { ResourceId: [group.groupId], Tag: clusterTags(identity) });
    return { group, repairs: [{ do: "tag security group", on: group.groupId, requests: [repair] }] };
  }
  const text = `The security group ${name} (${group.groupId}) has tags of the cluster ${other ?? `${identity.tag.id}, but not as owned`}. Neither it nor the load balancer is changed. Delete it, or correct its tags.`;
  return { group: undefined, repairs: [], problem: errorProblem("AmbiguousCloudObject", text) };
}

/** Creates the group with its rules. */
export function groupCreation(
  {
    name,
    description,
    rules,
  }: { readonly name: string; readonly description: string; readonly rules: readonly Rule[] },
  { owner, settings }: Desired,
  identity: Identity,
): readonly Request[] {
  // The Go manager's tags, without the name of the Service.
  const tags: readonly Tag[] = newTags(identity, owner, settings["additional-resource-tags"]).filter(
    ({ Key }) => Key !== serviceTag,
  );
  const request = {
    GroupName: name,
    GroupDescription: description.slice(0, 255),
    VpcId: identity.vpc,
    TagSpecification: [{ ResourceType: "security-group", Tag: tags }],
  } as const;
  const authorize = ec2("AuthorizeSecurityGroupIngress", ingress(created.group, rules));
  return [ec2("CreateSecurityGroup", request), ...(rules.length > 0 ? [authorize] : [])];
}
