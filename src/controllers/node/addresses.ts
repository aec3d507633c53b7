// Plans the addresses of a Node: those of the cloud, selected and ordered by the address policy and the kubelet's --node-ip.
// The kubelet's hostname is kept when the cloud reports none. Pure.

import { cidrContains } from "../../core/cidr.ts";
import { ipFamily, parseIp } from "../../core/ip.ts";
import type { Problem } from "../../core/problem.ts";
import type { Node, NodeAddress } from "../../kube/objects.ts";
import type { InstanceAddress } from "../../provider/instances.ts";
import { isUninitialized } from "../node-facts.ts";
import { providedNodeIP } from "../well-known.ts";
import { noAddressLeft, nodeIPMismatch } from "./events.ts";
import { preferProvidedNodeIP } from "./provided-node-ip.ts";
import type { AddressPolicy } from "./settings.ts";

export interface AddressPlan {
  /** Undefined: keep the current addresses, because the cloud has none or there is a problem. */
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
    // As upstream: a requested address that the cloud does not report prevents the initialization, and only that.
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

/** Compares the order too, and detects two addresses of one kind; upstream does neither. */
export function sameAddresses(a: readonly NodeAddress[], b: readonly NodeAddress[]): boolean {
  return (
    a.length === b.length &&
    a.every((address, index) => address.type === b[index]?.type && address.address === b[index]?.address)
  );
}

/** Ignores the order: a different order alone does not cause a write. */
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

/** Each address of a kind once, as upstream does. */
function withoutRepeats(addresses: readonly NodeAddress[]): readonly NodeAddress[] {
  return addresses.filter(
    (address, index) =>
      addresses.findIndex((other) => other.type === address.type && other.address === address.address) ===
      index,
  );
}
