// The security groups of a network load balancer: those that its Service names, or one that Fairlead creates. Pure.

import { applicable, hasAll, warningProblem } from "#ccm";
import type { ApiBalancer } from "../api/elbv2.ts";
import { isOwned } from "../cluster.ts";
import { keyOf } from "./annotations.ts";
import { type Desired, givenGroups, managesGroup, type Observed, type PlanInput } from "./balancer.ts";
import { managedDescription, networkGroupName } from "./balancer-names.ts";
import { closeSteps, deleteUnused, groupCreation, type OwnGroup, openSteps } from "./group-steps.ts";
import { groupRules, type Mapping } from "./network.ts";
import { limitProblems } from "./node-rules.ts";
import { type GroupChange, type Rule, replaceRules } from "./rules.ts";
import { created, elbv2, onListing, type Request, stepFor } from "./steps.ts";

/** One Service with everything that its plan depends on. */
export interface Part {
  readonly lb: string;
  readonly desired: Desired;
  readonly mappings: readonly Mapping[];
  readonly input: PlanInput;
  readonly own: OwnGroup;
}

/**
 * The security groups of the load balancer. AWS adds none to a load balancer that was created without a group. When the
 * annotation is removed, the load balancer's own group is restored, unless the load balancer has one that was created under
 * another cluster name.
 */
export function groupParts(part: Part, observed: Observed, network: ApiBalancer) {
  const { lb, desired, mappings, input, own } = part;
  const { identity } = input.network;
  const has = network.SecurityGroups ?? [];
  const given = givenGroups(desired, input.operator);
  const key = keyOf("security-groups");
  const text = `${key} has no effect: AWS adds no security group to a network load balancer that was created without one. Remove the annotation, or create the Service again.`;
  const isLate = given.length > 0 && has.length === 0;
  const hasManaged = observed.groups.some(
    ({ groupId, groupDescription, tagSet }) =>
      has.includes(groupId) && groupDescription === managedDescription && isOwned(identity.tag, tagSet),
  );
  const returns = managesGroup(desired, input.operator) && !hasManaged;
  const wanted = returns ? [own.group?.groupId ?? created.group] : given;
  const isSame = wanted.length === 0 || has.length === 0 || hasAll(has, wanted);
  const after = isSame ? has : wanted;
  const isUsed = own.group !== undefined && after.includes(own.group.groupId);
  const rules = groupRules(desired, mappings, network.IpAddressType === "dualstack");
  const change: readonly GroupChange[] =
    isUsed && own.group !== undefined && given.length === 0 ? [replaceRules(own.group, rules)] : [];
  const set = elbv2("SetSecurityGroups", {
    LoadBalancerArn: network.LoadBalancerArn,
    SecurityGroups: wanted,
  });
  return {
    problems: applicable(isLate && warningProblem("UnsupportedByCloud", text, key), ...limitProblems(change)),
    opening: [
      ...openSteps(change, "clients"),
      ...stepFor(
        { do: "set security groups", on: lb, restsOn: onListing },
        ...(after.includes(created.group) ? managedGroup(part, rules) : []),
        !isSame && set,
      ),
    ],
    closing: [...closeSteps(change, "clients"), ...(isUsed ? [] : deleteUnused(own, observed))],
  };
}

/** Creates the security group for a network load balancer. */
export function managedGroup({ desired, input }: Part, rules: readonly Rule[]): readonly Request[] {
  const name = networkGroupName(input.operator.cluster, desired.owner);
  return groupCreation({ name, description: managedDescription, rules }, desired, input.network.identity);
}
