// Plans the steps from the observed to the desired classic load balancer. Pure.

import { hasAll, type Plan, type ProviderProblem } from "#ccm";
import type { Tag } from "../api/ec2.ts";
import type {
  ApiClassicAttributes,
  ApiClassicBalancer,
  ClassicAttributes,
  ClassicListener,
} from "../api/elb.ts";
import type { ApiSecurityGroup } from "../api/resources.ts";
import {
  type Desired,
  givenGroups,
  instanceIDs,
  managesGroup,
  nodesOf,
  type Observed,
  type PlanInput,
} from "./balancer.ts";
import { classicGroupName, newTags, serviceName, tagIn, tagList } from "./balancer-names.ts";
import { type ClassicSpec, classicSpec } from "./classic.ts";
import {
  closeSteps,
  deleteUnused,
  groupCreation,
  type OwnGroup,
  openSteps,
  ownGroupOf,
  restOnUses,
} from "./group-steps.ts";
import { isSameClassicCheck } from "./health-check.ts";
import { chooseGroups, classicGroupChanges, classicRule, groupLists, limitProblems } from "./node-rules.ts";
import { replaceRules } from "./rules.ts";
import { type AwsStep, created, elb, type Request, stepFor } from "./steps.ts";
import { type Choice, chooseSubnets } from "./subnets.ts";

type Steps = readonly AwsStep[];

const proxyPolicy = "k8s-proxyprotocol-enabled";
const tlsPolicyName = (policy: string): string => `k8s-SSLNegotiationPolicy-${policy}`;
const isTLS = ({ Protocol }: { readonly Protocol?: string | null | undefined }): boolean =>
  /^(ssl|https)$/i.test(Protocol ?? "");

const same = (one: string | null | undefined, other: string | undefined): boolean =>
  (one ?? "").toLowerCase() === (other ?? "").toLowerCase();

function isSameListener(
  wanted: ClassicListener,
  found: NonNullable<ApiClassicBalancer["ListenerDescriptions"]>[number]["Listener"],
): boolean {
  return (
    Number(found.LoadBalancerPort) === wanted.LoadBalancerPort &&
    Number(found.InstancePort) === wanted.InstancePort &&
    same(found.Protocol, wanted.Protocol) &&
    same(found.InstanceProtocol, wanted.InstanceProtocol) &&
    same(found.SSLCertificateId, wanted.SSLCertificateId)
  );
}

/** New ports are added before old ports are removed. A port has one listener, so a changed one is removed before it is created again. */
function listenerSteps(
  lb: string,
  { listeners }: ClassicSpec,
  { ListenerDescriptions }: ApiClassicBalancer,
): Steps {
  const found = (ListenerDescriptions ?? []).map(({ Listener }) => Listener);
  const stale = found.filter((one) => !listeners.some((wanted) => isSameListener(wanted, one)));
  const missing = listeners.filter((wanted) => !found.some((one) => isSameListener(wanted, one)));
  const taken = stale.map(({ LoadBalancerPort }) => Number(LoadBalancerPort));
  const changed = missing.filter(({ LoadBalancerPort }) => taken.includes(LoadBalancerPort));
  const added = missing.filter((one) => !changed.includes(one));
  const create = (all: readonly ClassicListener[]) =>
    elb("CreateLoadBalancerListeners", lb, { Listeners: all });
  const remove = (ports: readonly number[]) =>
    elb("DeleteLoadBalancerListeners", lb, { LoadBalancerPorts: ports });
  const ports = changed.map(({ LoadBalancerPort }) => LoadBalancerPort);
  const removed = taken.filter((port) => !ports.includes(port));
  return [
    ...stepFor({ do: "create listeners", on: lb }, added.length > 0 && create(added)),
    ...(ports.length > 0 ? stepFor({ do: "replace listeners", on: lb }, remove(ports), create(changed)) : []),
    ...stepFor({ do: "delete listeners", on: lb }, removed.length > 0 && remove(removed)),
  ];
}

function policySteps(lb: string, spec: ClassicSpec, classic: ApiClassicBalancer): Steps {
  const known = classic.Policies?.OtherPolicies ?? [];
  const policy = (name: string, type: string, attribute: string, value: string) => {
    const PolicyAttributes = [{ AttributeName: attribute, AttributeValue: value }];
    return elb("CreateLoadBalancerPolicy", lb, { PolicyName: name, PolicyTypeName: type, PolicyAttributes });
  };
  const backends = new Map(
    (classic.BackendServerDescriptions ?? []).map((one) => [Number(one.InstancePort), one.PolicyNames ?? []]),
  );
  const ports = new Set(spec.listeners.map(({ InstancePort }) => InstancePort));
  const enabled = spec.usesProxyProtocol
    ? [...ports].filter((port) => backends.get(port)?.includes(proxyPolicy) !== true)
    : [];
  const disabled = [...backends].flatMap(([port, names]) =>
    names.includes(proxyPolicy) && !(spec.usesProxyProtocol && ports.has(port)) ? [port] : [],
  );
  /** Policies that a user has added stay. */
  const set = (InstancePort: number, own: readonly string[]) => {
    const others = (backends.get(InstancePort) ?? []).filter((name) => name !== proxyPolicy);
    return elb("SetLoadBalancerPoliciesForBackendServer", lb, {
      InstancePort,
      PolicyNames: [...others, ...own],
    });
  };
  const proxy = [
    enabled.length > 0 &&
      !known.includes(proxyPolicy) &&
      policy(proxyPolicy, "ProxyProtocolPolicyType", "ProxyProtocol", "true"),
    ...enabled.map((port) => set(port, [proxyPolicy])),
    ...disabled.map((port) => set(port, [])),
  ];
  const name = spec.tlsPolicy === undefined ? "" : tlsPolicyName(spec.tlsPolicy);
  const shown = classic.ListenerDescriptions ?? [];
  const lacking = spec.listeners.filter(
    (wanted) =>
      isTLS(wanted) &&
      !shown.some(
        ({ Listener, PolicyNames }) => isSameListener(wanted, Listener) && PolicyNames?.includes(name),
      ),
  );
  const tls =
    spec.tlsPolicy === undefined || lacking.length === 0
      ? []
      : [
          !known.includes(name) &&
            policy(name, "SSLNegotiationPolicyType", "Reference-Security-Policy", spec.tlsPolicy),
          ...lacking.map(({ LoadBalancerPort }) =>
            elb("SetLoadBalancerPoliciesOfListener", lb, { LoadBalancerPort, PolicyNames: [name] }),
          ),
        ];
  return [
    ...stepFor({ do: "set PROXY protocol", on: lb }, ...proxy),
    ...stepFor({ do: "set TLS policy", on: lb }, ...tls),
  ];
}

/** Members that the Service does not set keep their values. */
function isSameAttributes(wanted: ClassicAttributes, found: ApiClassicAttributes): boolean {
  return (Object.keys(wanted) as (keyof ClassicAttributes)[]).every((name) =>
    Object.entries(wanted[name] ?? {}).every(([member, value]) => {
      const shown = (found[name] as Readonly<Record<string, string | null>> | null | undefined)?.[member];
      return String(value) === (shown ?? "");
    }),
  );
}

const usualAttributes: ApiClassicAttributes = {
  AccessLog: { Enabled: "false" },
  ConnectionDraining: { Enabled: "false", Timeout: "300" },
  ConnectionSettings: { IdleTimeout: "60" },
  CrossZoneLoadBalancing: { Enabled: "false" },
};

/** Each zone has one subnet: the new subnet replaces the old one. New subnets are attached before old subnets are detached. */
function subnetSteps(
  lb: string,
  { subnets }: Choice,
  classic: ApiClassicBalancer,
  { network }: PlanInput,
): Steps {
  if (subnets.length === 0) return [];
  const has = classic.Subnets ?? [];
  const added = subnets.filter(({ subnetId }) => !has.includes(subnetId));
  const zones = new Set(added.map(({ availabilityZone }) => availabilityZone));
  const zoneOf = (id: string) => network.subnets.find(({ subnetId }) => subnetId === id)?.availabilityZone;
  const removed = has.filter(
    (id) => !subnets.some(({ subnetId }) => subnetId === id) && !zones.has(zoneOf(id)),
  );
  const ids = added.map(({ subnetId }) => subnetId);
  return [
    ...stepFor(
      { do: "attach subnets", on: lb },
      ids.length > 0 && elb("AttachLoadBalancerToSubnets", lb, { Subnets: ids }),
    ),
    ...stepFor(
      { do: "detach subnets", on: lb },
      removed.length > 0 && elb("DetachLoadBalancerFromSubnets", lb, { Subnets: removed }),
    ),
  ];
}

/** Adds new targets before it removes others. */
function targetSteps(lb: string, desired: Desired, classic: ApiClassicBalancer): Steps {
  const has = (classic.Instances ?? []).map(({ InstanceId }) => InstanceId);
  const wanted = instanceIDs(desired);
  const list = (ids: readonly string[]) => ({ Instances: ids.map((InstanceId) => ({ InstanceId })) });
  const added = wanted.filter((id) => !has.includes(id));
  const removed = has.filter((id) => !wanted.includes(id));
  const nodes = nodesOf(desired);
  const step = { on: lb, nodes, targetsPart: "all" } as const;
  const adds = added.flatMap((id) => nodes[id] ?? []);
  return [
    ...stepFor(
      { ...step, do: "register targets", targets: { adds } },
      added.length > 0 && elb("RegisterInstancesWithLoadBalancer", lb, list(added)),
    ),
    ...stepFor(
      { ...step, do: "deregister targets", targets: { removes: removed } },
      removed.length > 0 && elb("DeregisterInstancesFromLoadBalancer", lb, list(removed)),
    ),
  ];
}

function groupDescription(lb: string, { owner }: Desired): string {
  return `Security group for Kubernetes ELB ${lb} (${serviceName(owner)})`;
}

interface Part {
  readonly lb: string;
  readonly desired: Desired;
  readonly spec: ClassicSpec;
  readonly input: PlanInput;
  readonly own: OwnGroup;
}

function creationOf({ lb, desired, spec, input, own }: Part): readonly Request[] {
  const { identity } = input.network;
  const { rules } = spec;
  const group = { name: classicGroupName(lb), description: groupDescription(lb, desired), rules };
  return managesGroup(desired, input.operator) && own.group === undefined
    ? groupCreation(group, desired, identity)
    : [];
}

function openNodes({ desired, input, own }: Part): readonly Request[] {
  const [given] = givenGroups(desired, input.operator);
  const ownID = own.group?.groupId ?? created.group;
  const rules = [classicRule(given ?? ownID, [ownID])];
  const lists = groupLists(desired);
  return input.operator["disable-security-group-ingress"] || lists.length === 0
    ? []
    : [{ open: { lists, rules } }];
}

function groupsOf({ desired, input, own }: Part): readonly string[] {
  const first = managesGroup(desired, input.operator)
    ? [own.group?.groupId ?? created.group]
    : givenGroups(desired, input.operator);
  return [...new Set([...first, ...(desired.settings["extra-security-groups"] ?? [])])];
}

/** The steps for the security groups of the load balancer and their rules. */
function groupParts(part: Part, observed: Observed, classic: ApiClassicBalancer) {
  const { lb, desired, spec, own, input } = part;
  const { identity } = input.network;
  const wanted = groupsOf(part);
  const has = classic.SecurityGroups ?? [];
  const isUsed = own.group !== undefined && wanted.includes(own.group.groupId);
  const ownChange = isUsed && own.group !== undefined ? [replaceRules(own.group, spec.rules)] : [];
  const chosen = chooseGroups(groupLists(desired), identity, observed.groups);
  const unused = own.group !== undefined && !isUsed ? [own.group.groupId] : [];
  const former = [...new Set([...has.filter((id) => !wanted.includes(id)), ...unused])];
  const owned = own.group === undefined ? [] : [own.group.groupId];
  const peers = { current: wanted, former, own: owned };
  const leaves = input.operator["disable-security-group-ingress"];
  const isCreated = wanted.includes(created.group);
  // The rules of a new group are added when it is created.
  const onNodes = leaves
    ? []
    : classicGroupChanges(observed, isCreated ? { ...peers, current: [] } : peers, chosen.ids);
  const apply = elb("ApplySecurityGroupsToLoadBalancer", lb, { SecurityGroups: wanted });
  const creation = creationOf(part);
  return {
    problems: [...(leaves ? [] : chosen.problems), ...limitProblems([...ownChange, ...onNodes])],
    opening: [
      ...openSteps(ownChange, "clients"),
      ...openSteps(onNodes, "load balancer"),
      ...(hasAll(has, wanted)
        ? []
        : stepFor(
            { do: "set security groups", on: lb },
            ...[...creation, ...(isCreated ? openNodes(part) : []), apply],
          )),
    ],
    closing: [
      ...restOnUses(closeSteps(onNodes, "load balancer")),
      ...closeSteps(ownChange, "clients"),
      ...(unused.length > 0 ? deleteUnused(own, observed) : []),
    ],
  };
}

/** The steps for everything except security groups and subnets. */
function settingSteps(
  { lb, desired, spec }: Part,
  classic: ApiClassicBalancer,
  attributes: ApiClassicAttributes,
): Steps {
  const modify = elb("ModifyLoadBalancerAttributes", lb, { LoadBalancerAttributes: spec.attributes });
  const check = elb("ConfigureHealthCheck", lb, { HealthCheck: spec.check });
  return [
    ...policySteps(lb, spec, classic),
    ...stepFor({ do: "set attributes", on: lb }, !isSameAttributes(spec.attributes, attributes) && modify),
    ...stepFor(
      { do: "set health check", on: lb },
      !isSameClassicCheck(spec.check, classic.HealthCheck) && check,
    ),
    ...targetSteps(lb, desired, classic),
  ];
}

function planCreation(part: Part, { subnets, problem }: Choice): Plan<AwsStep> {
  if (problem !== undefined) return { steps: [], problems: [problem] };
  const { lb, desired, spec, input, own } = part;
  const balancer = {
    Listeners: spec.listeners,
    Subnets: subnets.map(({ subnetId }) => subnetId),
    SecurityGroups: groupsOf(part),
    ...(desired.settings.internal && { Scheme: "internal" as const }),
    Tags: newTags(input.network.identity, desired.owner, desired.settings["additional-resource-tags"]),
  };
  const leftOver =
    own.group !== undefined && managesGroup(desired, input.operator)
      ? [replaceRules(own.group, spec.rules)]
      : [];
  const creation = stepFor(
    { do: "create load balancer", on: lb },
    ...[...creationOf(part), elb("CreateLoadBalancer", lb, balancer), ...openNodes(part)],
  );
  const fresh = {
    LoadBalancerName: lb,
    ListenerDescriptions: spec.listeners.map((one) => ({ Listener: textsOf(one) })),
  };
  return {
    steps: [
      ...own.repairs,
      ...openSteps(leftOver, "clients"),
      ...closeSteps(leftOver, "clients"),
      ...creation,
      ...settingSteps(part, fresh, usualAttributes),
    ],
  };
}

const addTags = (lb: string, Tags: readonly Tag[]): Request => ({
  service: "elb",
  action: "AddTags",
  parameters: { LoadBalancerNames: [lb], Tags },
});

const textsOf = (listener: ClassicListener) =>
  Object.fromEntries(Object.entries(listener).map(([name, value]) => [name, String(value)]));

export function planClassic(
  desired: Desired,
  observed: Observed | undefined,
  input: PlanInput,
): Plan<AwsStep> {
  const lb = desired.defaultName;
  const spec = classicSpec(desired, input);
  const groups: readonly ApiSecurityGroup[] = observed?.groups ?? [];
  const own = ownGroupOf(groups, input.network.identity, classicGroupName(lb));
  const { subnets: named, internal, "additional-resource-tags": tags } = desired.settings;
  const choice = chooseSubnets(input.network, named, internal);
  const part = { lb, desired, spec, input, own };
  if (own.problem !== undefined && managesGroup(desired, input.operator))
    return { steps: [], problems: [own.problem] };
  const classic = observed?.classic;
  if (observed === undefined || classic === undefined) return planCreation(part, choice);
  const parts = groupParts(part, observed, classic);
  const missing = tagList(tags).filter(({ Key, Value }) => tagIn(observed.tags, Key) !== Value);
  const kept: readonly ProviderProblem[] =
    choice.problem === undefined ? [] : [{ ...choice.problem, severity: "warning" }];
  return {
    steps: [
      ...own.repairs,
      ...stepFor({ do: "tag load balancer", on: lb }, missing.length > 0 && addTags(lb, missing)),
      ...parts.opening,
      ...subnetSteps(lb, choice, classic, input),
      ...listenerSteps(lb, spec, classic),
      ...settingSteps(part, classic, observed.inDepth?.classicAttributes ?? usualAttributes),
      ...parts.closing,
    ],
    problems: [...kept, ...parts.problems],
  };
}
