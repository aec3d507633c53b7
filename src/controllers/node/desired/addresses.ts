// Selects the addresses of a Node from those of its instance: applies the kubelet's --node-ip as upstream does, and keeps
// InternalIPs if the cloud does not know the private network. Pure.

import type { IpAddress } from "../../../core/brand.ts";
import { cidrContains } from "../../../core/cidr.ts";
import { ipFamily, isSameIp, parseIp } from "../../../core/ip.ts";
import type { Problem } from "../../../core/problem.ts";
import type { Node, NodeAddress } from "../../../kube/objects.ts";
import type { Instance, InstanceAddress } from "../../../provider/instances.ts";
import { isUninitialized } from "../../node-facts.ts";
import { providedNodeIP } from "../../well-known.ts";
import type { AddressPolicy } from "../settings.ts";
import { misconfiguredInternalIP, noAddressLeft, nodeIPMismatch } from "../texts.ts";

export interface AddressPlan {
  /** Undefined to keep the current addresses, because the cloud has none or there is a problem. */
  readonly desired?: readonly NodeAddress[];
  readonly problems: readonly Problem[];
}

export function planAddresses(
  node: Node,
  cloud: readonly InstanceAddress[],
  policy: AddressPolicy,
): AddressPlan {
  const chosen = inOrder(
    cloud.filter((address) => isSelected(address, policy)),
    policy,
  );
  const annotation = node.metadata.annotations?.[providedNodeIP];
  if (chosen.length === 0) {
    if (cloud.length > 0) return { problems: [noAddressLeft(node, cloud)] };
    // As in upstream, a requested address that the cloud does not report only prevents the initialization.
    if (annotation === undefined || !isUninitialized(node)) return { problems: [] };
  }
  const present = node.status.addresses ?? [];
  const addresses = withoutRepeats(chosen.map(({ kind, value }) => ({ type: kind, address: value })));
  const hasHostname = addresses.some(({ type }) => type === "Hostname");
  const hostnames =
    hasHostname || addresses.length === 0 ? [] : present.filter(({ type }) => type === "Hostname");
  const all = [...addresses, ...hostnames];
  if (annotation === undefined) return { desired: all, problems: [] };
  const preferred = preferProvidedNodeIP(annotation, all);
  return "wrong" in preferred
    ? { problems: [nodeIPMismatch(node, annotation, preferred.wrong, all)] }
    : { desired: preferred.addresses, problems: [] };
}

/** Compares the order, and detects two addresses of one kind; upstream does neither. */
export function sameAddresses(a: readonly NodeAddress[], b: readonly NodeAddress[]): boolean {
  return (
    a.length === b.length &&
    a.every((address, index) => address.type === b[index]?.type && address.address === b[index]?.address)
  );
}

/** Ignores the order, because a different order alone must not cause a write. */
export function sameAddressSet(a: readonly NodeAddress[], b: readonly NodeAddress[]): boolean {
  const text = ({ type, address }: NodeAddress) => `${type} ${address}`;
  const known = new Set(a.map(text));
  return a.length === b.length && b.every((address) => known.has(text(address)));
}

const isIP = ({ kind }: InstanceAddress): boolean => kind === "InternalIP" || kind === "ExternalIP";

function familyOfAddress({ value }: InstanceAddress): "IPv4" | "IPv6" | undefined {
  const ip = parseIp(value, "sloppy");
  return ip === undefined ? undefined : ipFamily(ip);
}

function isSelected(address: InstanceAddress, policy: AddressPolicy): boolean {
  if (!isIP(address)) return true;
  const { network } = address;
  const ip = parseIp(address.value, "sloppy");
  if (ip === undefined) return false;
  if (policy.families.length > 0 && !policy.families.includes(ipFamily(ip))) return false;
  if (policy.networks.length > 0 && network !== undefined && !policy.networks.includes(network)) return false;
  if (policy.include.length > 0 && !policy.include.some((cidr) => cidrContains(cidr, ip))) return false;
  return !policy.exclude.some((cidr) => cidrContains(cidr, ip));
}

function inOrder(
  addresses: readonly InstanceAddress[],
  { order, families }: AddressPolicy,
): readonly InstanceAddress[] {
  const rank = <T>(list: readonly T[], item: T | undefined) => {
    const index = item === undefined ? -1 : list.indexOf(item);
    return index === -1 ? list.length : index;
  };
  return addresses.toSorted(
    (a, b) =>
      rank(order, a.kind) - rank(order, b.kind) ||
      (isIP(a) && isIP(b) ? rank(families, familyOfAddress(a)) - rank(families, familyOfAddress(b)) : 0),
  );
}

/** Each address of a kind once, as in upstream. */
function withoutRepeats(addresses: readonly NodeAddress[]): readonly NodeAddress[] {
  return addresses.filter(
    (address, index) =>
      addresses.findIndex((other) => other.type === address.type && other.address === address.address) ===
      index,
  );
}

export type Preferred = { readonly addresses: readonly NodeAddress[] } | { readonly wrong: string };

const unspecified: readonly string[] = ["0.0.0.0", "::"];

/** One address, or two addresses of different families that are separated by a comma without spaces. */
function readRequested(annotation: string): { readonly ips: readonly string[] } | { readonly wrong: string } {
  const ips = annotation.split(",");
  const parsed: IpAddress[] = [];
  for (const text of ips) {
    const ip = parseIp(text, "sloppy");
    if (ip === undefined) return { wrong: `${JSON.stringify(text)} is not an IP address` };
    parsed.push(ip);
  }
  const [first, second, third] = parsed;
  if (third !== undefined) return { wrong: `expected at most two addresses, got ${ips.length}` };
  if (first !== undefined && second !== undefined) {
    if (ipFamily(first) === ipFamily(second)) return { wrong: "two addresses must be of different families" };
    if (parsed.some((ip) => unspecified.includes(ip)))
      return { wrong: "a pair must not contain 0.0.0.0 or ::" };
  }
  return { ips };
}

/**
 * Applies the kubelet's --node-ip as upstream does: requested addresses come first and are the only addresses of their kinds, in
 * the cloud's spelling.
 */
export function preferProvidedNodeIP(annotation: string, cloud: readonly NodeAddress[]): Preferred {
  const requested = readRequested(annotation);
  if ("wrong" in requested) return requested;
  const chosen: NodeAddress[] = [];
  for (const ip of requested.ips) {
    const matching = cloud.filter(({ address }) => isSameIp(address, ip));
    if (matching.length === 0) {
      return { wrong: `failed to get node address from cloud provider that matches ip: ${ip}` };
    }
    chosen.push(...matching);
  }
  const taken = new Set(chosen.map(({ type }) => type));
  return { addresses: [...chosen, ...cloud.filter(({ type }) => !taken.has(type))] };
}

export interface KeptInternalIPs {
  readonly kept: readonly InstanceAddress[];
  /** Why addresses were excluded. */
  readonly problems: readonly Problem[];
}

type Rules = Pick<Instance, "addresses" | "keepsInternalIPs">;

/** The InternalIPs of a Node that are kept in addition to the cloud's addresses. */
export function keptInternalIPs({ status }: Node, rules: Rules): KeptInternalIPs {
  const kept: InstanceAddress[] = [];
  const problems: Problem[] = [];
  if (rules.keepsInternalIPs === undefined) return { kept, problems };
  for (const { type, address } of status.addresses ?? []) {
    if (type !== "InternalIP" || isReported("InternalIP", address, rules)) continue;
    const why = whyNotKept(address, rules);
    if (why === undefined) kept.push({ kind: "InternalIP", value: address });
    else problems.push(misconfiguredInternalIP(address, why));
  }
  return { kept, problems };
}

function whyNotKept(address: string, rules: Rules): string | undefined {
  const ip = parseIp(address, "sloppy");
  if (ip === undefined) return "it is not an IP address";
  if (isReported("ExternalIP", address, rules)) return "the cloud reports it as an ExternalIP";
  const families = rules.keepsInternalIPs ?? [];
  if (families.includes(ipFamily(ip))) return undefined;
  return `only ${families.join(" and ") || "the cloud's"} addresses are kept for this instance`;
}

function isReported(kind: InstanceAddress["kind"], address: string, { addresses }: Rules): boolean {
  const ip = parseIp(address, "sloppy");
  return addresses.some((one) => one.kind === kind && ip !== undefined && isSameIp(one.value, ip));
}
