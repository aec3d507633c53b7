// The objects that managers have created on moto for one Service, without ids. Pure.

import type { State } from "../../../../../scripts/rehearse/state.ts";

// biome-ignore lint/suspicious/noExplicitAny: the members of responses.
type Any = any;
type All = readonly Any[];

const keyed = <T>(all: readonly T[], keyOf: (one: T) => string): Readonly<Record<string, T>> =>
  Object.fromEntries(all.map((one) => [keyOf(one), one]));

const tagsOf = (all: All | null): Readonly<Record<string, string>> =>
  Object.fromEntries((all ?? []).map(({ Key, Value }) => [Key, Value ?? ""]));

/** Attributes of load balancers and target groups. */
const attributesOf = (all: All): Readonly<Record<string, string>> =>
  Object.fromEntries(all.map(({ Key, Value }) => [Key, Value ?? ""]));

function classicView({ tags, ListenerDescriptions: listeners, Policies, ...one }: Any) {
  const portOf = ({ Listener }: Any) => String(Listener.LoadBalancerPort);
  return { ...one, policies: Policies, tags: tagsOf(tags), listeners: keyed(listeners, portOf) };
}

/** Without ids and the name, which ends in a hash. */
function targetGroupView({ tags, Attributes, ...one }: Any) {
  const { TargetGroupArn, TargetGroupName, LoadBalancerArns, HealthCheckTimeoutSeconds, ...rest } = one;
  return {
    ...rest,
    timeout: HealthCheckTimeoutSeconds,
    tags: tagsOf(tags),
    attributes: attributesOf(Attributes),
  };
}

function networkView({ tags, attributes, Listeners, ...one }: Any, groups: ReadonlyMap<string, Any>) {
  const listeners = ((Listeners ?? []) as All).map(
    ({ ListenerArn, LoadBalancerArn, DefaultActions, Certificates, SslPolicy, ...listener }) => {
      const [{ TargetGroupArn: arn }] = DefaultActions;
      const group = groups.get(arn);
      // moto keeps the policy of a listener whose protocol is no longer TLS.
      const tls = listener.Protocol === "TLS" ? { Certificates, SslPolicy } : {};
      return { ...listener, ...tls, targetGroup: group === undefined ? "missing" : targetGroupView(group) };
    },
  );
  const keyOf = ({ Protocol, Port }: Any) => `${Protocol} ${Port}`;
  return {
    ...one,
    tags: tagsOf(tags),
    attributes: attributesOf(attributes),
    listeners: keyed(listeners, keyOf),
  };
}

/** One line for each rule. */
const rulesOf = (permissions: All | null): readonly string[] =>
  (permissions ?? []).flatMap(({ ipProtocol, fromPort, toPort, ...peers }: Any) =>
    ["ipRanges", "ipv6Ranges", "groups", "prefixListIds"].flatMap((kind) =>
      ((peers[kind] ?? []) as All).map(({ cidrIp, cidrIpv6, groupId, groupName, description }) =>
        [
          ipProtocol,
          `${fromPort ?? ""}-${toPort ?? ""}`,
          cidrIp ?? cidrIpv6 ?? groupId ?? groupName,
          description,
        ]
          .filter((one) => one !== undefined)
          .join(" "),
      ),
    ),
  );

/** Network load balancers share a rule for path MTU discovery. */
const isShared = (rule: string): boolean => rule.includes("kubernetes.io/rule/nlb/mtu");

/** `state`: the readable state of moto. */
export function viewsOf(state: State): (name: string) => unknown {
  const all = state as Readonly<Record<string, Any>>;
  const groups = Object.entries(all).flatMap(([key, one]) =>
    key.startsWith("security group ") ? [one] : [],
  );
  const targets: All = Object.entries(all).flatMap(([key, one]) =>
    key.startsWith("target group ") ? [one] : [],
  );
  const byArn = new Map(targets.map((one) => [one.TargetGroupArn, one]));
  const nodes = groups.find(({ groupName }) => groupName === "nodes");
  return (name) => {
    const service = `default/${name}`;
    const classic = all[`classic load balancer of ${service}`];
    const network = all[`network load balancer of ${service}`];
    const used = new Set(
      ((network?.Listeners ?? []) as All).map(({ DefaultActions }) => DefaultActions[0].TargetGroupArn),
    );
    const isOwn = ({ groupName }: Any): boolean =>
      groupName.includes(service) || groupName.includes(`-${name}-`);
    // Users create the other groups that belong to the Service.
    const own = groups.filter((one) => isOwn(one) && !one.groupName.endsWith("-group"));
    const ids = [service, `-${name}-group`, ...own.map(({ groupId }) => groupId)];
    return {
      classic: classic && classicView(classic),
      network: network && networkView(network, byArn),
      unused: targets
        .filter(({ tags, TargetGroupArn: arn }) => {
          const { "kubernetes.io/service-name": of } = tagsOf(tags);
          return of === service && !used.has(arn);
        })
        .map(targetGroupView),
      groups: keyed(
        own.map(({ groupName, tagSet, ipPermissions }) => ({
          groupName,
          tags: tagSet,
          rules: rulesOf(ipPermissions).filter((rule) => !isShared(rule)),
        })),
        ({ groupName }) => groupName,
      ),
      nodeRules: rulesOf(nodes?.ipPermissions).filter(
        (rule) => !isShared(rule) && ids.some((id) => rule.includes(id)),
      ),
    };
  };
}
