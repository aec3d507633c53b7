// Servers, and the changes that tests make to them: they add, rebuild, power off, rename, attach and remove servers immediately,
// without actions.

import type { Ids } from "#ccm/testing";
import type { Labels } from "../base/listing.ts";
import { AttachableCollection, type Networks, type PrivateNet } from "./networks.ts";

export type ServerStatus =
  | "running"
  | "initializing"
  | "starting"
  | "stopping"
  | "off"
  | "deleting"
  | "migrating"
  | "rebuilding"
  | "unknown";

export interface Server {
  readonly id: number;
  readonly name: string;
  readonly created: string;
  readonly status: ServerStatus;
  /** Name of the server type. */
  readonly type: string;
  /** Name of the location. */
  readonly location: string;
  readonly labels: Labels;
  /** Null if the server has no public IPv4 address. */
  readonly ipv4: string | null;
  /** The /64 network. Null if the server has no public IPv6. */
  readonly ipv6: string | null;
  readonly privateNets: readonly PrivateNet[];
}

/** With `ipv4: false` or `ipv6: false`, the server has no such public address. */
export interface NewServer extends Partial<Pick<Server, "status" | "type" | "location" | "labels">> {
  readonly ipv4?: boolean | string;
  readonly ipv6?: boolean;
  /** The networks to which the server is attached, with its address there if this matters. */
  readonly networks?: readonly { readonly network: number; readonly ip?: string }[];
}

export class Servers extends AttachableCollection<Server> {
  #added = 0;
  /** Called with the id of a removed server. */
  readonly #onRemoved: (id: number) => void;

  constructor(ids: Ids, networks: Networks, onRemoved: (id: number) => void) {
    super("server", ids, networks);
    this.#onRemoved = onRemoved;
  }

  add(name: string, { ipv4 = true, ipv6 = true, networks = [], ...changes }: NewServer = {}): Server {
    const number = ++this.#added;
    const { id } = this.put({
      ...this.draft(name),
      status: "running",
      type: "cx23",
      location: "fsn1",
      ipv4: typeof ipv4 === "string" ? ipv4 : ipv4 ? `198.18.${(number >> 8) & 255}.${number & 255}` : null,
      ipv6: ipv6 ? `2001:db8:0:${number.toString(16)}::/64` : null,
      privateNets: [],
      ...changes,
    });
    for (const { network, ip } of networks) this.attach(id, network, ip);
    return this.existing(id);
  }

  setStatus(which: number | string, status: ServerStatus): Server {
    return this.change(which, { status });
  }

  powerOff(which: number | string): Server {
    return this.setStatus(which, "off");
  }

  /** Deletes a server and adds one with the same name, a new id and new addresses. */
  rebuild(which: number | string): Server {
    const { id, name, type, location, labels, ipv4, ipv6, privateNets } = this.existing(which);
    this.remove(id);
    const networks = privateNets.map(({ network }) => ({ network }));
    return this.add(name, { type, location, labels, networks, ipv4: ipv4 !== null, ipv6: ipv6 !== null });
  }

  /** Attaches a server to a network and returns its address there. */
  attach(which: number | string, network: number, ip?: string, ipRange?: string): string {
    const server = this.existing(which);
    const taken = this.reserve(server, network, ip, ipRange);
    this.change(server.id, { privateNets: [...server.privateNets, { network, ip: taken, aliasIps: [] }] });
    return taken;
  }

  override remove(which: number | string): void {
    const { id } = this.existing(which);
    super.remove(id);
    this.#onRemoved(id);
  }
}
