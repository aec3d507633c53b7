// The objects of the DigitalOcean API, with the fields in use.

interface ApiNetworkAddress {
  readonly ip_address: string;
  readonly type: string;
}

export interface ApiDroplet {
  readonly id: number;
  readonly name: string;
  readonly status: string;
  readonly size_slug: string;
  readonly region: { readonly slug: string };
  readonly networks: {
    readonly v4?: readonly ApiNetworkAddress[] | null;
    readonly v6?: readonly ApiNetworkAddress[] | null;
  };
}

export interface ApiForwardingRule {
  readonly entry_protocol: string;
  readonly entry_port: number;
  readonly target_protocol: string;
  readonly target_port: number;
  readonly certificate_id?: string;
  readonly tls_passthrough?: boolean;
}

export interface ApiHealthCheck {
  readonly protocol: string;
  readonly port: number;
  readonly path?: string | null;
  readonly check_interval_seconds: number;
  readonly response_timeout_seconds: number;
  readonly unhealthy_threshold: number;
  readonly healthy_threshold: number;
  readonly proxy_protocol?: boolean | null;
}

export interface ApiStickySessions {
  readonly type: string;
  readonly cookie_name?: string | null;
  readonly cookie_ttl_seconds?: number | null;
}

/** What a request sets. A change must contain all of it: the API resets what is left out. */
export interface BalancerSpec {
  readonly name: string;
  readonly size?: string;
  readonly size_unit?: number;
  readonly forwarding_rules: readonly ApiForwardingRule[];
  readonly health_check: ApiHealthCheck;
  readonly sticky_sessions: ApiStickySessions;
  readonly droplet_ids: readonly number[];
  readonly redirect_http_to_https: boolean;
  readonly enable_proxy_protocol: boolean;
  readonly enable_backend_keepalive: boolean;
  readonly disable_lets_encrypt_dns_records: boolean;
  readonly http_idle_timeout_seconds: number;
  readonly firewall: { readonly allow: readonly string[]; readonly deny: readonly string[] };
}

/** What a load balancer gets when it is created, and what users set in the cloud. Changes send it unchanged. */
export interface BalancerPlace {
  readonly region: string;
  readonly type: string;
  readonly network: string;
  readonly network_stack: string;
  readonly vpc_uuid: string;
  readonly subnet_uuid: string;
  readonly project_id: string;
  readonly tls_cipher_policy: string;
}

type Returned<T> = { readonly [K in keyof T]?: T[K] | null };

/** A load balancer as the API returns it: older ones lack members, and others are null. */
export interface ApiLoadBalancer
  extends Returned<Omit<BalancerSpec, "name" | "firewall">>,
    Returned<Omit<BalancerPlace, "region">> {
  readonly id: string;
  readonly name: string;
  readonly ip?: string | null;
  readonly ipv6?: string | null;
  readonly status: string;
  /** Droplets with this tag are targets. */
  readonly tag?: string | null;
  readonly firewall?: {
    readonly allow?: readonly string[] | null;
    readonly deny?: readonly string[] | null;
  } | null;
  readonly region?: { readonly slug: string } | null;
  readonly tags?: readonly string[] | null;
}

export interface ApiCertificate {
  readonly id: string;
  readonly name: string;
  readonly type: string;
}
