// Rules of security groups: the rules of a group, one peer at a time, and the requests that add and remove rules. Pure.

import type { Permission } from "../api/ec2.ts";
import type { ApiSecurityGroup } from "../api/resources.ts";
import { sortedBy } from "./balancer-names.ts";

/** Admits one peer: a range, a security group, or a prefix list. */
export interface Rule {
  /** The protocol in lower case; -1 means all. */
  readonly protocol: string;
  /** The first port, or the type of ICMP. If absent, all ports are open. */
  readonly from?: number | undefined;
  /** The last port, or the code of ICMP. */
  readonly to?: number | undefined;
  readonly peer: string;
  readonly description?: string | undefined;
}

const portOf = (text: string | null | undefined): number | undefined => (text ? Number(text) : undefined);

export function rulesOf({ ipPermissions }: ApiSecurityGroup): readonly Rule[] {
  return (ipPermissions ?? []).flatMap(
    ({ ipProtocol, fromPort, toPort, ipRanges, ipv6Ranges, groups, prefixListIds }) => {
      const rule = (peer: string, description: string | null | undefined): Rule => ({
        protocol: ipProtocol,
        from: portOf(fromPort),
        to: portOf(toPort),
        peer,
        description: description ?? undefined,
      });
      return [
        ...(ipRanges ?? []).map((one) => rule(one.cidrIp, one.description)),
        ...(ipv6Ranges ?? []).map((one) => rule(one.cidrIpv6, one.description)),
        ...(groups ?? []).map((one) => rule(one.groupId ?? "", one.description)),
        ...(prefixListIds ?? []).map((one) => rule(one.prefixListId, undefined)),
      ];
    },
  );
}

/** EC2 has at most one rule with the same key, whatever its description. */
const keyOfRule = ({ protocol, from, to, peer }: Rule): string =>
  [protocol, protocol === "-1" ? "" : from, protocol === "-1" ? "" : to, peer].join(" ");

/** The rules in the first list that the second list lacks. */
export function without(rules: readonly Rule[], others: readonly Rule[]): readonly Rule[] {
  const known = new Set(others.map(keyOfRule));
  return rules.filter((rule) => !known.has(keyOfRule(rule)));
}

export const unique = (rules: readonly Rule[]): readonly Rule[] => [
  ...new Map(rules.map((rule) => [keyOfRule(rule), rule])).values(),
];

/** Combines the peers of one protocol and port range in one permission. */
export function permissionsOf(rules: readonly Rule[]): readonly Permission[] {
  const grouped = Map.groupBy(
    sortedBy(rules, keyOfRule),
    ({ protocol, from, to }) => `${protocol} ${from} ${to}`,
  );
  return [...grouped.values()].map((same): Permission => {
    const described = (rule: Rule) =>
      rule.description === undefined ? {} : { Description: rule.description };
    const peers = (isWanted: (peer: string) => boolean) => same.filter(({ peer }) => isWanted(peer));
    const groups = peers((peer) => peer.startsWith("sg-"));
    const ipv4 = peers((peer) => /^[\d.]+\//.test(peer));
    const ipv6 = peers((peer) => peer.includes(":"));
    const lists = peers((peer) => peer.startsWith("pl-"));
    const [first] = same;
    return {
      IpProtocol: first?.protocol ?? "",
      ...(first?.from !== undefined && { FromPort: first.from }),
      ...(first?.to !== undefined && { ToPort: first.to }),
      ...(ipv4.length > 0 && { IpRanges: ipv4.map((rule) => ({ CidrIp: rule.peer, ...described(rule) })) }),
      ...(ipv6.length > 0 && {
        Ipv6Ranges: ipv6.map((rule) => ({ CidrIpv6: rule.peer, ...described(rule) })),
      }),
      ...(groups.length > 0 && {
        Groups: groups.map((rule) => ({ GroupId: rule.peer, ...described(rule) })),
      }),
      ...(lists.length > 0 && { PrefixListIds: lists.map(({ peer }) => ({ PrefixListId: peer })) }),
    };
  });
}

/** ICMP type 3 code 4: a packet is too large. */
export const tooLarge = { protocol: "icmp", from: 3, to: 4 } as const;

/** EC2's default limit for the rules of a group in each family. */
export const usualLimit = 60;

export interface GroupChange {
  readonly group: string;
  readonly added: readonly Rule[];
  readonly removed: readonly Rule[];
  /** The number of rules before the change. */
  readonly count: number;
  /** Whether shared rules may become unused if another load balancer is removed at the same time. */
  readonly needsTidying?: boolean;
  /** The ports of health checks in `removed` that other load balancers may have begun to check after the last listing. */
  readonly checked?: Checked;
}

export interface Checked {
  readonly ports: readonly number[];
  /** Load balancers whose checks do not count: this one (its ARN), and those of other clusters (their names). */
  readonly own: string | undefined;
  readonly foreign: ReadonlySet<string>;
}

/** For a group that belongs to one load balancer: exactly these rules. */
export function replaceRules(group: ApiSecurityGroup, wanted: readonly Rule[]): GroupChange {
  const existing = rulesOf(group);
  return {
    group: group.groupId,
    added: without(unique(wanted), existing),
    removed: without(existing, wanted),
    count: existing.length,
  };
}
