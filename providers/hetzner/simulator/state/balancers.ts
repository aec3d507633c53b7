// Load balancers with their services and targets.

import type { Ids } from "#ccm/testing";
import type { Labels } from "../base/listing.ts";
import { AttachableCollection, type Networks, type PrivateNet } from "./networks.ts";

export interface HealthCheck {
  readonly protocol: "tcp" | "http";
  readonly port: number;
  readonly interval: number;
  readonly timeout: number;
  readonly retries: number;
  readonly http?: {
    readonly domain: string | null;
    readonly path: string;
    readonly response: string;
    readonly status_codes: readonly string[];
    readonly tls: boolean;
  };
}

export interface HttpOptions {
  readonly cookie_name: string;
  readonly cookie_lifetime: number;
  readonly certificates: readonly number[];
  readonly redirect_http: boolean;
  readonly sticky_sessions: boolean;
  readonly timeout_idle: number;
}

export interface Service {
  readonly protocol: "tcp" | "http" | "https";
  readonly listen_port: number;
  readonly destination_port: number;
  readonly proxyprotocol: boolean;
  readonly health_check: HealthCheck;
  /** Absent for TCP. */
  readonly http?: HttpOptions;
}

export type Target =
  | { readonly type: "server"; readonly server: number; readonly usesPrivateIp: boolean }
  | { readonly type: "label_selector"; readonly selector: string; readonly usesPrivateIp: boolean }
  | { readonly type: "ip"; readonly ip: string };

export interface Balancer {
  readonly id: number;
  readonly name: string;
  readonly created: string;
  readonly labels: Labels;
  /** Name of the load balancer type. */
  readonly type: string;
  /** Name of the location. */
  readonly location: string;
  readonly algorithm: "round_robin" | "least_connections";
  readonly services: readonly Service[];
  readonly targets: readonly Target[];
  readonly isPublic: boolean;
  /** Null until the load balancer is created. */
  readonly ipv4: string | null;
  readonly ipv6: string | null;
  /** PTR records by address. */
  readonly pointers: Readonly<Record<string, string>>;
  readonly privateNets: readonly PrivateNet[];
  readonly isProtected: boolean;
}

export class Balancers extends AttachableCollection<Balancer> {
  #added = 0;

  constructor(ids: Ids, networks: Networks) {
    super("load_balancer", ids, networks);
  }

  /** Adds a load balancer in the state after its creation. */
  add(name: string, changes: Partial<Omit<Balancer, "id" | "name">> = {}): Balancer {
    const balancer = this.prepare(name, changes);
    return this.put({ ...balancer, ...this.addresses(), ...changes });
  }

  /** A load balancer without addresses that is not stored yet. */
  prepare(name: string, changes: Partial<Omit<Balancer, "id" | "name">>): Balancer {
    return {
      ...this.draft(name),
      type: "lb11",
      location: "fsn1",
      algorithm: "round_robin",
      services: [],
      targets: [],
      isPublic: true,
      ipv4: null,
      ipv6: null,
      pointers: {},
      privateNets: [],
      isProtected: false,
      ...changes,
    };
  }

  /** New public addresses. */
  addresses(): Pick<Balancer, "ipv4" | "ipv6"> {
    const number = ++this.#added;
    return {
      ipv4: `198.19.${(number >> 8) & 255}.${number & 255}`,
      ipv6: `2001:db8:1:${number.toString(16)}::1`,
    };
  }

  /** Removes a deleted server from the targets. */
  dropServer(id: number): void {
    for (const balancer of this.list()) {
      const targets = balancer.targets.filter((target) => target.type !== "server" || target.server !== id);
      if (targets.length < balancer.targets.length) this.put({ ...balancer, targets });
    }
  }
}
