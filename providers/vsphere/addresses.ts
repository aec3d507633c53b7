// The addresses of a machine, chosen as the Go manager does: by range, by the name of the network, or else the first one of each family.
// Pure.

import { type Cidr, cidrContains, type InstanceAddress, ipFamily, parseCidr, parseIp } from "#ccm";
import type { VirtualMachine } from "./machine.ts";
import { staticAddresses } from "./static-addresses.ts";

export type Family = "ipv4" | "ipv6";

/** How the addresses of one kind are chosen. */
export interface AddressRule {
  readonly ranges: readonly Cidr[];
  readonly excluded: readonly Cidr[];
  /** The name of a network, without regard to case. */
  readonly network: string | undefined;
}

export interface AddressRules {
  readonly internal: AddressRule;
  readonly external: AddressRule;
  readonly families: readonly Family[];
}

interface Candidate {
  readonly value: string;
  readonly network: string;
  readonly family: Family;
}

/** Addresses that only the machine itself can use. */
const local = [
  ...["0.0.0.0/32", "127.0.0.0/8", "169.254.0.0/16", "224.0.0.0/24"],
  ...["::/128", "::1/128", "fe80::/10", "ff02::/16"],
].flatMap((range) => parseCidr(range) ?? []);

function isIn(ranges: readonly Cidr[], value: string): boolean {
  const ip = parseIp(value);
  return ip !== undefined && ranges.some((range) => cidrContains(range, ip));
}

const isSame = (one: string, other: string): boolean => one.toLowerCase() === other.toLowerCase();

function candidatesOf({ nics, metadata, metadataEncoding }: VirtualMachine): readonly Candidate[] {
  const all = nics
    .filter(({ isDevice }) => isDevice)
    .flatMap(({ network, addresses }) =>
      addresses.flatMap((value): readonly Candidate[] => {
        const ip = parseIp(value);
        if (ip === undefined || isIn(local, value)) return [];
        return [{ value, network, family: ipFamily(ip) === "IPv4" ? "ipv4" : "ipv6" }];
      }),
    );
  const configured = staticAddresses(metadata, metadataEncoding);
  if (configured.length === 0) return all;
  const rankOf = ({ value }: Candidate): number => {
    const rank = configured.indexOf(parseIp(value) ?? value);
    return rank < 0 ? configured.length : rank;
  };
  return all.toSorted((one, other) => rankOf(one) - rankOf(other));
}

/** Chooses addresses by range, in the order of the ranges, or otherwise by network. */
function chosen(all: readonly Candidate[], { ranges, network }: AddressRule): Candidate | undefined {
  const byRange = ranges.flatMap((range) => all.find(({ value }) => isIn([range], value)) ?? []);
  return byRange[0] ?? all.find((one) => network !== undefined && isSame(one.network, network));
}

/** The addresses, or the reason why there are none. */
export type ChosenAddresses =
  | { readonly addresses: readonly InstanceAddress[] }
  | { readonly missing: string };

export function addressesOf(machine: VirtualMachine, rules: AddressRules): ChosenAddresses {
  const { internal, external, families } = rules;
  const { nics } = machine;
  const networks = nics.filter(({ isDevice }) => isDevice).map(({ network }) => network);
  const named = [internal.network, external.network].flatMap((name) => name ?? []);
  if (named.length === 2 && !networks.some((network) => named.some((name) => isSame(name, network)))) {
    const shown = networks.map((name) => JSON.stringify(name)).join(", ") || "none";
    return { missing: `it is in neither of the networks ${named.join(" and ")}; its networks are ${shown}` };
  }
  const all = candidatesOf(machine);
  const addresses: InstanceAddress[] = [];
  for (const family of families) {
    const ofFamily = all.filter((one) => one.family === family);
    const without = ({ excluded }: AddressRule) => ofFamily.filter(({ value }) => !isIn(excluded, value));
    const [inside, outside] = [without(internal), without(external)];
    let [first, second] = [chosen(inside, internal), chosen(outside, external)];
    if (first === undefined && second === undefined) [first, second] = [inside[0], outside[0]];
    if (first === undefined && second === undefined)
      return { missing: `VMware Tools report no usable ${family === "ipv4" ? "IPv4" : "IPv6"} address` };
    if (first !== undefined)
      addresses.push({ kind: "InternalIP", value: first.value, network: first.network });
    if (second !== undefined)
      addresses.push({ kind: "ExternalIP", value: second.value, network: second.network });
  }
  return { addresses };
}
