// The load balancers of AWS, classic and network ones: found by their names, which are made of the uid of the Service.

import {
  type Call,
  CloudError,
  type Context,
  done,
  inProgress,
  isGone,
  type LoadBalancers,
  type RefusedTarget,
  type StepOutcome,
  seconds,
} from "#ccm";
import type { Annotations } from "./annotations.ts";
import { type BalancerSettings, type Desired, isOthers, type Observed, settingsOf } from "./balancer.ts";
import type { Identity } from "./balancer-names.ts";
import type { Cluster } from "./cluster.ts";
import { chooseGroups, unusedRules } from "./node-rules.ts";
import { listBalancers, observeBalancer } from "./observe-balancer.ts";
import { planLoadBalancer } from "./plan-balancer.ts";
import { permissionsOf, rulesOf, without } from "./rules.ts";
import type { Settings } from "./settings.ts";
import { type AwsStep, type BalancingApi, created, type Request, type Special } from "./steps.ts";
import type { Network } from "./subnets.ts";
import type { Zones } from "./topology.ts";

const codeOf = (error: unknown): string | undefined => (CloudError.is(error) ? error.detail.code : undefined);

type Created = Map<string, string>;

/** With the ids of what earlier requests of the step have created. */
function filled<T>(value: T, ids: Created): T {
  if (typeof value === "string") return (ids.get(value) ?? value) as T;
  if (Array.isArray(value)) return value.map((one) => filled(one, ids)) as T;
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, filled(one, ids)])) as T;
}

function note(ids: Created, name: string, result: unknown): void {
  const { LoadBalancerArn: balancer, TargetGroupArn: group } = Object(result) as Readonly<
    Record<string, string | undefined>
  >;
  if (name === "createSecurityGroup") ids.set(created.group, String(result));
  if (name === "createLoadBalancer" && balancer !== undefined) ids.set(created.balancer, balancer);
  if (name === "createTargetGroup" && group !== undefined) ids.set(created.targetGroup, group);
}

/** What was to be done is done: by an earlier request whose answer was lost, or by another client. */
const isDone: Readonly<Record<string, RegExp>> = {
  createPolicy: /^DuplicatePolicyName/,
  authorizeSecurityGroupIngress: /^InvalidPermission\.Duplicate$/,
  revokeSecurityGroupIngress: /^InvalidPermission\.NotFound$|^InvalidGroup\.NotFound$/,
  deleteLoadBalancer: /NotFound/,
  deleteListener: /NotFound/,
  deleteListeners: /^ListenerNotFound$/,
  deleteTargetGroup: /NotFound/,
  deleteSecurityGroup: /^InvalidGroup\.NotFound$/,
  deregisterTargets: /^InvalidTarget/,
};

/** Deletions that wait until what uses the object is gone. */
const waits: Readonly<Record<string, string>> = {
  deleteSecurityGroup: "the network interfaces of the load balancer to be deleted",
  deleteTargetGroup: "the load balancer to release its target group",
};

type Send = (...parameters: readonly unknown[]) => Promise<unknown>;
type List = readonly unknown[];

/** One rule that exists already, or exists no longer, makes AWS refuse all. Each is sent alone then. */
async function sendEach(send: Send, group: unknown, rules: List, name: string): Promise<void> {
  for (const rule of rules)
    for (const [peers, all] of Object.entries(rule as Readonly<Record<string, unknown>>).filter(([, value]) =>
      Array.isArray(value),
    ))
      for (const peer of all as List) {
        const { IpProtocol, FromPort, ToPort } = rule as Readonly<Record<string, unknown>>;
        try {
          await send(group, [{ IpProtocol, FromPort, ToPort, [peers]: [peer] }]);
        } catch (error) {
          if (isDone[name]?.test(codeOf(error) ?? "") !== true) throw error;
        }
      }
}

/** Registers the others if AWS refuses some instances, which its message names. */
async function register(
  send: Send,
  [where, targets]: List,
  nodes: AwsStep["nodes"] = {},
): Promise<readonly RefusedTarget[]> {
  const idOf = (one: unknown) => Object(one) as { readonly Id?: string; readonly InstanceId?: string };
  const list: List = Array.isArray(targets) ? targets : (targets as { readonly Instances: List }).Instances;
  try {
    await send(where, targets);
    return [];
  } catch (error) {
    const text = CloudError.is(error) ? error.message : "";
    const named = new Set(
      /^Invalid(Target|Instance|EndPoint)/.test(codeOf(error) ?? "") ? text.match(/\bi-[0-9a-z]+/g) : [],
    );
    const others = list.filter((one) => !named.has(idOf(one).Id ?? idOf(one).InstanceId ?? ""));
    if (others.length === list.length) throw error;
    const rest = Array.isArray(targets) ? others : { Instances: others };
    const further = others.length === 0 ? [] : await register(send, [where, rest], nodes);
    return [
      ...further,
      ...[...named].flatMap((id) => (nodes[id] === undefined ? [] : [{ node: nodes[id], text }])),
    ];
  }
}

class Sender {
  readonly #api: BalancingApi;
  readonly #identity: Identity;
  readonly #call: Call;
  readonly #ids: Created = new Map();

  constructor(api: BalancingApi, identity: Identity, call: Call) {
    this.#api = api;
    this.#identity = identity;
    this.#call = call;
  }

  async #open({ lists, rules }: Extract<Special, readonly ["open", unknown]>[1]): Promise<void> {
    const { ec2 } = this.#api;
    const groups = await ec2.describeSecurityGroups({ GroupId: [...new Set(lists.flat())] }, this.#call);
    const { ids } = chooseGroups(lists, this.#identity, groups);
    const wanted = filled(rules, this.#ids);
    for (const group of groups.filter(({ groupId }) => ids.includes(groupId))) {
      const added = without(wanted, rulesOf(group));
      if (added.length > 0)
        await this.#send(["ec2", "authorizeSecurityGroupIngress", group.groupId, permissionsOf(added)], {});
    }
  }

  async #tidy(id: string): Promise<void> {
    const groups = await this.#api.ec2.describeSecurityGroups({ GroupId: [id] }, this.#call);
    const unused = groups.flatMap((group) => unusedRules(rulesOf(group)));
    if (unused.length > 0)
      await this.#send(["ec2", "revokeSecurityGroupIngress", id, permissionsOf(unused)], {});
  }

  async #send(
    request: Exclude<Request, Special>,
    nodes: AwsStep["nodes"],
  ): Promise<readonly RefusedTarget[]> {
    const [service, name, ...raw] = request;
    const parameters: List = filled(raw as List, this.#ids);
    const functions = this.#api[service] as unknown as Readonly<Record<string, Send>>;
    const send: Send = async (...all) => functions[name]?.(...all, this.#call);
    if (name === "registerTargets" || name === "registerInstances") return register(send, parameters, nodes);
    try {
      note(this.#ids, name, await send(...parameters));
    } catch (error) {
      if (isDone[name]?.test(codeOf(error) ?? "") !== true) throw error;
      const [group, rules] = parameters;
      if (service === "ec2" && Array.isArray(rules)) await sendEach(send, group, rules, name);
    }
    return [];
  }

  /** Whether a lookup by name does not find the load balancer. */
  #isGone({ lb, kind }: NonNullable<AwsStep["proves"]>): Promise<boolean> {
    const { elb, elbv2 } = this.#api;
    return isGone(() =>
      kind === "classic"
        ? elb.describeLoadBalancer(lb, this.#call)
        : elbv2.describeLoadBalancers({ Names: [lb] }, this.#call),
    );
  }

  async apply({ requests, nodes, proves }: AwsStep): Promise<StepOutcome> {
    const refused: RefusedTarget[] = [];
    for (const request of requests) {
      try {
        if (request[0] === "open") await this.#open(request[1]);
        else if (request[0] === "tidy") await this.#tidy(request[1]);
        else refused.push(...(await this.#send(request, nodes)));
      } catch (error) {
        const waitingFor = waits[request[1] as string];
        if (waitingFor === undefined || !CloudError.is(error) || error.kind !== "busy") throw error;
        return inProgress(waitingFor, { checkAfter: seconds(15) });
      }
    }
    if (proves !== undefined && (await this.#isGone(proves))) return { done: true, isGone: true };
    return done(undefined, refused.length === 0 ? undefined : refused);
  }
}

/** What plans use of the settings. */
export function balancerSettings(
  settings: Settings,
  { cluster }: Pick<Context["mark"], "cluster">,
): BalancerSettings {
  const port = settings["cluster-service-shared-load-balancer-health-probe-port"];
  const path = settings["cluster-service-shared-load-balancer-health-probe-path"];
  const isShared = settings["cluster-service-load-balancer-health-probe-mode"] === "Shared";
  return {
    cluster,
    clusterID: settings["kubernetes-cluster-id"] ?? settings["kubernetes-cluster-tag"],
    elbSecurityGroup: settings["elb-security-group"],
    leavesNodeGroups: settings["disable-security-group-ingress"],
    managesNetworkGroups: settings["nlb-security-group-mode"] === "Managed",
    sharedCheck: isShared ? { port, path } : undefined,
  };
}

async function identityOf({ tag, vpc, subnet }: Cluster, call: Call): Promise<Identity> {
  return { tag: await tag(call), vpc: await vpc(call), subnet: await subnet(call) };
}

async function readNetwork(
  { ec2 }: BalancingApi,
  identity: Identity,
  desired: readonly Desired[],
  zones: Zones,
  call: Call,
): Promise<Network> {
  // For load balancers that end.
  if (desired.length === 0) return { identity, subnets: [], routeTables: [], zones: [] };
  const Filter = [{ Name: "vpc-id", Value: [identity.vpc] }];
  const discovers = desired.some(discoversSubnets);
  const [subnets, routeTables, known] = await Promise.all([
    ec2.describeSubnets({ Filter }, call),
    discovers ? ec2.describeRouteTables({ Filter }, call) : [],
    discovers ? zones.with([], call) : new Map(),
  ]);
  return { identity, subnets, routeTables, zones: [...known.values()] };
}

const discoversSubnets = ({ settings, ending }: Desired): boolean =>
  ending === undefined && (settings.subnets ?? []).length === 0;

export function awsLoadBalancers(
  api: BalancingApi,
  operator: BalancerSettings,
  cluster: Cluster & { readonly zones: Zones },
): LoadBalancers<Annotations, Observed, AwsStep, Network> {
  const identity = (call: Call) => identityOf(cluster, call);
  return {
    groupOf: ({ defaultName }) => defaultName,
    ownKeys: ({ defaultName }) => [defaultName],
    // The tag names the cluster, but not with --cluster-name.
    marksNameCluster: false,
    clusterSetting: { name: "KubernetesClusterID", value: operator.clusterID ?? "the tag of the machine" },
    list: async function* (call) {
      yield await listBalancers(api, await identity(call), call);
    },
    observe: async ([member], listed, call) =>
      observeBalancer({ api, operator, identity: await identity(call) }, member, listed, call),
    prefetchKey: (desired) => (discoversSubnets(desired) ? "discovery" : ""),
    prefetch: (desired, call) =>
      identity(call).then((known) => readNetwork(api, known, desired, cluster.zones, call)),
    settingsOf,
    reaches: (_, { machine }) =>
      machine === undefined || machine.key.startsWith("i-") || "they are no EC2 instances",
    plan: ([desired], observed, { prefetched }) =>
      planLoadBalancer(desired, observed, { operator, network: prefetched }),
    targetsOnly: (step) => (step.isTargets === true ? step : undefined),
    targetCount: ({ classic, inDepth }) =>
      Math.max(
        classic?.Instances?.length ?? 0,
        ...Object.values(inDepth?.targets ?? {}).map((all) => all.length),
      ),
    apply: async (step, call) => new Sender(api, await identity(call), call).apply(step),
    publish: (desired, observed) => {
      if (isOthers(desired)) return { kind: "not-ours" };
      const hostname = observed?.network?.DNSName ?? observed?.classic?.DNSName;
      const waitingFor = `the load balancer ${desired.defaultName} to have a name`;
      if (!hostname || observed?.state === "failed") return { kind: "wait", waitingFor };
      return { kind: "addresses", addresses: [{ hostname }] };
    },
    supports: ["sourceRanges", "healthCheckNodePort", "UDP"],
  };
}
