// The state that managers leave on moto, in a form that can be compared between two runs: with names instead of ids, and with
// AWS's defaults if moto has none.

import { givenText } from "../../../../../providers/aws/load-balancers/node-rules.ts";
import type { State } from "../../../../../scripts/rehearse/state.ts";
import { ask } from "./moto-server.ts";

// biome-ignore lint/suspicious/noExplicitAny: responses are compared as a whole.
type Any = any;
type All = readonly Any[];

const list = (name: string, value: string) => ({ [`${name}.member.1`]: value });

/** Adds further members to each element. moto answers one request after the other in any case. */
async function extended(found: All | null, read: (one: Any) => Promise<object>): Promise<All> {
  return Promise.all((found ?? []).map(async (one) => ({ ...one, ...(await read(one)) })));
}

/** moto shows some attributes only after they were written, and shows one of them once more with each write. */
function withClassicDefaults({ LoadBalancerAttributes: { AdditionalAttributes: _, ...attributes } }: Any) {
  return { ...attributes, ConnectionDraining: { Timeout: "300", ...attributes.ConnectionDraining } };
}

function withNetworkDefaults(attributes: All) {
  const usual = { Key: "access_logs.s3.enabled", Value: "false" };
  return attributes.some(({ Key }) => Key === usual.Key) ? attributes : [...attributes, usual];
}

async function describe(url: string) {
  const elb = (action: string, parameters = {}): Promise<Any> => ask(url, action, parameters, "elb");
  const elbv2 = (action: string, parameters = {}): Promise<Any> => ask(url, action, parameters, "elbv2");
  const tagsOf = async (arn: string): Promise<Any> =>
    (await elbv2("DescribeTags", list("ResourceArns", arn))).TagDescriptions[0].Tags;
  const classics = await extended(
    (await elb("DescribeLoadBalancers")).LoadBalancerDescriptions,
    async ({ LoadBalancerName }) => {
      const { TagDescriptions } = await elb("DescribeTags", list("LoadBalancerNames", LoadBalancerName));
      const attributes = await elb("DescribeLoadBalancerAttributes", { LoadBalancerName });
      return { attributes: withClassicDefaults(attributes), tags: TagDescriptions[0].Tags };
    },
  );
  const networks = await extended(
    (await elbv2("DescribeLoadBalancers")).LoadBalancers,
    async ({ LoadBalancerArn, Scheme = "internet-facing" }) => {
      const { Attributes } = await elbv2("DescribeLoadBalancerAttributes", { LoadBalancerArn });
      const { Listeners } = await elbv2("DescribeListeners", { LoadBalancerArn });
      const tags = await tagsOf(LoadBalancerArn);
      return { Scheme, attributes: withNetworkDefaults(Attributes), Listeners, tags };
    },
  );
  const targetGroups = await extended(
    (await elbv2("DescribeTargetGroups")).TargetGroups,
    async ({ TargetGroupArn }) => {
      const { TargetHealthDescriptions } = await elbv2("DescribeTargetHealth", { TargetGroupArn });
      const { Attributes } = await elbv2("DescribeTargetGroupAttributes", { TargetGroupArn });
      const targets = ((TargetHealthDescriptions ?? []) as All).map(({ Target }) => Target);
      return { targets, Attributes, tags: await tagsOf(TargetGroupArn) };
    },
  );
  const { securityGroupInfo } = await ask(url, "DescribeSecurityGroups", {});
  return { classics, networks, targetGroups, groups: securityGroupInfo as All };
}

/**
 * Lists have no order in AWS, and times differ. Only Fairlead marks rules that name a given security group, so that it finds
 * them at the end.
 */
function comparable(value: unknown): unknown {
  const byText = (all: readonly (readonly [string, unknown])[]) =>
    all.toSorted(([one], [other]) => (one < other ? -1 : 1));
  if (Array.isArray(value))
    return byText(value.map(comparable).map((one) => [JSON.stringify(one), one])).map(([, one]) => one);
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).filter(
    ([name, one]) => !name.endsWith("Time") && !(name === "description" && one === givenText),
  );
  return Object.fromEntries(byText(members).map(([name, one]) => [name, comparable(one)]));
}

const serviceOf = ({ tags }: Any): string =>
  ((tags ?? []) as All).find(({ Key }) => Key === "kubernetes.io/service-name")?.Value ?? "no Service";

type Names = readonly (readonly [string, string])[];

const replaced = (text: string, names: Names): string =>
  names.reduce((all, [id, name]) => all.replaceAll(id, name), text);

export class MotoState {
  readonly #url: string;
  /** Includes the names of deleted resources, because requests named them. */
  readonly #names = new Map<string, string>();

  /** `known`: names for the ids of resources that managers do not create. */
  constructor(url: string, known: Names) {
    this.#url = url;
    for (const [id, name] of known) this.#names.set(id, name);
  }

  /** Adds a name for the id of a resource that managers do not create. */
  name(id: string, name: string): void {
    this.#names.set(id, name);
  }

  /** Reads the state, with ids by name. */
  async read(): Promise<State> {
    const { classics, networks, targetGroups, groups } = await describe(this.#url);
    const balancers = [...classics, ...networks].map(
      (one) => [one.LoadBalancerName, `lb(${serviceOf(one)})`] as const,
    );
    const groupNames = groups.map(
      ({ groupId, groupName }) => [groupId, `group(${replaced(groupName, balancers)})`] as const,
    );
    for (const [id, name] of [...balancers, ...groupNames]) this.#names.set(id, name);
    return Object.fromEntries([
      ...classics.map((one) => [`classic load balancer of ${serviceOf(one)}`, one]),
      ...networks.map((one) => [`network load balancer of ${serviceOf(one)}`, one]),
      ...targetGroups.map((one) => [`target group ${one.TargetGroupName}`, one]),
      ...groups.map((one) => [`security group ${one.groupName}`, one]),
    ]);
  }

  /** The state of other objects, or a request, without the ids of the resources that were read. */
  readable<T>(state: T): T {
    const text = replaced(JSON.stringify(state), [...this.#names]);
    const parts = /(:(?:targetgroup|loadbalancer|listener)\/[^"]*?)(?:\/[0-9a-f]{16})+/g;
    return comparable(JSON.parse(text.replaceAll(parts, "$1"))) as T;
  }
}
