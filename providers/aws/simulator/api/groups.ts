// Operations of security groups.

import { Refused } from "#ccm/testing";
import { listIn, recordIn, type Sent, type SentParameters, tagsIn, textIn } from "../query.ts";
import type { Account } from "../state/account.ts";
import type { Rule, SecurityGroup } from "../state/resources.ts";
import { known, pageOf, type QueryOperations, selected, tagSet } from "./operations.ts";

/** One rule for each peer of a permission. */
function rulesIn(value: Sent): readonly Rule[] {
  const { IpProtocol, FromPort, ToPort, IpRanges, Ipv6Ranges, Groups } = recordIn(value);
  const common = {
    ipProtocol: textIn(IpProtocol) ?? "-1",
    fromPort: textIn(FromPort),
    toPort: textIn(ToPort),
  };
  if (!/^(-1|\d+|tcp|udp|icmp|icmpv6)$/.test(common.ipProtocol))
    throw new Refused(
      400,
      `Invalid value '${common.ipProtocol}' for IP protocol. Unknown protocol.`,
      "InvalidParameterValue",
    );
  const peers = [
    ...listIn(IpRanges).map((one) => [recordIn(one)["CidrIp"], recordIn(one)["Description"]] as const),
    ...listIn(Ipv6Ranges).map((one) => [recordIn(one)["CidrIpv6"], recordIn(one)["Description"]] as const),
    ...listIn(Groups).map((one) => [recordIn(one)["GroupId"], recordIn(one)["Description"]] as const),
  ];
  return peers.map(([peer, description]) => ({
    ...common,
    peer: textIn(peer) ?? "",
    description: textIn(description),
  }));
}

const keyOf = ({ ipProtocol, fromPort, toPort, peer }: Rule): string =>
  [ipProtocol, fromPort, toPort, peer].join(" ");

/** EC2 shows rules with one protocol and range together. */
function permissions(rules: readonly Rule[]) {
  const groups = Map.groupBy(rules, ({ ipProtocol, fromPort, toPort }) =>
    [ipProtocol, fromPort, toPort].join(" "),
  );
  return [...groups.values()].map((all) => {
    const [first] = all;
    const ofKind = (isKind: (peer: string) => boolean, name: string) =>
      all.filter(({ peer }) => isKind(peer)).map(({ peer, description }) => ({ [name]: peer, description }));
    const isGroup = (peer: string) => peer.startsWith("sg-");
    return {
      ipProtocol: first?.ipProtocol,
      fromPort: first?.fromPort,
      toPort: first?.toPort,
      groups: ofKind(isGroup, "groupId"),
      ipRanges: ofKind((peer) => !isGroup(peer) && !peer.includes(":"), "cidrIp"),
      ipv6Ranges: ofKind((peer) => !isGroup(peer) && peer.includes(":"), "cidrIpv6"),
      prefixListIds: [],
    };
  });
}

function create(account: Account, parameters: SentParameters) {
  const { groups } = account;
  const [name, vpc] = [textIn(parameters["GroupName"]) ?? "", textIn(parameters["VpcId"]) ?? account.vpc];
  if (groups.list().some((one) => one.name === name && one.vpc === vpc))
    throw new Refused(
      400,
      `The security group '${name}' already exists for VPC '${vpc}'`,
      "InvalidGroup.Duplicate",
    );
  const tags = tagsIn(recordIn(listIn(parameters["TagSpecification"])[0])["Tag"]);
  const id = account.id("sg");
  groups.put({ id, name, vpc, tags, description: textIn(parameters["GroupDescription"]) ?? "", rules: [] });
  return { return: true, groupId: id };
}

/** A group that something uses cannot be deleted. */
function remove(account: Account, parameters: SentParameters): undefined {
  const { groups, instances } = account;
  const { id } = groups.withID(textIn(parameters["GroupId"]) ?? "");
  const isUsed =
    account.groupsOfBalancers.includes(String(id)) ||
    instances.list().some((one) => one.state !== "terminated" && one.groups.includes(String(id))) ||
    groups.list().some((one) => one.id !== id && one.rules.some(({ peer }) => peer === id));
  if (isUsed) throw new Refused(400, `resource ${id} has a dependent object`, "DependencyViolation");
  groups.remove(id);
  return undefined;
}

/** AWS's default quota. */
const maxRules = 60;

export function groupOperations(account: Account): QueryOperations {
  const { groups } = account;
  const changeRules = (
    parameters: SentParameters,
    change: (group: SecurityGroup, rules: readonly Rule[]) => readonly Rule[],
  ): undefined => {
    const group = groups.withID(textIn(parameters["GroupId"]) ?? "");
    groups.change(group.id, { rules: change(group, listIn(parameters["IpPermissions"]).flatMap(rulesIn)) });
    return undefined;
  };
  return {
    "ec2:DescribeSecurityGroups": (parameters) => {
      const found = selected(known(groups), parameters, "GroupId", (one) => ({
        "vpc-id": [one.vpc],
        "group-id": [String(one.id)],
        "group-name": [one.name],
        "ip-permission.group-id": one.rules.map(({ peer }) => peer),
        "ip-permission.from-port": one.rules.map(({ fromPort }) => fromPort),
      }));
      const { entries, nextToken } = pageOf(found, parameters, "GroupId");
      const securityGroupInfo = entries.map((one) => ({
        groupId: one.id,
        groupName: one.name,
        groupDescription: one.description,
        vpcId: one.vpc,
        ipPermissions: permissions(one.rules),
        tagSet: tagSet(one),
      }));
      return { securityGroupInfo, nextToken };
    },
    "ec2:CreateSecurityGroup": (parameters) => create(account, parameters),
    "ec2:DeleteSecurityGroup": (parameters) => remove(account, parameters),
    "ec2:AuthorizeSecurityGroupIngress": (parameters) =>
      changeRules(parameters, ({ rules }, added) => {
        const known = new Set(rules.map(keyOf));
        if (added.some((rule) => known.has(keyOf(rule))))
          throw new Refused(400, "the specified rule already exists", "InvalidPermission.Duplicate");
        if (rules.length + added.length > maxRules)
          throw new Refused(
            400,
            "The maximum number of rules per security group has been reached.",
            "RulesPerSecurityGroupLimitExceeded",
          );
        return [...rules, ...added];
      }),
    "ec2:RevokeSecurityGroupIngress": (parameters) =>
      changeRules(parameters, ({ rules }, removed) => {
        const known = new Set(rules.map(keyOf));
        if (removed.some((rule) => !known.has(keyOf(rule))))
          throw new Refused(
            400,
            "The specified rule does not exist in this security group.",
            "InvalidPermission.NotFound",
          );
        const gone = new Set(removed.map(keyOf));
        return rules.filter((rule) => !gone.has(keyOf(rule)));
      }),
  };
}
