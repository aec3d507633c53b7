// The rules that let a load balancer reach Nodes, in the security groups of Nodes. Rules of a network load balancer have its name
// in their descriptions; rules of a classic load balancer name its security group. Other rules are never changed. Pure.

import { type Machine, type ProviderProblem, warningProblem } from "#ccm";
import type { ApiSecurityGroup } from "../api/resources.ts";
import { hasClusterTag } from "../cluster.ts";
import type { BalancerSettings, Desired, Observed } from "./balancer.ts";
import type { Identity } from "./balancer-names.ts";
import { networkCheck } from "./health-check.ts";
import { type GroupChange, type Rule, rulesOf, tooLarge, unique, usualLimit, without } from "./rules.ts";

/** The ids of the security groups of an instance. */
const groupsOfMachine = (machine: Machine | undefined): readonly string[] =>
  machine?.handles?.["groups"]?.split(" ").filter((id) => id !== "") ?? [];

/** The different lists of security groups that the Nodes have. */
export function groupLists({ targets }: Pick<Desired, "targets">): readonly (readonly string[])[] {
  const lists = targets.map(({ machine }) => groupsOfMachine(machine));
  return [
    ...new Map(lists.filter((ids) => ids.length > 0).map((ids) => [ids.toSorted().join(), ids])).values(),
  ];
}

export interface ChosenGroups {
  readonly ids: readonly string[];
  readonly problems: readonly ProviderProblem[];
}

/** One group for each Node: the group with the cluster tag, or the only group. */
export function chooseGroups(
  lists: readonly (readonly string[])[],
  identity: Identity,
  groups: readonly ApiSecurityGroup[],
): ChosenGroups {
  const tagged = new Set(
    groups.flatMap(({ groupId, tagSet }) => (hasClusterTag(identity.tag, tagSet) ? [groupId] : [])),
  );
  const problems: ProviderProblem[] = [];
  const ids = lists.flatMap((list) => {
    const own = list.filter((id) => tagged.has(id)).toSorted();
    const [first, ...others] = own.length > 0 ? own : list;
    const which = list.join(", ");
    if (own.length > 1) {
      const text = `Nodes have several security groups with the tag of the cluster (${own.join(", ")}). The load balancer uses ${first}. Remove the tag from the others.`;
      problems.push(warningProblem("AmbiguousCloudObject", text));
    } else if (others.length > 0 && own.length === 0) {
      const text = `Nodes have several security groups (${which}), and none has the tag of the cluster, so none is opened for the load balancer. Tag one of them.`;
      problems.push(warningProblem("AmbiguousCloudObject", text));
      return [];
    }
    return first ?? [];
  });
  return { ids: [...new Set(ids)].toSorted(), problems };
}

const clientText = "kubernetes.io/rule/nlb/client";
const healthText = "kubernetes.io/rule/nlb/health";
const mtuText = "kubernetes.io/rule/nlb/mtu";

/** The rules that a network load balancer needs: its clients at the node ports, and its subnets at the health check ports. */
export function networkRules(
  desired: Desired,
  {
    lb,
    ports,
    clients,
    subnets,
  }: {
    readonly lb: string;
    readonly ports: readonly { readonly protocol: string; readonly nodePort: number }[];
    readonly clients: readonly string[];
    /** The ranges of the load balancer's subnets. */
    readonly subnets: readonly string[];
  },
  operator: BalancerSettings,
): readonly Rule[] {
  const check = Number(networkCheck(desired, operator).HealthCheckPort);
  const checked = new Set(ports.map(({ nodePort }) => (Number.isNaN(check) ? nodePort : check)));
  const tcp = new Set(ports.flatMap(({ protocol, nodePort }) => (protocol === "tcp" ? nodePort : [])));
  // Rules for all clients already admit health checks.
  const isCovered =
    clients.length === 1 &&
    clients[0] === "0.0.0.0/0" &&
    ports.every(({ protocol }) => protocol === "tcp") &&
    checked.size === tcp.size &&
    [...checked].every((port) => tcp.has(port));
  const rule = (kind: string, protocol: string, port: number, peer: string): Rule => ({
    protocol,
    from: port,
    to: port,
    peer,
    description: `${kind}=${lb}`,
  });
  return unique([
    ...ports.flatMap(({ protocol, nodePort }) =>
      clients.map((peer) => rule(clientText, protocol, nodePort, peer)),
    ),
    ...(isCovered
      ? []
      : [...checked].flatMap((port) => subnets.map((peer) => rule(healthText, "tcp", port, peer)))),
    ...clients.map((peer) => ({ ...tooLarge, peer, description: mtuText })),
  ]);
}

const isOf = (kind: string, { description }: Rule): boolean => description?.startsWith(`${kind}=`) === true;

/**
 * Shared rules that no network load balancer needs: rules for path MTU discovery of clients without another rule, and rules for
 * health checks if no client has a rule.
 */
export function unusedRules(existing: readonly Rule[]): readonly Rule[] {
  const clients = new Set(existing.filter((rule) => isOf(clientText, rule)).map(({ peer }) => peer));
  return existing.filter((rule) =>
    rule.description === mtuText ? !clients.has(rule.peer) : clients.size === 0 && isOf(healthText, rule),
  );
}

/**
 * `wanted` is for the groups in `ids`; all other groups of the cluster lose the rules of this load balancer. If several load
 * balancers check a port, EC2 has only one rule for it, named after the first load balancer. It is removed with the last one.
 */
export function networkGroupChanges(
  {
    groups,
    lb,
    network,
    checkers,
    foreign,
  }: Pick<Observed, "groups" | "lb" | "network" | "checkers" | "foreign">,
  ids: readonly string[],
  wanted: readonly Rule[],
): readonly GroupChange[] {
  const own = [`${clientText}=${lb}`, `${healthText}=${lb}`];
  const checkersOf = (rule: Rule) => (isOf(healthText, rule) ? (checkers.get(String(rule.from)) ?? []) : []);
  const isShared = (rule: Rule) => checkersOf(rule).some((arn) => arn !== network?.LoadBalancerArn);
  return groups.map((group) => {
    const existing = rulesOf(group);
    const rules = ids.includes(group.groupId) ? wanted : [];
    const isForeign = ({ description = "" }: Rule) => foreign.has(description.replace(`${healthText}=`, ""));
    const isLeftOver = (rule: Rule) =>
      checkersOf(rule).length > 0 && !isForeign(rule) && !rules.some(({ from }) => from === rule.from);
    const stale = without(
      existing.filter(
        (rule) => (own.includes(rule.description ?? "") || isLeftOver(rule)) && !isShared(rule),
      ),
      rules,
    );
    const kept = existing.filter((rule) => !stale.includes(rule));
    // A load balancer that is being deleted has no rules left, and its group was read a moment ago.
    const isEnd = wanted.length === 0;
    const ports = stale.filter((rule) => isOf(healthText, rule)).flatMap(({ from }) => from ?? []);
    const unused = stale.length > 0 && isEnd ? unusedRules(kept) : [];
    const ofClients = (all: readonly Rule[]) => all.filter((rule) => isOf(clientText, rule));
    const left = new Set(ofClients(kept).map(({ peer }) => peer));
    return {
      group: group.groupId,
      added: without(rules, existing),
      count: existing.length,
      removed: [...stale, ...unused],
      needsTidying:
        ofClients(stale).some(({ peer }) => !isEnd || left.has(peer)) || (isEnd && kept.some(isShared)),
      ...(ports.length > 0 && { checked: { ports, own: network?.LoadBalancerArn, foreign } }),
    };
  });
}

/** Marks rules that name a security group of a user: without the mark, nothing shows who added them. */
export const givenText = "kubernetes.io/rule/elb";

export interface ClassicPeers {
  /** The security groups of the load balancer. */
  readonly current: readonly string[];
  /** The rules that are no longer needed. */
  readonly former: readonly string[];
  /** The security group that was created for the load balancer. */
  readonly own: readonly string[];
}

/**
 * The rules between a classic load balancer and the Nodes. Traffic from one of the load balancer's security groups is enough. A
 * rule for a group that other load balancers use stays, and so does a rule that a user may have added.
 */
export function classicGroupChanges(
  { groups, usedGroups }: Pick<Observed, "groups" | "usedGroups">,
  { current, former, own }: ClassicPeers,
  ids: readonly string[],
): readonly GroupChange[] {
  const [first] = current;
  return groups.map((group) => {
    const existing = rulesOf(group).filter(({ protocol }) => protocol === "-1");
    const isWanted = ids.includes(group.groupId);
    const lacks = isWanted && !existing.some(({ peer }) => current.includes(peer));
    const stale = isWanted ? former : [...current, ...former];
    return {
      group: group.groupId,
      count: rulesOf(group).length,
      added: lacks && first !== undefined ? [classicRule(first, own)] : [],
      removed: existing.filter(
        ({ peer, description }) =>
          stale.includes(peer) && !usedGroups.has(peer) && (own.includes(peer) || description === givenText),
      ),
    };
  });
}

export function classicRule(peer: string, own: readonly string[]): Rule {
  return { protocol: "-1", peer, ...(!own.includes(peer) && { description: givenText }) };
}

/** The rules are counted before EC2 rejects one. The quota may have been raised, so they are added in any case. */
export function limitProblems(changes: readonly GroupChange[]): readonly ProviderProblem[] {
  return changes.flatMap(({ group, added, count }) => {
    const total = count + added.length;
    if (added.length === 0 || total <= usualLimit) return [];
    const text = `The security group ${group} gets ${total} rules, and EC2 allows ${usualLimit} unless the quota was raised. Raise the quota "Inbound or outbound rules per security group", or use fewer ranges of clients and ports.`;
    return [warningProblem("QuotaExceeded", text)];
  });
}
