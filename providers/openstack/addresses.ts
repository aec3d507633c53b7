// A server's addresses, in the Go manager's order: from its active ports, then from the server itself. Pure.

import {
  type Cidr,
  cidrContains,
  compareIp,
  type InstanceAddress,
  type IpAddress,
  ipFamily,
  parseIp,
} from "#ccm";
import type { ApiPort, ApiServer, ApiServerAddress } from "./resources.ts";
import type { Settings } from "./settings.ts";

export type Networking = Pick<
  Settings,
  "ipv6-support-disabled" | "public-network-name" | "internal-network-name" | "address-sort-order"
>;

/** The ports of a server, and its trunk's subports by the name of their network. */
export interface Attached {
  readonly ports: readonly ApiPort[];
  readonly subports: readonly { readonly network: string; readonly port: ApiPort }[];
}

const normal = (text: string): IpAddress | undefined => parseIp(text, "sloppy");

/** The server's addresses, followed by those of its subports. */
function byNetwork(
  { addresses = {} }: ApiServer,
  { subports }: Attached,
): readonly (readonly [string, readonly ApiServerAddress[]])[] {
  const all = new Map(Object.entries(addresses));
  for (const { network, port } of subports) {
    const added = port.fixed_ips.map(({ ip_address: addr }) => ({ addr, "OS-EXT-IPS:type": "fixed" }));
    all.set(network, [...(all.get(network) ?? []), ...added]);
  }
  // Sorted by code unit, as in Go.
  return [...all].toSorted(([one], [other]) => (one < other ? -1 : 1));
}

function sorted(addresses: readonly InstanceAddress[], order: readonly Cidr[]): readonly InstanceAddress[] {
  const rankOf = ({ value }: InstanceAddress): number => {
    const ip = normal(value);
    const rank = ip === undefined ? -1 : order.findIndex((range) => cidrContains(range, ip));
    return rank < 0 ? order.length : rank;
  };
  return addresses.toSorted((one, other) => {
    const [first, second] = [rankOf(one), rankOf(other)];
    const [a, b] = [normal(one.value), normal(other.value)];
    if (first !== second || first === order.length || a === undefined || b === undefined)
      return first - second;
    return compareIp(a, b);
  });
}

export function addressesOf(
  server: ApiServer,
  attached: Attached,
  networking: Networking,
): readonly InstanceAddress[] {
  const { "public-network-name": publicOnes = [], "internal-network-name": internalOnes = [] } = networking;
  let all: readonly InstanceAddress[] = [];
  const add = (kind: InstanceAddress["kind"], value: string | undefined) => {
    const ip = normal(value ?? "");
    const isLeftOut = ip !== undefined && ipFamily(ip) === "IPv6" && networking["ipv6-support-disabled"];
    if (!value || isLeftOut || all.some((one) => one.kind === kind && one.value === value)) return;
    all = [...all, { kind, value }];
  };
  const remove = (value: string) => {
    all = all.filter((one) => one.value !== value);
  };
  for (const { status, fixed_ips } of attached.ports)
    if (status === "ACTIVE") for (const { ip_address } of fixed_ips) add("InternalIP", ip_address);
  add("ExternalIP", server.accessIPv4);
  add("ExternalIP", server.accessIPv6);
  add("Hostname", server.metadata?.["hostname"]);
  for (const [network, addresses] of byNetwork(server, attached)) {
    for (const { addr, "OS-EXT-IPS:type": type } of addresses) {
      const isInternal = internalOnes.length === 0 || internalOnes.includes(network);
      if (type === "floating") add("ExternalIP", addr);
      else if (publicOnes.includes(network)) {
        remove(addr);
        add("ExternalIP", addr);
      } else if (isInternal) add("InternalIP", addr);
      else remove(addr);
    }
  }
  return sorted(all, networking["address-sort-order"] ?? []);
}
