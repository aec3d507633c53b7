// DigitalOcean API objects, with the fields in use.

export type ApiAddresses = readonly { readonly ip_address: string; readonly type: string }[] | null;

export interface ApiDroplet {
  readonly id: number;
  readonly name: string;
  readonly status: string;
  readonly size_slug: string;
  readonly region: { readonly slug: string };
  readonly tags?: readonly string[] | null;
  readonly networks: { readonly v4?: ApiAddresses; readonly v6?: ApiAddresses };
}

export interface ApiRule {
  readonly entry_protocol: string;
  readonly entry_port: number;
  readonly target_protocol: string;
  readonly target_port: number;
  readonly certificate_id?: string;
  readonly tls_passthrough?: boolean;
}

/** Older load balancers lack some members, and other members are null. */
export interface ApiLoadBalancer {
  readonly id: string;
  readonly name: string;
  readonly status: string;
  readonly type?: string | null;
  readonly ip?: string | null;
  readonly ipv6?: string | null;
  readonly region?: { readonly slug: string } | null;
  readonly forwarding_rules?: readonly ApiRule[] | null;
  readonly droplet_ids?: readonly number[] | null;
  readonly health_check?: { readonly port?: number } | null;
  readonly firewall?: Readonly<Record<"allow" | "deny", readonly string[] | null | undefined>> | null;
  /** Droplets with this tag are targets. */
  readonly tag?: string | null;
  readonly tags?: readonly string[] | null;
  /** All values that requests set, under the same names. */
  readonly [member: string]: unknown;
}

export interface ApiVolume {
  readonly id: string;
  readonly name: string;
  readonly size_gigabytes: number;
  readonly region: { readonly slug: string };
  readonly droplet_ids: readonly number[] | null;
  readonly tags: readonly string[] | null;
}

export interface ApiSnapshot {
  readonly id: string;
  readonly name: string;
  readonly resource_id: string;
  readonly resource_type: "droplet" | "volume";
  /** The regions in which a volume can be created from the snapshot. */
  readonly regions: readonly string[];
  /** The size in GiB. */
  readonly min_disk_size: number;
  readonly created_at: string;
}

export interface ApiAction {
  readonly id: number;
  readonly status: "in-progress" | "completed" | "errored";
  readonly type: string;
}

export interface ApiCertificate {
  readonly id: string;
  readonly name: string;
  readonly type: string;
}

interface ApiFirewallEnds {
  readonly addresses?: readonly string[];
  readonly load_balancer_uids?: readonly string[];
}

export interface ApiFirewallRule {
  readonly protocol: string;
  readonly ports?: string;
  readonly sources?: ApiFirewallEnds;
  readonly destinations?: ApiFirewallEnds;
}

export interface ApiFirewall {
  readonly id: string;
  readonly name: string;
  /** Droplets with one of these tags are protected. */
  readonly tags: readonly string[] | null;
  readonly droplet_ids: readonly number[] | null;
  readonly inbound_rules: readonly ApiFirewallRule[] | null;
  readonly outbound_rules: readonly ApiFirewallRule[] | null;
}
