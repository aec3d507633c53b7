// Which addresses a Node should show: what the cloud says, chosen and ordered by the operator's policy and the kubelet's
// --node-ip, with the kubelet's hostname kept when the cloud has none. Pure.

import { cidrContains } from "../../core/cidr.ts";
import { ipFamily, parseIp } from "../../core/ip.ts";
import type { Problem } from "../../core/problem.ts";
import type { Node, NodeAddress } from "../../kube/objects.ts";
import type { InstanceAddress } from "../../provider/instances.ts";
import { providedNodeIP } from "../well-known.ts";
import { preferProvidedNodeIP } from "./provided-node-ip.ts";
import type { AddressPolicy } from "./settings.ts";

export interface AddressPlan {
  /** Undefined: leave what is there, because the cloud knows none or something is wrong. */
  readonly wanted?: readonly NodeAddress[];
  readonly problems: readonly Problem[];
}

export function planAddresses(
  node: Node,
  cloud: readonly InstanceAddress[],
  policy: AddressPolicy,
): AddressPlan {
  const chosen = inOrder(
    cloud.filter((address) => isWanted(address, policy)),
    policy,
  );
  if (chosen.length === 0) {
    return { problems: cloud.length === 0 ? [] : [nothingLeft(node, cloud)] };
  }
  const present = node.status.addresses ?? [];
  const addresses = withoutRepeats(chosen.map(({ kind, value }) => ({ type: kind, address: value })));
  const hostnames = addresses.some(({ type }) => type === "Hostname")
    ? []
    : present.filter(({ type }) => type === "Hostname");
  const all = [...addresses, ...hostnames];
  const annotation = node.metadata.annotations?.[providedNodeIP];
  if (annotation === undefined) return { wanted: all, problems: [] };
  const preferred = preferProvidedNodeIP(annotation, all);
  return "wrong" in preferred
    ? { problems: [nodeIPMismatch(node, annotation, preferred.wrong, all)] }
    : { wanted: preferred.addresses, problems: [] };
}

/** In order and exactly: two addresses of one kind, or another order, are told apart (upstream cannot). */
export function sameAddresses(a: readonly NodeAddress[], b: readonly NodeAddress[]): boolean {
  return (
    a.length === b.length &&
    a.every((address, index) => address.type === b[index]?.type && address.address === b[index]?.address)
  );
}

/** The same set: a different order alone is no reason for a write. */
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

function isWanted(address: InstanceAddress, policy: AddressPolicy): boolean {
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

/** Upstream's helper adds an address of one kind once. */
function withoutRepeats(addresses: readonly NodeAddress[]): readonly NodeAddress[] {
  return addresses.filter(
    (address, index) =>
      addresses.findIndex((other) => other.type === address.type && other.address === address.address) ===
      index,
  );
}

function nothingLeft(node: Node, cloud: readonly InstanceAddress[]): Problem {
  return {
    severity: "error",
    reason: "NoAddressLeft",
    text: `The address policy leaves none of the ${cloud.length} addresses that the cloud has for node ${node.metadata.name}: ${cloud
      .map(({ value }) => value)
      .join(", ")}. Its addresses stay as they are; widen --node-address-include, -exclude or -families.`,
  };
}

function nodeIPMismatch(node: Node, annotation: string, wrong: string, all: readonly NodeAddress[]): Problem {
  return {
    severity: "error",
    reason: "NodeIPMismatch",
    key: providedNodeIP,
    text: `provided node ip for node ${JSON.stringify(node.metadata.name)} is not valid: ${wrong}. The kubelet asks for ${JSON.stringify(annotation)}, the cloud has ${all.map(({ address }) => address).join(", ") || "none"}; correct the kubelet's --node-ip.`,
  };
}
