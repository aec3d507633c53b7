// Private networks: subnets, routes, and the addresses of servers and load balancers.

import type { Ids } from "#ccm/testing";
import { Refusal } from "../base/answer.ts";
import { Collection, type ResourceRef, type ResourceType } from "../base/collection.ts";
import { ipNumber, ipText, rangeOf } from "../base/ipv4.ts";
import type { Labels } from "../base/listing.ts";
import { locations, offer } from "./catalog.ts";

export interface Subnet {
  readonly type: "cloud" | "server";
  readonly ip_range: string;
  readonly network_zone: string;
  readonly gateway: string;
  readonly vswitch_id: null;
}

export interface Route {
  readonly destination: string;
  readonly gateway: string;
}

export interface Network {
  readonly id: number;
  readonly name: string;
  readonly created: string;
  readonly labels: Labels;
  readonly ipRange: string;
  readonly subnets: readonly Subnet[];
  readonly routes: readonly Route[];
  readonly isProtected: boolean;
}

/** A server's or load balancer's request for an address. */
export interface AddressRequest {
  readonly zone: string;
  readonly ip?: string | undefined;
  /** If set, only addresses in the subnet with this range. */
  readonly ipRange?: string | undefined;
}

export function subnetOf(ip_range: string, network_zone = "eu-central"): Subnet {
  const range = rangeOf(ip_range);
  if (range === undefined) throw new Error(`${ip_range} is not an IPv4 range.`);
  return { type: "cloud", ip_range, network_zone, gateway: ipText(range.first + 1), vswitch_id: null };
}

export class Networks extends Collection<Network> {
  /** The holder of each address, by network. */
  readonly #holders = new Map<number, Map<string, ResourceRef>>();
  /** The position where the search for a free address begins, by subnet. */
  readonly #next = new Map<string, number>();

  constructor(ids: Ids) {
    super("network", ids);
  }

  /** For tests, `add("net")` is enough: 10.0.0.0/8 with a subnet 10.0.0.0/16 in `eu-central`. */
  add(name: string, changes: Partial<Omit<Network, "id" | "name">> = {}): Network {
    return this.put({
      ...this.draft(name),
      ipRange: "10.0.0.0/8",
      subnets: [subnetOf("10.0.0.0/16")],
      routes: [],
      isProtected: false,
      ...changes,
    });
  }

  override remove(which: number | string): void {
    const { id } = this.existing(which);
    super.remove(id);
    this.#holders.delete(id);
  }

  /** Ids of the servers or load balancers that have an address in the network. */
  members(id: number, type: ResourceRef["type"]): readonly number[] {
    const holders = [...(this.#holders.get(id)?.values() ?? [])];
    return [...new Set(holders.filter((holder) => holder.type === type).map((holder) => holder.id))];
  }

  /** Reserves an address. Throws a Refusal if none is free. */
  reserve(id: number, holder: ResourceRef, { zone, ip, ipRange }: AddressRequest): string {
    const subnets = this.existing(id).subnets.filter(
      (subnet) => subnet.network_zone === zone && (ipRange === undefined || subnet.ip_range === ipRange),
    );
    const holders = this.#holders.get(id) ?? new Map<string, ResourceRef>();
    this.#holders.set(id, holders);
    if (ip !== undefined) {
      const isInside = subnets.some((subnet) => this.#isUsable(subnet, ip));
      if (!isInside || holders.has(ip)) throw new Refusal("ip_not_available", `IP ${ip} is not available`);
      holders.set(ip, holder);
      return ip;
    }
    for (const subnet of subnets) {
      const free = this.#free(id, subnet, holders);
      if (free === undefined) continue;
      holders.set(free, holder);
      return free;
    }
    throw new Refusal("no_subnet_available", "no subnet or IP is available within the network");
  }

  release(id: number, ip: string): void {
    this.#holders.get(id)?.delete(ip);
  }

  #isUsable({ ip_range }: Subnet, ip: string): boolean {
    const range = rangeOf(ip_range);
    const number = ipNumber(ip);
    return (
      range !== undefined && number !== undefined && range.first + 2 <= number && number <= range.last - 1
    );
  }

  #free(id: number, { ip_range }: Subnet, holders: ReadonlyMap<string, unknown>): string | undefined {
    const range = rangeOf(ip_range);
    if (range === undefined) return undefined;
    const key = `${id} ${ip_range}`;
    const [first, size] = [range.first + 2, range.last - range.first - 2];
    const start = this.#next.get(key) ?? 0;
    for (let tried = 0; tried < size; tried++) {
      const offset = (start + tried) % size;
      const ip = ipText(first + offset);
      if (holders.has(ip)) continue;
      this.#next.set(key, offset + 1);
      return ip;
    }
    return undefined;
  }
}

export interface PrivateNet {
  readonly network: number;
  readonly ip: string;
  /** Only servers have alias addresses. */
  readonly aliasIps?: readonly string[];
}

/** A resource that can join networks. */
export interface Attachable {
  readonly id: number;
  readonly name: string;
  /** Name of the location. */
  readonly location: string;
  readonly privateNets: readonly PrivateNet[];
}

export class AttachableCollection<T extends Attachable> extends Collection<T> {
  readonly #networks: Networks;

  constructor(kind: ResourceType, ids: Ids, networks: Networks) {
    super(kind, ids);
    this.#networks = networks;
  }

  /** Reserves an address, which the resource gets when it is attached. */
  reserve(
    { id, location }: Pick<T, "id" | "location">,
    network: number,
    ip?: string,
    ipRange?: string,
  ): string {
    const zone = offer(locations, location).network_zone;
    return this.#networks.reserve(network, { type: this.kind, id }, { zone, ip, ipRange });
  }

  /** Releases the addresses of the resource in the network, and returns its addresses in other networks. */
  released({ privateNets }: T, network: number): T["privateNets"] {
    for (const net of privateNets.filter((each) => each.network === network))
      for (const ip of [net.ip, ...(net.aliasIps ?? [])]) this.#networks.release(network, ip);
    return privateNets.filter((each) => each.network !== network);
  }

  detach(which: number | string, network: number): T {
    const record = this.existing(which);
    return this.put({ ...record, privateNets: this.released(record, network) });
  }

  override remove(which: number | string): void {
    const record = this.existing(which);
    for (const { network } of record.privateNets) this.released(record, network);
    super.remove(record.id);
  }
}
