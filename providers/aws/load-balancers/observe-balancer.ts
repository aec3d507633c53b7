// Reads load balancers with their parts: all of a region for listings, a single one in depth, and after a change the
// parts that Fairlead changed.

import { type Call, CloudError, collect, ifFound, inBatches, ownersOfDefaultName } from "#ccm";
import type { Filter } from "../api/ec2.ts";
import type { ApiClassicBalancer } from "../api/elb.ts";
import type { ApiBalancer, ApiTargetGroup } from "../api/elbv2.ts";
import type { ApiSecurityGroup } from "../api/resources.ts";
import { clusterFilters, hasClusterTag, isOwned } from "../cluster.ts";
import {
  type BalancerSettings,
  type Desired,
  type InDepth,
  isNetwork,
  managesGroup,
  type Observed,
  type ObservedTargetGroup,
} from "./balancer.ts";
import {
  classicGroupName,
  groupNamed,
  type Identity,
  networkGroupName,
  otherCluster,
  serviceName,
  serviceTag,
  type Tags,
  tagIn,
  tagsOf,
} from "./balancer-names.ts";
import { groupLists } from "./node-rules.ts";
import type { BalancingApi, Part } from "./steps.ts";

const none: Tags = [];

/** All data of a region before it is combined. */
interface Parts {
  readonly identity: Identity;
  readonly groups: readonly ApiSecurityGroup[];
  readonly targetGroups: readonly ApiTargetGroup[];
  /** Tags by the name of a classic load balancer, or by ARN. */
  readonly tags: ReadonlyMap<string, Tags>;
  /** The number of load balancers that use a security group, by id of the group. */
  readonly uses: ReadonlyMap<string, number>;
  readonly checkers: Observed["checkers"];
  readonly foreign: Observed["foreign"];
  /** The Service whose load balancer was looked up by name, because the load balancer may lack the tags. */
  readonly member?: Desired | undefined;
}

/** Reads tags in batches. A load balancer that was deleted in the meantime fails its batch, so each is then read separately. */
async function tagsFor<T>(
  ids: readonly string[],
  read: (ids: readonly string[]) => Promise<readonly T[]>,
): Promise<readonly T[]> {
  const all = await Promise.all(
    inBatches(ids, 20).map(async (batch) => {
      const found = await ifFound(read(batch));
      if (found !== undefined || batch.length === 1) return found ?? [];
      return (await Promise.all(batch.map(async (id) => (await ifFound(read([id]))) ?? []))).flat();
    }),
  );
  return all.flat();
}

async function readTags(
  api: BalancingApi,
  classics: readonly ApiClassicBalancer[],
  networks: readonly ApiBalancer[],
  targetGroups: readonly ApiTargetGroup[],
  call: Call,
): Promise<ReadonlyMap<string, Tags>> {
  const arns = new Set(networks.map(({ LoadBalancerArn }) => LoadBalancerArn));
  const related = targetGroups.filter(({ LoadBalancerArns: all, TargetGroupName }) => {
    const isNamed = TargetGroupName?.startsWith("k8s-") === true;
    return isNamed && ((all ?? []).length === 0 || all?.some((arn) => arns.has(arn)));
  });
  const resources = [...arns, ...related.map(({ TargetGroupArn }) => TargetGroupArn)];
  const names = classics.map(({ LoadBalancerName }) => LoadBalancerName);
  const [byName, byArn] = await Promise.all([
    tagsFor(names, (some) => api.elb.describeTags(some, call)),
    tagsFor(resources, (some) => api.elbv2.describeTags(some, call)),
  ]);
  return new Map([
    ...byName.map(({ LoadBalancerName, Tags }) => [LoadBalancerName, tagsOf(Tags)] as const),
    ...byArn.map(({ ResourceArn, Tags }) => [ResourceArn, tagsOf(Tags)] as const),
  ]);
}

async function clusterGroups(
  { ec2 }: BalancingApi,
  { tag, vpc }: Identity,
  call: Call,
): Promise<readonly ApiSecurityGroup[]> {
  const inVPC = { Name: "vpc-id", Value: [vpc] };
  const read = (filter: Filter) => ec2.describeSecurityGroups({ Filter: [inVPC, filter] }, call);
  return merged(...(await Promise.all(clusterFilters(tag).map(read))));
}

const merged = (...all: readonly (readonly ApiSecurityGroup[])[]): readonly ApiSecurityGroup[] => [
  ...new Map(all.flat().map((one) => [one.groupId, one])).values(),
];

const states: Readonly<Record<string, Observed["state"]>> = { provisioning: "changing", failed: "failed" };

function toObserved(
  balancer: { readonly classic: ApiClassicBalancer } | { readonly network: ApiBalancer },
  parts: Parts,
): Observed {
  const { identity, groups, uses, checkers, foreign, member } = parts;
  const classic = "classic" in balancer ? balancer.classic : undefined;
  const network = "network" in balancer ? balancer.network : undefined;
  const lb = classic?.LoadBalancerName ?? network?.LoadBalancerName ?? "";
  const arn = network?.LoadBalancerArn;
  const tags = parts.tags.get(arn ?? lb) ?? none;
  const own = new Set(classic?.SecurityGroups ?? network?.SecurityGroups);
  const named = member?.defaultName === lb ? serviceName(member.owner) : undefined;
  const service = tagIn(tags, serviceTag) ?? named;
  const targetGroups = arn === undefined ? [] : targetGroupsFor(service, arn, parts);
  return {
    lb,
    keys: [lb],
    classic,
    network,
    groups,
    targetGroups,
    checkers,
    foreign,
    usedGroups: new Set([...uses].flatMap(([id, count]) => (count > (own.has(id) ? 1 : 0) ? [id] : []))),
    name: network === undefined ? lb : `${lb} (network)`,
    ...marked(identity, lb, tags),
    state: states[network?.State?.Code ?? ""] ?? "ready",
    shallow: true,
  };
}

/** The owner of a load balancer, derived from its name and tags. */
function marked(identity: Identity, lb: string, tags: Tags) {
  const other = otherCluster(identity, tags);
  const owners = ownersOfDefaultName(lb);
  const isOurs = owners.length > 0 && hasClusterTag(identity.tag, tags);
  const ownership = isOurs ? ("ours" as const) : ("unmarked" as const);
  return other === undefined
    ? { owners, tags, ownership }
    : { owners, tags, ownership: "foreign" as const, cluster: other };
}

/** The target groups that are attached to the load balancer, or left over from one of the Service. */
function targetGroupsFor(
  service: string | undefined,
  arn: string | undefined,
  { identity, targetGroups, tags }: Pick<Parts, "identity" | "targetGroups" | "tags">,
): readonly ObservedTargetGroup[] {
  return targetGroups.flatMap((one) => {
    const own = tags.get(one.TargetGroupArn) ?? none;
    const isOwn = service !== undefined && tagIn(own, serviceTag) === service && isOwned(identity.tag, own);
    const isAttached = arn !== undefined && one.LoadBalancerArns?.includes(arn) === true;
    return isAttached || (isOwn && (one.LoadBalancerArns ?? []).length === 0) ? [{ ...one, isOwn }] : [];
  });
}

/** Several load balancers may check the same port of a Node, for example that of kube-proxy. */
function checkersIn(
  targetGroups: Parts["targetGroups"],
  isOurs: (arn: string) => boolean,
): Observed["checkers"] {
  const checkers = new Map<string, readonly string[]>();
  for (const { HealthCheckPort: port = "", LoadBalancerArns: arns } of targetGroups) {
    const own = (arns ?? []).filter(isOurs);
    if (port !== null && /^\d+$/.test(port)) checkers.set(port, [...(checkers.get(port) ?? []), ...own]);
  }
  return checkers;
}

/** Matches the names that managers assign and few others: only these load balancers cost additional requests. */
const isPossible = (name: string): boolean => /^a[0-9a-z]{3,31}$/.test(name);

async function readAll(api: BalancingApi, { vpc }: Identity, call: Call) {
  const [classics, all] = await Promise.all([
    collect(api.elb.balancerPages(call)),
    collect(api.elbv2.balancerPages(call)),
  ]);
  const ids = [...classics, ...all].flatMap(({ SecurityGroups }) => SecurityGroups ?? []);
  const uses = new Map<string, number>();
  for (const id of ids) uses.set(id, (uses.get(id) ?? 0) + 1);
  return {
    classics: classics.filter(
      ({ LoadBalancerName: name, VPCId }) => isPossible(name) && (VPCId ?? vpc) === vpc,
    ),
    networks: all.filter(({ LoadBalancerName: name, Type }) => isPossible(name) && Type === "network"),
    uses,
  };
}

/** All load balancers that a manager may have created. */
export async function listBalancers(
  api: BalancingApi,
  identity: Identity,
  call: Call,
  member?: Desired,
): Promise<readonly Observed[]> {
  const { classics, networks, uses } = await readAll(api, identity, call);
  const readTagged = async () => {
    const targetGroups = networks.length > 0 ? await collect(api.elbv2.targetGroupPages(call)) : [];
    return { targetGroups, tags: await readTags(api, classics, networks, targetGroups, call) };
  };
  const [{ targetGroups, tags }, groups] = await Promise.all([
    readTagged(),
    classics.length + networks.length > 0 ? clusterGroups(api, identity, call) : [],
  ]);
  const isOurs = (arn: string) => hasClusterTag(identity.tag, tags.get(arn) ?? none);
  const checkers = checkersIn(targetGroups, isOurs);
  const others = networks.filter(({ LoadBalancerArn: arn }) => !isOurs(arn));
  const foreign = new Set(others.map(({ LoadBalancerName: name }) => name));
  const parts = { identity, groups, targetGroups, tags, uses, checkers, foreign, member };
  return [
    ...classics.map((one) => toObserved({ classic: one }, parts)),
    ...networks.map((one) => toObserved({ network: one }, parts)),
  ];
}

export interface ObserveInput {
  readonly api: BalancingApi;
  readonly identity: Identity;
  readonly operator: BalancerSettings;
  /** The parts to read again. */
  readonly parts?: readonly string[];
}

async function groupsNamed(
  { api, identity }: ObserveInput,
  names: readonly string[],
  call: Call,
): Promise<readonly ApiSecurityGroup[]> {
  const Filter = [
    { Name: "group-name", Value: names },
    { Name: "vpc-id", Value: [identity.vpc] },
  ];
  return api.ec2.describeSecurityGroups({ Filter }, call);
}

/** The groups of Nodes that are neither listed nor known. */
function unknownGroups(member: Desired, groups: readonly ApiSecurityGroup[]): readonly string[] {
  const known = new Set(groups.map(({ groupId }) => groupId));
  return groupLists(member).flatMap((list) =>
    list.length === 1 && !list.some((id) => known.has(id)) ? list : [],
  );
}

/** The groups of Nodes without the cluster tag, and the load balancer's group if it lost its tags. */
async function furtherGroups(
  input: ObserveInput,
  { lb, groups, classic }: Observed,
  member: Desired,
  call: Call,
): Promise<readonly ApiSecurityGroup[]> {
  const ids = unknownGroups(member, groups);
  const isManaged = classic !== undefined && managesGroup(member, input.operator);
  const name = classicGroupName(lb);
  const isLost = isManaged && groupNamed(groups, input.identity, name) === undefined;
  const [further = [], lost = []] = await Promise.all([
    ids.length > 0 ? ifFound(input.api.ec2.describeSecurityGroups({ GroupId: ids }, call)) : [],
    isLost ? groupsNamed(input, [name], call) : [],
  ]);
  return merged(further, lost);
}

/** Known parts that are not requested are not reread. */
async function readInDepth(
  { api: { elb, elbv2 }, parts = [] }: ObserveInput,
  { lb, network, targetGroups, inDepth }: Observed,
  member: Desired,
  call: Call,
): Promise<Omit<InDepth, "further">> {
  const known: InDepth = inDepth ?? { further: [], listeners: [], targets: {}, targetGroupAttributes: {} };
  const isAll = parts.includes("all");
  const isKnown = (part: Part) => inDepth !== undefined && !parts.includes(part) && !isAll;
  if (network === undefined)
    return isKnown("attributes")
      ? known
      : { ...known, classicAttributes: await elb.describeAttributes(lb, call) };
  const arn = network.LoadBalancerArn;
  const own = targetGroups.filter(({ isOwn }) => isOwn).map(({ TargetGroupArn }) => TargetGroupArn);
  const each = async <T>(
    arns: readonly string[],
    kept: Readonly<Record<string, T>>,
    read: (arn: string, call: Call) => Promise<T>,
  ) =>
    Object.fromEntries(
      await Promise.all(arns.map(async (one) => [one, kept[one] ?? (await read(one, call))])),
    );
  const hasAttributes = member.settings["target-group-attributes"] !== undefined;
  const [listeners, attributes, targets, targetGroupAttributes] = await Promise.all([
    isKnown("listeners") ? known.listeners : elbv2.describeListeners(arn, call),
    isKnown("attributes") ? known.attributes : elbv2.loadBalancerAttributes(arn, call),
    each(own, isKnown("targets") ? known.targets : {}, elbv2.describeTargetHealth),
    each(hasAttributes ? own : [], isAll ? {} : known.targetGroupAttributes, elbv2.targetGroupAttributes),
  ]);
  return { listeners, attributes, targets, targetGroupAttributes };
}

/** The target groups that are attached at this moment, and the unused ones. */
async function targetGroupsAgain(
  { api: { elbv2 }, identity }: ObserveInput,
  { targetGroups: known, tags: own }: Observed,
  arn: string,
  call: Call,
): Promise<readonly ObservedTargetGroup[]> {
  const isOwn = new Map(known.map((one) => [one.TargetGroupArn, one.isOwn]));
  const targetGroups = await collect(elbv2.targetGroupPages(call, { LoadBalancerArn: arn }));
  const attached = targetGroups.map(({ TargetGroupArn }) => TargetGroupArn);
  const added = attached.filter((one) => !isOwn.has(one));
  const read = await tagsFor(added, (some) => elbv2.describeTags(some, call));
  const tags = new Map(read.map(({ ResourceArn, Tags }) => [ResourceArn, tagsOf(Tags)]));
  const found = targetGroupsFor(tagIn(own, serviceTag), arn, { identity, targetGroups, tags });
  return [
    ...known.filter(
      ({ TargetGroupArn, LoadBalancerArns }) =>
        (LoadBalancerArns ?? []).length === 0 && !attached.includes(TargetGroupArn),
    ),
    ...found.map((one) => ({ ...one, isOwn: isOwn.get(one.TargetGroupArn) ?? one.isOwn })),
  ];
}

/** The observation with the current state of these parts. Undefined if one of them is gone. */
async function refreshed(
  input: ObserveInput,
  observed: Observed,
  member: Desired | undefined,
  call: Call,
): Promise<Observed | undefined> {
  const { api, parts = [] } = input;
  const arn = observed.network?.LoadBalancerArn;
  const own = (observed.classic ?? observed.network)?.SecurityGroups ?? [];
  const isAll = parts.includes("all");
  const all = isAll ? [...own, ...groupLists(member ?? { targets: [] }).flat()] : [];
  const ids = [...new Set([...all, ...parts.filter((one) => one.startsWith("sg-"))])];
  const has = (part: Part) => isAll || parts.includes(part);
  const [mark, groups, classic, targetGroups] = await Promise.all([
    parts.includes("mark") ? markOf(input, observed, call) : {},
    ids.length > 0 ? api.ec2.describeSecurityGroups({ GroupId: ids }, call) : [],
    arn === undefined && has("balancer") ? api.elb.describeLoadBalancer(observed.lb, call) : observed.classic,
    arn !== undefined && has("listeners")
      ? targetGroupsAgain(input, observed, arn, call)
      : observed.targetGroups,
  ]);
  if (arn === undefined && classic === undefined) return undefined;
  return { ...observed, ...mark, groups: merged(observed.groups, groups), classic, targetGroups };
}

/** Who owns the load balancer at this moment. Fails if it is gone. */
async function markOf({ api, identity }: ObserveInput, { lb, network }: Observed, call: Call) {
  const [found] =
    network === undefined
      ? await api.elb.describeTags([lb], call)
      : await api.elbv2.describeTags([network.LoadBalancerArn], call);
  return marked(identity, lb, tagsOf(found?.Tags));
}

/** Security groups that may have rules of a network load balancer that is being deleted, including groups without the cluster tag. */
async function openedGroups(
  { api, identity }: ObserveInput,
  { targetGroups }: Observed,
  call: Call,
): Promise<readonly ApiSecurityGroup[]> {
  const ports = targetGroups.flatMap(({ Port, HealthCheckPort }) => [Port ?? "", HealthCheckPort ?? ""]);
  const Value = [...new Set(ports)].filter((port) => /^\d+$/.test(port));
  const Filter = [
    { Name: "vpc-id", Value: [identity.vpc] },
    { Name: "ip-permission.from-port", Value },
  ];
  return Value.length === 0 ? [] : api.ec2.describeSecurityGroups({ Filter }, call);
}

async function completed(
  input: ObserveInput,
  observed: Observed,
  member: Desired | undefined,
  call: Call,
): Promise<Observed | undefined> {
  const { shallow: _, ...rest } = observed;
  if (member === undefined || member.ending !== undefined)
    return { ...rest, groups: merged(rest.groups, await openedGroups(input, observed, call)) };
  const [groups, inDepth] = await Promise.all([
    furtherGroups(input, observed, member, call),
    ifFound(readInDepth(input, observed, member, call)),
  ]);
  const known = observed.inDepth?.further ?? [];
  const further = [...new Set([...known, ...groups.map(({ groupId }) => groupId)])];
  return inDepth && { ...rest, groups: merged(rest.groups, groups), inDepth: { ...inDepth, further } };
}

const byARN = (all: readonly ObservedTargetGroup[]) => new Map(all.map((one) => [one.TargetGroupArn, one]));

/**
 * The listed load balancer, completed with earlier in-depth reads. Undefined if the listing shows a change, unless everything is reread.
 */
function joined(listed: Observed, before: Observed, isAll: boolean): Observed | undefined {
  const { inDepth } = before;
  const isSame =
    isAll ||
    (Bun.deepEquals([listed.classic, listed.network], [before.classic, before.network]) &&
      Bun.deepEquals(byARN(listed.targetGroups), byARN(before.targetGroups)));
  if (inDepth === undefined || !isSame) return undefined;
  const further = before.groups.filter(({ groupId }) => inDepth.further.includes(groupId));
  return { ...listed, groups: merged(further, listed.groups), inDepth };
}

/** The earlier observation, with these parts read again, and with the missing data of these targets. */
export async function observeAgain(
  input: ObserveInput,
  member: Desired,
  { listed, before }: { readonly listed: Observed; readonly before: Observed },
  call: Call,
): Promise<Observed | undefined> {
  const { parts = [] } = input;
  const known = listed === before ? before : joined(listed, before, parts.includes("all"));
  // The deletion of a load balancer reads all of it.
  if (known === undefined || (parts.length === 0 && member.ending !== undefined)) return known;
  const current = await ifFound(refreshed(input, known, member, call));
  return current && completed(input, current, member, call);
}

/** The remains of a load balancer that does not exist, because its creation or deletion was interrupted. */
async function lookUpRest(
  input: ObserveInput,
  { owner, defaultName: lb, settings, ending }: Desired,
  call: Call,
): Promise<Observed | undefined> {
  const { api, identity, operator } = input;
  const isNLB = isNetwork({ settings });
  const names = [classicGroupName(lb), networkGroupName(operator.cluster, owner)];
  const [found, targetGroups] = await Promise.all([
    managesGroup({ settings }, operator) || ending !== undefined ? groupsNamed(input, names, call) : [],
    isNLB && ending !== undefined ? collect(api.elbv2.targetGroupPages(call)) : [],
  ]);
  const tags = await readTags(api, [], [], targetGroups, call);
  const left = targetGroupsFor(serviceName(owner), undefined, { identity, targetGroups, tags });
  const ours = ending === undefined ? found : found.filter(({ tagSet }) => isOwned(identity.tag, tagSet));
  if (ours.length === 0 && left.length === 0) return undefined;
  const { uses } = await readAll(api, identity, call);
  const ids = ours.map(({ groupId }) => groupId);
  // Groups without the tag of the cluster may name the group, and block its deletion.
  const Filter = [{ Name: "ip-permission.group-id", Value: ids }];
  const naming =
    ending === undefined || ids.length === 0 ? [] : await api.ec2.describeSecurityGroups({ Filter }, call);
  return {
    lb,
    keys: [lb],
    name: lb,
    owners: [owner.uid],
    tags: none,
    ownership: "ours",
    state: "changing",
    groups: merged(ours, naming),
    usedGroups: new Set(uses.keys()),
    targetGroups: left,
    checkers: new Map(),
    foreign: new Set(),
  };
}

/** Looks a load balancer up by its name, which is unique in a region. */
async function lookUp(input: ObserveInput, member: Desired, call: Call): Promise<Observed | undefined> {
  const { api, identity } = input;
  const { defaultName: lb } = member;
  // A complete listing has shown that there is no load balancer of the other kind.
  const isNLB = isNetwork(member);
  const [classic, networks = []] = await Promise.all([
    isNLB ? undefined : ifFound(api.elb.describeLoadBalancer(lb, call)),
    isNLB ? ifFound(api.elbv2.describeLoadBalancers({ Names: [lb] }, call)) : [],
  ]);
  const found = networks.some(({ Type }) => Type === "network") || classic !== undefined;
  if (!found) return lookUpRest(input, member, call);
  const all = await listBalancers(api, identity, call, member);
  const observed = all.find((one) => one.lb === lb);
  // The lookup shows the load balancer, and the listing does not show it yet.
  if (observed === undefined)
    throw new CloudError("unavailable", `${lb} exists, and is not listed yet.`, {
      operation: "DescribeLoadBalancers",
    });
  // The framework reports other clusters' load balancers from the listing.
  if (observed.ownership === "foreign") return undefined;
  const own = { ...observed, ownership: "ours", owners: [member.owner.uid] } as const;
  return completed(input, own, member, call);
}

export async function observeBalancer(
  input: ObserveInput,
  member: Desired | undefined,
  listed: Observed | undefined,
  call: Call,
): Promise<Observed | undefined> {
  // Which target groups belong to a load balancer without tags is known only with the name of the Service.
  const isNamed = !listed?.network || tagIn(listed.tags, serviceTag) !== undefined;
  // A lookup finds only the kind that the annotations name.
  const isFound = isNamed || member === undefined || !isNetwork(member);
  const observed = listed && isFound ? await completed(input, listed, member, call) : undefined;
  return observed ?? (member && lookUp(input, member, call));
}
