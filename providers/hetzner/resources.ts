// Hetzner Cloud API objects, with the fields in use.

type Labels = Readonly<Record<string, string>>;

export interface ApiDeprecation {
  readonly announced: string;
  readonly unavailable_after: string;
}

export interface ApiServer {
  readonly id: number;
  readonly name: string;
  readonly status: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly server_type: {
    readonly name: string;
    readonly deprecation?: ApiDeprecation | null;
    /** A type may be deprecated in some locations only. */
    readonly locations?: readonly { readonly name: string; readonly deprecation?: ApiDeprecation | null }[];
  };
  /** Null if the image was deleted. */
  readonly image?: {
    readonly id: number;
    readonly name: string | null;
    /** The time since which the image is deprecated. */
    readonly deprecated: string | null;
  } | null;
  readonly location: { readonly name: string };
  /** Servers may have neither address. */
  readonly public_net: {
    readonly ipv4?: { readonly ip: string } | null;
    /** The range of the server, for example 2001:db8:1::/64. */
    readonly ipv6?: { readonly ip: string } | null;
  };
  readonly private_net: readonly { readonly network: number; readonly ip: string }[];
}

export interface ApiNetwork {
  readonly id: number;
  readonly name: string;
  readonly ip_range: string;
  readonly routes: readonly { readonly destination: string; readonly gateway: string }[];
}

export interface ApiHealthCheck {
  readonly protocol: string;
  readonly port: number;
  /** In seconds. */
  readonly interval: number;
  /** In seconds. */
  readonly timeout: number;
  readonly retries: number;
  readonly http?: {
    readonly domain?: string | null;
    readonly path?: string;
    readonly response?: string;
    readonly status_codes?: readonly string[];
    readonly tls?: boolean;
  };
}

export interface ApiService {
  readonly protocol: string;
  readonly listen_port: number;
  readonly destination_port: number;
  readonly proxyprotocol: boolean;
  readonly http?: {
    readonly cookie_name?: string;
    /** In seconds. */
    readonly cookie_lifetime?: number;
    readonly certificates?: readonly number[];
    readonly redirect_http?: boolean;
    readonly sticky_sessions?: boolean;
    /** In seconds. */
    readonly timeout_idle?: number;
  };
  readonly health_check: ApiHealthCheck;
}

export interface ApiTarget {
  readonly type: "server" | "ip" | "label_selector";
  readonly server?: { readonly id: number };
  readonly ip?: { readonly ip: string };
  readonly label_selector?: { readonly selector: string };
  readonly use_private_ip?: boolean;
  /** One status for each port. Absent in requests, and for a label selector. */
  readonly health_status?: readonly { readonly listen_port?: number; readonly status?: string }[];
  /** The servers that a label selector matches. */
  readonly targets?: readonly Pick<ApiTarget, "server" | "health_status">[];
}

interface ApiPublicAddress {
  readonly ip?: string | null;
  readonly dns_ptr?: string | null;
}

export interface ApiLoadBalancer {
  readonly id: number;
  readonly name: string;
  readonly labels: Labels;
  readonly public_net: {
    readonly enabled: boolean;
    readonly ipv4: ApiPublicAddress;
    readonly ipv6: ApiPublicAddress;
  };
  readonly private_net: readonly { readonly network: number; readonly ip: string }[];
  readonly location: { readonly name: string; readonly network_zone: string };
  readonly load_balancer_type: {
    readonly name: string;
    readonly max_targets: number;
    readonly max_services: number;
    readonly deprecated: string | null;
  };
  readonly protection: { readonly delete: boolean };
  readonly algorithm: { readonly type: string };
  readonly services: readonly ApiService[];
  readonly targets: readonly ApiTarget[];
}

export interface ApiCertificate {
  readonly id: number;
  readonly name: string;
  readonly labels: Labels;
  readonly type?: string;
  readonly domain_names: readonly string[];
  readonly status?: {
    readonly issuance?: "pending" | "completed" | "failed";
    readonly error?: { readonly code: string; readonly message: string } | null;
  } | null;
}

export interface ApiVolume {
  readonly id: number;
  readonly name: string;
  readonly status: "creating" | "available";
  /** The size in GiB. */
  readonly size: number;
  /** The id of the server to which the volume is attached. */
  readonly server: number | null;
  readonly location: { readonly name: string };
  readonly linux_device: string;
  readonly protection: { readonly delete: boolean };
}

export interface ApiAction {
  readonly id: number;
  readonly status: "running" | "success" | "error";
  readonly command: string;
  readonly resources: readonly { readonly id: number }[];
  readonly error: { readonly code: string; readonly message: string } | null;
}
