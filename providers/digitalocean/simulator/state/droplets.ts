// Droplets: the machines of an account.

import { type Ids, Records, type Stored } from "#ccm/testing";

export interface DropletAddress {
  readonly ip_address: string;
  readonly netmask: string | number;
  readonly gateway: string;
  readonly type: "public" | "private";
}

export interface Droplet extends Stored {
  readonly id: number;
  readonly status: "new" | "active" | "off" | "archive";
  readonly size_slug: string;
  /** The region's slug. */
  readonly region: string;
  readonly created_at: string;
  readonly networks: { readonly v4: readonly DropletAddress[]; readonly v6: readonly DropletAddress[] };
  readonly tags: readonly string[];
  readonly vpc_uuid: string;
}

export interface NewDroplet
  extends Partial<Pick<Droplet, "status" | "size_slug" | "region" | "tags" | "vpc_uuid">> {
  /** If false, the droplet has only a private address. */
  readonly isPublic?: boolean;
  readonly ipv6?: boolean;
}

export class Droplets extends Records<Droplet> {
  readonly #ids: Ids;

  constructor(ids: Ids) {
    super(ids.clock);
    this.#ids = ids;
  }

  /** Adds a droplet that is ready unless it has a different status. */
  add(name: string, { isPublic = true, ipv6 = false, ...changes }: NewDroplet = {}): Droplet {
    const id = this.#ids.next();
    return this.put({
      id,
      name,
      status: "active",
      size_slug: "s-2vcpu-4gb",
      region: "nyc3",
      created_at: this.#ids.now,
      networks: this.addresses(id, isPublic, ipv6),
      tags: [],
      vpc_uuid: "",
      ...changes,
    });
  }

  addresses(id: number, isPublic: boolean, ipv6: boolean): Droplet["networks"] {
    const [high, low] = [(id >> 8) & 255, id & 255];
    const own = { ip_address: `10.132.${high}.${low}`, netmask: "255.255.0.0", gateway: "10.132.0.1" };
    const shared = { ip_address: `198.18.${high}.${low}`, netmask: "255.255.240.0", gateway: "198.18.0.1" };
    const address = `2604:a880:800:14::${(id >> 16).toString(16)}:${(id & 0xffff).toString(16)}`;
    return {
      v4: [...(isPublic ? [{ ...shared, type: "public" as const }] : []), { ...own, type: "private" }],
      v6: ipv6 ? [{ ip_address: address, netmask: 64, gateway: "2604:a880:800:14::1", type: "public" }] : [],
    };
  }
}
