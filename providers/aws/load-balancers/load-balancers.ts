// AWS load balancers, classic and network. They are found by their names, which are derived from the uid of the Service.

import {
  type Call,
  CloudError,
  type Context,
  codeOf,
  collect,
  done,
  inProgress,
  isGone,
  knownValues,
  type LoadBalancers,
  type RefusedTarget,
  type StepOutcome,
  seconds,
} from "#ccm";
import type { Permission } from "../api/ec2.ts";
import type { Cluster } from "../cluster.ts";
import type { Zones } from "../topology.ts";
import type { Annotations } from "./annotations.ts";
import { type BalancerSettings, type Desired, isOthers, type Observed, settingsOf } from "./balancer.ts";
import type { Identity } from "./balancer-names.ts";
import { chooseGroups, unusedRules } from "./node-rules.ts";
import { listBalancers, observeAgain, observeBalancer } from "./observe-balancer.ts";
import { planLoadBalancer } from "./plan-balancer.ts";
import { permissionsOf, type Rule, rulesOf, without } from "./rules.ts";
import {
  type ApiRequest,
  type AwsStep,
  type BalancingApi,
  type CloseNodes,
  created,
  ec2 as ec2Request,
  elb,
  elbv2,
  type OpenNodes,
} from "./steps.ts";
import type { Network } from "./subnets.ts";
import { healthOf, observeHealth } from "./target-health.ts";

/** The ids of the objects that earlier requests of the step have created, by placeholder. */
type Created = Map<string, string>;

/** Replaces the placeholders in `value` by these ids. */
function filled<T>(value: T, ids: Created): T {
  if (typeof value === "string") return (ids.get(value) ?? value) as T;
  if (Array.isArray(value)) return value.map((one) => filled(one, ids)) as T;
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, filled(one, ids)])) as T;
}

/** The response to a create request. */
interface CreatedParts {
  readonly groupId?: string;
  readonly LoadBalancers?: readonly { readonly LoadBalancerArn: string }[];
  readonly TargetGroups?: readonly { readonly TargetGroupArn: string }[];
}

function note(ids: Created, { groupId, LoadBalancers, TargetGroups }: CreatedParts): void {
  const found = [
    [created.group, groupId],
    [created.balancer, LoadBalancers?.[0]?.LoadBalancerArn],
    [created.targetGroup, TargetGroups?.[0]?.TargetGroupArn],
  ] as const;
  for (const [name, id] of found) if (id !== undefined) ids.set(name, id);
}

type Action = ApiRequest["action"];

/**
 * The codes that show that the desired result already exists, because of an earlier request whose response was lost, or
 * because of another client.
 */
const isDone: Readonly<Partial<Record<Action, RegExp>>> = {
  CreateLoadBalancerPolicy: /^DuplicatePolicyName/,
  AuthorizeSecurityGroupIngress: /^InvalidPermission\.Duplicate$/,
  RevokeSecurityGroupIngress: /^InvalidPermission\.NotFound$|^InvalidGroup\.NotFound$/,
  DeleteLoadBalancer: /NotFound/,
  DeleteListener: /NotFound/,
  DeleteLoadBalancerListeners: /^ListenerNotFound$/,
  DeleteTargetGroup: /NotFound/,
  DeleteSecurityGroup: /^InvalidGroup\.NotFound$/,
  DeregisterTargets: /^InvalidTarget/,
  DeregisterInstancesFromLoadBalancer: /^InvalidInstance/,
};

/** Deletions that wait until no other resource uses the object. */
const waits: Readonly<Partial<Record<Action, string>>> = {
  DeleteSecurityGroup: "the network interfaces of the load balancer to be deleted",
  DeleteTargetGroup: "the load balancer to release its target group",
};

/** Adds the remedy to an error about an existing target group that no plan may change: AWS names only the group. */
function explained(error: unknown, { action, parameters }: ApiRequest): unknown {
  if (!CloudError.is(error) || action !== "CreateTargetGroup" || error.kind !== "conflict") return error;
  const tags = parameters.Tags.map(({ Key, Value }) => `${Key}=${Value}`).join(", ");
  const text = `The target group ${parameters.Name} exists already, and another load balancer has it, or it lacks tags of the Service. It is not changed, and its port is not served. Delete it, or detach it and give it the tags ${tags}.`;
  return new CloudError("conflict", text, { ...error.detail, cause: error });
}

/** Splits rules so that each has one peer. */
const oneByOne = (rules: readonly Permission[]): readonly Permission[] =>
  rules.flatMap(({ IpRanges = [], Ipv6Ranges = [], Groups = [], PrefixListIds = [], ...rule }) => [
    ...IpRanges.map((one) => ({ ...rule, IpRanges: [one] })),
    ...Ipv6Ranges.map((one) => ({ ...rule, Ipv6Ranges: [one] })),
    ...Groups.map((one) => ({ ...rule, Groups: [one] })),
    ...PrefixListIds.map((one) => ({ ...rule, PrefixListIds: [one] })),
  ]);

/** The instances that AWS names when it rejects a request. */
function refusedIn(error: unknown): readonly string[] {
  if (!CloudError.is(error) || !/^Invalid(Target|Instance|EndPoint)/.test(error.detail.code ?? "")) return [];
  return [...new Set(error.message.match(/\bi-[0-9a-z]+/g))];
}

/** The request without these instances; undefined if the request registers nothing else. */
function withoutTargets(request: ApiRequest, refused: readonly string[]) {
  if (request.action === "RegisterTargets") {
    const { Targets: all } = request.parameters;
    const Targets = all.filter(({ Id }) => !refused.includes(Id));
    return {
      left: Targets.length,
      all: all.length,
      request: elbv2("RegisterTargets", { ...request.parameters, Targets }),
    };
  }
  if (request.action !== "RegisterInstancesWithLoadBalancer") return undefined;
  const { Instances: all } = request.parameters;
  const Instances = all.filter(({ InstanceId }) => !refused.includes(InstanceId));
  const { LoadBalancerName } = request.parameters;
  return {
    left: Instances.length,
    all: all.length,
    request: elb(request.action, LoadBalancerName, { Instances }),
  };
}

class Sender {
  readonly #api: BalancingApi;
  readonly #identity: Identity;
  readonly #call: Call;
  readonly #ids: Created = new Map();
  readonly #refused: RefusedTarget[] = [];

  constructor(api: BalancingApi, identity: Identity, call: Call) {
    this.#api = api;
    this.#identity = identity;
    this.#call = call;
  }

  async #open({ lists, rules }: OpenNodes): Promise<void> {
    const { ec2 } = this.#api;
    const groups = await ec2.describeSecurityGroups({ GroupId: [...new Set(lists.flat())] }, this.#call);
    const { ids } = chooseGroups(lists, this.#identity, groups);
    const wanted = filled(rules, this.#ids);
    for (const group of groups.filter(({ groupId }) => ids.includes(groupId))) {
      const added = without(wanted, rulesOf(group));
      const ingress = { GroupId: group.groupId, IpPermissions: permissionsOf(added) };
      if (added.length > 0) await this.#send(ec2Request("AuthorizeSecurityGroupIngress", ingress));
    }
  }

  async #close({ group, rules, checked: { ports, own, foreign } }: CloseNodes): Promise<void> {
    const groups = await collect(this.#api.elbv2.targetGroupPages(this.#call));
    const isOther = (arn: string) => arn !== own && !foreign.has(arn.split("/").at(-2) ?? "");
    const needed = new Set(
      groups.flatMap(({ HealthCheckPort: port, LoadBalancerArns: arns }) =>
        arns?.some(isOther) === true ? Number(port) : [],
      ),
    );
    const isNeeded = ({ from = 0 }: Rule) => ports.includes(from) && needed.has(from);
    const unused = rules.filter((rule) => !isNeeded(rule));
    const ingress = { GroupId: group, IpPermissions: permissionsOf(unused) };
    if (unused.length > 0) await this.#send(ec2Request("RevokeSecurityGroupIngress", ingress));
  }

  async #tidy(id: string): Promise<void> {
    const groups = await this.#api.ec2.describeSecurityGroups({ GroupId: [id] }, this.#call);
    const unused = groups.flatMap((group) => unusedRules(rulesOf(group)));
    const ingress = { GroupId: id, IpPermissions: permissionsOf(unused) };
    if (unused.length > 0) await this.#send(ec2Request("RevokeSecurityGroupIngress", ingress));
  }

  /** Sends a request, and returns whether it had an effect, this time or earlier. */
  async #change(request: ApiRequest): Promise<"sent" | "was done"> {
    const { service, action, parameters } = request;
    // The type of a request guarantees that its service has the action with these parameters.
    const { change } = this.#api[service] as { change(...all: readonly unknown[]): Promise<CreatedParts> };
    try {
      const response = await change(action, parameters, this.#call);
      if (action.startsWith("Create")) note(this.#ids, response);
      return "sent";
    } catch (error) {
      if (isDone[action]?.test(codeOf(error) ?? "") === true) return "was done";
      throw explained(error, request);
    }
  }

  async #send(raw: ApiRequest, nodes: AwsStep["nodes"] = {}): Promise<void> {
    const request = filled(raw, this.#ids);
    try {
      const outcome = await this.#change(request);
      const isOfRules =
        request.action === "AuthorizeSecurityGroupIngress" || request.action === "RevokeSecurityGroupIngress";
      if (outcome === "sent" || !isOfRules) return;
      // A single rule that already exists, or no longer exists, makes AWS reject the whole request.
      for (const rule of oneByOne(request.parameters.IpPermissions))
        await this.#change(ec2Request(request.action, { ...request.parameters, IpPermissions: [rule] }));
    } catch (error) {
      const named = refusedIn(error);
      const rest = withoutTargets(request, named);
      if (rest === undefined || rest.left === rest.all) throw error;
      const text = (error as CloudError).message;
      for (const id of named) if (nodes[id] !== undefined) this.#refused.push({ node: nodes[id], text });
      if (rest.left > 0) await this.#send(rest.request, nodes);
    }
  }

  /** Whether a lookup by name proves that the load balancer is gone. */
  #isGone({ lb, kind }: NonNullable<AwsStep["proves"]>): Promise<boolean> {
    const { elb, elbv2 } = this.#api;
    return isGone(() =>
      kind === "classic"
        ? elb.describeLoadBalancer(lb, this.#call)
        : elbv2.describeLoadBalancers({ Names: [lb] }, this.#call),
    );
  }

  async apply({ requests, nodes, proves }: AwsStep): Promise<StepOutcome> {
    for (const request of requests) {
      try {
        if ("open" in request) await this.#open(request.open);
        else if ("close" in request) await this.#close(request.close);
        else if ("tidy" in request) await this.#tidy(request.tidy);
        else await this.#send(request, nodes);
      } catch (error) {
        const waitingFor = "action" in request ? waits[request.action] : undefined;
        if (waitingFor === undefined || !CloudError.is(error) || error.kind !== "busy") throw error;
        return inProgress(waitingFor, { checkAfter: seconds(15) });
      }
    }
    if (proves !== undefined && (await this.#isGone(proves))) return { done: true, isGone: true };
    return done(undefined, this.#refused.length === 0 ? undefined : this.#refused);
  }
}

async function identityOf({ tag, vpc, subnet }: Cluster, call: Call): Promise<Identity> {
  return { tag: await tag(call), vpc: await vpc(call), subnet: await subnet(call) };
}

async function readNetwork(
  { ec2 }: BalancingApi,
  identity: Identity,
  key: string,
  zones: Zones,
  call: Call,
): Promise<Network> {
  // Without a key, for load balancers that are being deleted.
  if (key === "") return { identity, subnets: [], routeTables: [], zones: [] };
  const Filter = [{ Name: "vpc-id", Value: [identity.vpc] }];
  const discovers = key === discovery;
  const [subnets, routeTables, known] = await Promise.all([
    ec2.describeSubnets({ Filter }, call),
    discovers ? ec2.describeRouteTables({ Filter }, call) : [],
    discovers ? zones.with([], call) : new Map(),
  ]);
  return { identity, subnets, routeTables, zones: [...known.values()] };
}

const discovery = "discovery";

const discoversSubnets = ({ settings }: Desired): boolean => (settings.subnets ?? []).length === 0;

export function awsLoadBalancers(
  api: BalancingApi,
  operator: BalancerSettings,
  cluster: Cluster & { readonly zones: Zones },
  announce: Context["announce"],
): LoadBalancers<Annotations, Observed, AwsStep, Network> {
  const identity = (call: Call) => identityOf(cluster, call);
  const check = knownValues(announce, "LoadBalancer.State.Code", [
    ...["active", "active_impaired", "failed", "provisioning"],
  ]);
  const id = operator["kubernetes-cluster-id"] ?? operator["kubernetes-cluster-tag"];
  return {
    ownKeys: ({ defaultName }) => [defaultName],
    // The tag names the cluster, but not by --cluster-name.
    marksNameCluster: { name: "KubernetesClusterID", value: id ?? "the tag of the machine" },
    list: async function* (call) {
      const all = await listBalancers(api, await identity(call), call);
      for (const { network } of all) check(network?.State?.Code);
      yield all;
    },
    observe: async (desired, listed, call) =>
      observeBalancer({ api, operator, identity: await identity(call) }, desired, listed, call),
    observeAgain: async (desired, listed, before, parts, call) => {
      const input = { api, operator, identity: await identity(call), parts };
      return observeAgain(input, desired, { listed, before }, call);
    },
    prefetchKey: (desired) => (discoversSubnets(desired) ? discovery : "named subnets"),
    prefetch: (key, call) =>
      identity(call).then((known) => readNetwork(api, known, key, cluster.zones, call)),
    settingsOf,
    reaches:
      () =>
      ({ machine }) =>
        machine === undefined || machine.key.startsWith("i-") || { byDesign: "they are not EC2 instances" },
    healthOf,
    observeHealth: (_, observed, call) => observeHealth(api, observed, call),
    plan: (desired, observed, network) => planLoadBalancer(desired, observed, { operator, network }),
    apply: async (step, call) => new Sender(api, await identity(call), call).apply(step),
    publish: (desired, observed) => {
      if (isOthers(desired)) return { kind: "not-ours" };
      const hostname = observed?.network?.DNSName ?? observed?.classic?.DNSName;
      const waitingFor = `the load balancer ${desired.defaultName} to have a name`;
      if (!hostname || observed?.state === "failed") return { kind: "wait", waitingFor };
      return { kind: "addresses", addresses: [{ hostname }] };
    },
    // The security groups of the Nodes are those of their instances.
    needsHandles: operator["disable-security-group-ingress"] ? false : undefined,
    toleratesMissingTargets: true,
    supports: ["sourceRanges", "healthCheckNodePort", "UDP"],
  };
}
