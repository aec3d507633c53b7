// Plans the steps from the observed to the desired network load balancer. Pure.

import { inBatches, type Plan, type ProviderProblem, planError, warningProblem } from "#ccm";
import type { ApiBalancer, ApiListener, Attribute, Listener } from "../api/elbv2.ts";
import type { ApiSubnet } from "../api/resources.ts";
import { keyOf, preserveClientIP, proxyProtocolV2 } from "./annotations.ts";
import {
  type Desired,
  givenGroups,
  instanceIDs,
  managesGroup,
  nodesOf,
  type Observed,
  type ObservedTargetGroup,
  type PlanInput,
  rangesOf,
  replaced,
} from "./balancer.ts";
import { networkGroupName, newTags, tagIn } from "./balancer-names.ts";
import { closeSteps, openSteps, ownGroupOf } from "./group-steps.ts";
import {
  attributeChanges,
  groupRules,
  type Mapping,
  mappingsOf,
  ruleProtocols,
  usualAttributes,
} from "./network.ts";
import { groupParts, managedGroup, type Part } from "./network-groups.ts";
import { chooseGroups, groupLists, limitProblems, networkGroupChanges, networkRules } from "./node-rules.ts";
import { replaceRules } from "./rules.ts";
import { type AwsStep, created, elbv2, type Request, stepFor } from "./steps.ts";
import { type Choice, chooseSubnets } from "./subnets.ts";

type Steps = readonly AwsStep[];

/** AWS accepts at most this number of targets in one request. */
const perRequest = 100;
/**
 * AWS's default limit for the targets of a network load balancer in a zone. At the limit, targets must be removed before
 * others are added.
 */
const usualTargets = 500;

type Target = { readonly Id: string; readonly Port: number };
const registering = (arn: string, targets: readonly Target[]): readonly Request[] =>
  inBatches(targets, perRequest).map((some) =>
    elbv2("RegisterTargets", { TargetGroupArn: arn, Targets: some }),
  );

function newTargetGroup(
  { desired, input }: Part,
  { groupName, targetProtocol, nodePort, check }: Mapping,
): readonly Request[] {
  const { settings, owner } = desired;
  const { identity } = input.network;
  const group = {
    Name: groupName,
    Protocol: targetProtocol,
    Port: nodePort,
    VpcId: identity.vpc,
    TargetType: "instance" as const,
  };
  const Tags = newTags(identity, owner, settings["additional-resource-tags"]);
  const usual = new Map([
    [preserveClientIP, "true"],
    [proxyProtocolV2, "false"],
  ]);
  const attributes = [...(settings["target-group-attributes"] ?? [])].filter(
    ([key, value]) => usual.get(key) !== value,
  );
  return [
    elbv2("CreateTargetGroup", { ...group, ...check, Tags }),
    ...(attributes.length > 0
      ? [
          elbv2("ModifyTargetGroupAttributes", {
            TargetGroupArn: created.targetGroup,
            Attributes: attributes.map(([Key, Value]) => ({ Key, Value })),
          }),
        ]
      : []),
    ...registering(
      created.targetGroup,
      instanceIDs(desired).map((Id) => ({ Id, Port: nodePort })),
    ),
  ];
}

function listenerTo({ port, protocol, certificate, tlsPolicy }: Mapping, arn: string): Listener {
  return {
    Port: port,
    Protocol: protocol,
    DefaultActions: [{ Type: "forward", TargetGroupArn: arn }],
    ...(certificate !== undefined && { Certificates: [{ CertificateArn: certificate }] }),
    ...(tlsPolicy !== undefined && { SslPolicy: tlsPolicy }),
  };
}

function newListener(part: Part, mapping: Mapping, balancer: string): readonly Request[] {
  const { desired, input } = part;
  const Tags = newTags(input.network.identity, desired.owner, desired.settings["additional-resource-tags"]);
  const listener = { LoadBalancerArn: balancer, ...listenerTo(mapping, created.targetGroup), Tags };
  return [...newTargetGroup(part, mapping), elbv2("CreateListener", listener)];
}

function isSameGroup({ targetProtocol, nodePort, check }: Mapping, found: ObservedTargetGroup): boolean {
  return (
    found.isOwn &&
    found.Protocol === targetProtocol &&
    Number(found.Port) === nodePort &&
    found.HealthCheckProtocol === check.HealthCheckProtocol &&
    Number(found.HealthCheckIntervalSeconds) === check.HealthCheckIntervalSeconds
  );
}

function isSameListener(
  { protocol, certificate, tlsPolicy }: Mapping,
  { Protocol, Certificates, SslPolicy }: ApiListener,
): boolean {
  if (Protocol !== protocol) return false;
  if (certificate === undefined) return (Certificates ?? []).length === 0;
  return (
    Certificates?.[0]?.CertificateArn === certificate && (tlsPolicy === undefined || SslPolicy === tlsPolicy)
  );
}

function checkSteps({ check }: Mapping, found: ObservedTargetGroup): Steps {
  const isSame =
    check.HealthCheckPort === found.HealthCheckPort &&
    check.HealthyThresholdCount === Number(found.HealthyThresholdCount) &&
    check.UnhealthyThresholdCount === Number(found.UnhealthyThresholdCount) &&
    (check.HealthCheckPath ?? "") === (found.HealthCheckPath ?? "");
  const { HealthCheckProtocol: _, HealthCheckIntervalSeconds: __, ...changes } = check;
  const name = found.TargetGroupName ?? found.TargetGroupArn;
  const modify = elbv2("ModifyTargetGroup", { TargetGroupArn: found.TargetGroupArn, ...changes });
  return stepFor({ do: "set health check", on: name }, !isSame && modify);
}

function attributeSteps(
  { settings }: Desired,
  { TargetGroupArn: arn, TargetGroupName }: ObservedTargetGroup,
  observed: Observed,
): Steps {
  const found = observed.inDepth?.targetGroupAttributes[arn];
  // The protocol does not have the other attributes.
  const changed = [...(settings["target-group-attributes"] ?? [])].filter(
    ([key, value]) => found?.has(key) === true && found.get(key) !== value,
  );
  const attributes = changed.map(([Key, Value]) => ({ Key, Value }));
  const modify = elbv2("ModifyTargetGroupAttributes", { TargetGroupArn: arn, Attributes: attributes });
  return stepFor(
    { do: "set target group attributes", on: TargetGroupName ?? arn },
    changed.length > 0 && modify,
  );
}

/** Draining targets do not count as registered. */
const registeredIn = ({ inDepth }: Observed, group: ObservedTargetGroup | undefined) =>
  (inDepth?.targets[group?.TargetGroupArn ?? ""] ?? []).flatMap(({ Target, TargetHealth }) =>
    TargetHealth?.State === "draining" ? [] : Target,
  );

const idsIn = (observed: Observed, group: ObservedTargetGroup | undefined): readonly string[] =>
  registeredIn(observed, group).map(({ Id }) => Id);

/** Adds new targets before it removes others. */
function targetSteps(
  desired: Desired,
  { nodePort }: Mapping,
  found: ObservedTargetGroup,
  observed: Observed,
): Steps {
  const { TargetGroupArn: arn, TargetGroupName = arn } = found;
  const has = registeredIn(observed, found).map(({ Id, Port }) => ({ Id, Port: Number(Port ?? nodePort) }));
  const wanted = instanceIDs(desired).map((Id) => ({ Id, Port: nodePort }));
  const lacks = (some: readonly Target[], { Id, Port }: Target) =>
    !some.some((one) => one.Id === Id && one.Port === Port);
  const added = wanted.filter((one) => lacks(has, one));
  const removed = has.filter((one) => lacks(wanted, one));
  const nodes = nodesOf(desired);
  const step = { on: TargetGroupName ?? arn, nodes, targetsPart: "all" } as const;
  const adds = added.flatMap(({ Id }) => nodes[Id] ?? []);
  const register = stepFor(
    { ...step, do: "register targets", targets: { adds } },
    ...registering(arn, added),
  );
  const leaving = inBatches(removed, perRequest).map((Targets) =>
    elbv2("DeregisterTargets", { TargetGroupArn: arn, Targets }),
  );
  const removes = removed.map(({ Id }) => Id);
  const deregister = stepFor({ ...step, do: "deregister targets", targets: { removes } }, ...leaving);
  return has.length + added.length > usualTargets
    ? [...deregister, ...register]
    : [...register, ...deregister];
}

const groupOf = (
  { DefaultActions }: ApiListener,
  { targetGroups }: Observed,
): ObservedTargetGroup | undefined =>
  targetGroups.find(({ TargetGroupArn }) => TargetGroupArn === DefaultActions?.[0]?.TargetGroupArn);

export const deleteTargetGroup = ({ TargetGroupArn, TargetGroupName }: ObservedTargetGroup): AwsStep => ({
  do: "delete target group",
  on: TargetGroupName ?? TargetGroupArn,
  requests: [elbv2("DeleteTargetGroup", { TargetGroupArn })],
});

/** A target group with the Service's tags that no other load balancer uses. */
export const isDeletable = (
  { isOwn, LoadBalancerArns: arns }: ObservedTargetGroup,
  balancer: string | undefined,
): boolean => isOwn && (arns ?? []).every((arn) => arn === balancer);

/** A target group that remained after an interrupted creation or deletion. */
function unusedTargetGroups({ targetGroups, inDepth }: Observed): readonly ObservedTargetGroup[] {
  const used = new Set(
    (inDepth?.listeners ?? []).flatMap(
      ({ DefaultActions: all }) => all?.map(({ TargetGroupArn: arn }) => arn) ?? [],
    ),
  );
  return targetGroups.filter(
    ({ isOwn, LoadBalancerArns, TargetGroupArn }) =>
      isOwn && (LoadBalancerArns ?? []).length === 0 && !used.has(TargetGroupArn),
  );
}

/** Changes listeners one by one: a target group is replaced before it is deleted, and ports are added before others are removed. */
function listenerSteps(part: Part, observed: Observed, { LoadBalancerArn }: ApiBalancer): Steps {
  const { lb, desired, mappings } = part;
  const listeners = observed.inDepth?.listeners ?? [];
  const at = (port: number) => listeners.find(({ Port }) => Number(Port) === port);
  const on = (port: number) => `${lb}:${port}`;
  const nodes = nodesOf(desired);
  const isShared = (group: ObservedTargetGroup) =>
    listeners.filter((one) => groupOf(one, observed)?.TargetGroupArn === group.TargetGroupArn).length > 1;
  const deleteOwn = (group: ObservedTargetGroup | undefined): Steps =>
    group !== undefined && isDeletable(group, LoadBalancerArn) && !isShared(group)
      ? [deleteTargetGroup(group)]
      : [];
  const known = observed.targetGroups.flatMap((group) => idsIn(observed, group));
  const { adds = [] } = replaced(desired, known) ?? {};
  const fresh = adds.length === 0 ? undefined : { adds };
  const present = mappings.flatMap((mapping): Steps => {
    const listener = at(mapping.port);
    if (listener === undefined)
      return stepFor(
        { do: "create listener", on: on(mapping.port), nodes, targets: fresh },
        ...newListener(part, mapping, LoadBalancerArn),
      );
    const group = groupOf(listener, observed);
    const { ListenerArn } = listener;
    if (group !== undefined && isSameGroup(mapping, group)) {
      const modify = elbv2("ModifyListener", { ListenerArn, ...listenerTo(mapping, group.TargetGroupArn) });
      return [
        ...stepFor(
          { do: "change listener", on: on(mapping.port) },
          !isSameListener(mapping, listener) && modify,
        ),
        ...targetSteps(desired, mapping, group, observed),
        ...checkSteps(mapping, group),
        ...attributeSteps(desired, group, observed),
      ];
    }
    const modify = elbv2("ModifyListener", { ListenerArn, ...listenerTo(mapping, created.targetGroup) });
    const targets = replaced(desired, idsIn(observed, group));
    return [
      ...stepFor(
        { do: "replace target group", on: on(mapping.port), nodes, targets },
        ...[...newTargetGroup(part, mapping), modify],
      ),
      ...deleteOwn(group),
    ];
  });
  const stale = listeners.filter(({ Port }) => !mappings.some(({ port }) => port === Number(Port)));
  const removed = stale.flatMap((listener): Steps => {
    const group = groupOf(listener, observed);
    return [
      ...stepFor(
        { do: "delete listener", on: on(Number(listener.Port)) },
        elbv2("DeleteListener", { ListenerArn: listener.ListenerArn }),
      ),
      ...deleteOwn(group),
    ];
  });
  return [...unusedTargetGroups(observed).map(deleteTargetGroup), ...present, ...removed];
}

const rangesIn = (subnets: readonly ApiSubnet[]): readonly string[] =>
  subnets.flatMap(({ cidrBlock }) => cidrBlock ?? []);

function nodeRules({ lb, desired, mappings, input }: Part, subnets: readonly ApiSubnet[]) {
  const ports = mappings.flatMap(({ targetProtocol, nodePort }) =>
    ruleProtocols(targetProtocol).map((protocol) => ({ protocol, nodePort })),
  );
  return networkRules(
    desired,
    { lb, ports, clients: rangesOf(desired, "IPv4"), subnets: rangesIn(subnets) },
    input.operator,
  );
}

/** Admits IPv6 clients only if they are restricted as the Service requires: Nodes see addresses of the load balancer instead. */
function isDualStack(
  { desired, mappings }: Part,
  subnets: readonly ApiSubnet[],
  isRestricted: boolean,
): boolean {
  return (
    desired.families.includes("IPv6") &&
    desired.families.includes("IPv4") &&
    (desired.sourceRanges === undefined || isRestricted) &&
    mappings.every(({ protocol }) => protocol === "TCP" || protocol === "TLS") &&
    subnets.every(({ ipv6CidrBlockAssociationSet: all }) => (all ?? []).length > 0)
  );
}

const setAttributes = (LoadBalancerArn: string, Attributes: readonly Attribute[]): Request =>
  elbv2("ModifyLoadBalancerAttributes", { LoadBalancerArn, Attributes });

function planCreation(
  part: Part,
  { subnets, problem }: Choice,
  observed: Observed | undefined,
): Plan<AwsStep> {
  if (problem !== undefined) return { steps: [], problems: [problem] };
  const { lb, desired, mappings, input, own } = part;
  const { settings, owner } = desired;
  const lists = (["eip-allocations", "private-ipv4-addresses"] as const).map(
    (name) => [name, [...(settings[name] ?? new Map()).keys()]] as const,
  );
  const odd = lists.find(([, all]) => all.length > 0 && all.length !== subnets.length);
  if (odd !== undefined) {
    const text = `${keyOf(odd[0])} has ${odd[1].length} entries for ${subnets.length} subnets (${subnets.map(({ subnetId }) => subnetId).join(", ")}). No load balancer is created. Write one for each subnet.`;
    return planError("InvalidAnnotation", text, keyOf(odd[0]));
  }
  const [allocations = [], addresses = []] = lists.map(([, all]) => all);
  const managed = managesGroup(desired, input.operator);
  const isDual = isDualStack(part, subnets, managed);
  const rules = groupRules(desired, mappings, isDual);
  const isCreated = managed && own.group === undefined;
  const leftOver = managed && own.group !== undefined ? [replaceRules(own.group, rules)] : [];
  const groups = managed ? [own.group?.groupId ?? created.group] : givenGroups(desired, input.operator);
  const balancer = {
    Name: lb,
    Type: "network" as const,
    Scheme: settings.internal ? ("internal" as const) : ("internet-facing" as const),
    ...(isDual && { IpAddressType: "dualstack" as const }),
    SubnetMappings: subnets.map(({ subnetId }, index) => ({
      SubnetId: subnetId,
      ...(allocations[index] !== undefined && { AllocationId: allocations[index] }),
      ...(addresses[index] !== undefined && { PrivateIPv4Address: addresses[index] }),
    })),
    ...(groups.length > 0 && { SecurityGroups: groups }),
    Tags: newTags(input.network.identity, owner, settings["additional-resource-tags"]),
  };
  const attributes = attributeChanges(desired, usualAttributes);
  const nodes = groupLists(desired);
  const opens = !input.operator["disable-security-group-ingress"] && nodes.length > 0;
  const unused = observed === undefined ? [] : unusedTargetGroups(observed);
  return {
    steps: [
      ...own.repairs,
      ...unused.map(deleteTargetGroup),
      ...openSteps(leftOver, "clients"),
      ...closeSteps(leftOver, "clients"),
      ...stepFor(
        { do: "create load balancer", on: lb, nodes: nodesOf(desired), targets: replaced(desired, []) },
        ...(isCreated ? managedGroup(part, rules) : []),
        elbv2("CreateLoadBalancer", balancer),
        opens && { open: { lists: nodes, rules: nodeRules(part, subnets) } },
        attributes.length > 0 && setAttributes(created.balancer, attributes),
        ...mappings.flatMap((mapping) => newListener(part, mapping, created.balancer)),
      ),
    ],
  };
}

function subnetProblems(
  { settings }: Desired,
  { subnets, problem }: Choice,
  network: ApiBalancer,
): readonly ProviderProblem[] {
  if (settings.subnets === undefined) return [];
  if (problem !== undefined) return [{ ...problem, severity: "warning" }];
  const has = (network.AvailabilityZones ?? []).flatMap(({ SubnetId }) => SubnetId ?? []);
  const isSame = has.length === subnets.length && subnets.every(({ subnetId }) => has.includes(subnetId));
  if (isSame) return [];
  const key = keyOf("subnets");
  const text = `${key} cannot be changed after the load balancer is created: it keeps ${has.join(", ")}. Restore the old value, or create the Service again.`;
  return [warningProblem("UnsupportedByCloud", text, key)];
}

function planChanges(part: Part, observed: Observed, network: ApiBalancer, choice: Choice): Plan<AwsStep> {
  const { lb, desired, input } = part;
  const arn = network.LoadBalancerArn;
  const tags = newTags(input.network.identity, desired.owner, desired.settings["additional-resource-tags"]);
  // As in the Go manager, an existing load balancer gets only the tags of the Service.
  const additional = new Set(desired.settings["additional-resource-tags"]?.keys());
  const missing = tags.filter(({ Key, Value }) => additional.has(Key) && tagIn(observed.tags, Key) !== Value);
  const attributes = attributeChanges(desired, observed.inDepth?.attributes ?? usualAttributes);
  const zones = new Set((network.AvailabilityZones ?? []).map(({ SubnetId }) => SubnetId));
  const subnets = input.network.subnets.filter(({ subnetId }) => zones.has(subnetId));
  const chosen = chooseGroups(groupLists(desired), input.network.identity, observed.groups);
  const leaves = input.operator["disable-security-group-ingress"];
  const onNodes = leaves ? [] : networkGroupChanges(observed, chosen.ids, nodeRules(part, subnets));
  const own = groupParts(part, observed, network);
  return {
    steps: [
      ...part.own.repairs,
      ...stepFor(
        { do: "tag load balancer", on: lb },
        missing.length > 0 && elbv2("AddTags", { ResourceArns: [arn], Tags: missing }),
      ),
      ...openSteps(onNodes, "load balancer"),
      ...own.opening,
      ...stepFor({ do: "set attributes", on: lb }, attributes.length > 0 && setAttributes(arn, attributes)),
      ...listenerSteps(part, observed, network),
      ...closeSteps(onNodes, "load balancer"),
      ...own.closing,
    ],
    problems: [
      ...(leaves ? [] : chosen.problems),
      ...subnetProblems(desired, choice, network),
      ...own.problems,
      ...limitProblems(onNodes),
    ],
  };
}

export function planNetwork(
  desired: Desired,
  observed: Observed | undefined,
  input: PlanInput,
): Plan<AwsStep> {
  const lb = desired.defaultName;
  const own = ownGroupOf(
    observed?.groups ?? [],
    input.network.identity,
    networkGroupName(input.operator.cluster, desired.owner),
  );
  const part = { lb, desired, mappings: mappingsOf(desired, input), input, own };
  const { subnets: named, internal } = desired.settings;
  const choice = chooseSubnets(input.network, named, internal);
  if (own.problem !== undefined && managesGroup(desired, input.operator))
    return { steps: [], problems: [own.problem] };
  const network = observed?.network;
  if (observed === undefined || network === undefined) return planCreation(part, choice, observed);
  return planChanges(part, observed, network, choice);
}
