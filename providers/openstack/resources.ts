// The objects of Nova, Neutron and Octavia, with the fields in use.

export interface ApiServer {
  readonly id: string;
  /** Absent while Nova cannot reach the cell of the server, as are nearly all other members. */
  readonly name?: string;
  readonly status: string;
  readonly accessIPv4?: string;
  readonly accessIPv6?: string;
  readonly metadata?: Readonly<Record<string, string>>;
  readonly flavor?: { readonly original_name?: string };
  readonly addresses?: Readonly<Record<string, readonly ApiServerAddress[]>>;
  readonly "OS-EXT-AZ:availability_zone"?: string | null;
  readonly "OS-EXT-STS:task_state"?: string | null;
}

export interface ApiServerAddress {
  readonly addr: string;
  readonly "OS-EXT-IPS:type"?: string;
}

export interface ApiPort {
  readonly id: string;
  readonly device_id: string;
  readonly status: string;
  readonly network_id: string;
  readonly fixed_ips: readonly { readonly subnet_id: string; readonly ip_address: string }[];
  readonly security_groups?: readonly string[];
  readonly port_security_enabled?: boolean;
  readonly allowed_address_pairs?: readonly { readonly ip_address: string }[];
  readonly revision_number?: number;
  readonly trunk_details?: { readonly sub_ports?: readonly { readonly port_id: string }[] } | null;
}

export interface ApiNetwork {
  readonly id: string;
  readonly name: string;
}

export interface ApiExternalNetwork extends ApiNetwork {
  readonly subnets?: readonly string[];
}

export interface ApiSubnet {
  readonly id: string;
  readonly name: string;
  readonly network_id: string;
  readonly cidr: string;
  readonly ip_version: number;
  readonly tags?: readonly string[];
}

export interface ApiFloatingIP {
  readonly id: string;
  readonly floating_ip_address: string;
  readonly floating_network_id?: string;
  readonly port_id: string | null;
  readonly description?: string;
}

export interface ApiSecurityGroupRule {
  readonly id: string;
  readonly direction: string;
  readonly ethertype: string;
  readonly protocol: string | null;
  readonly port_range_min: number | null;
  readonly port_range_max: number | null;
  readonly remote_ip_prefix: string | null;
}

export interface ApiSecurityGroup {
  readonly id: string;
  readonly name: string;
  readonly security_group_rules: readonly ApiSecurityGroupRule[];
}

export interface ApiVolume {
  readonly id: string;
  readonly name: string;
  /** The size in GiB. */
  readonly size: number;
  readonly status: string;
  readonly availability_zone: string;
  readonly attachments: readonly { readonly server_id: string; readonly device: string | null }[];
}

export interface ApiSnapshot {
  readonly id: string;
  readonly name: string;
  readonly volume_id: string;
  /** The size in GiB. */
  readonly size: number;
  readonly status: string;
  /** The time in UTC, without a time zone. */
  readonly created_at: string;
}

interface Reference {
  readonly id: string;
}

export interface ApiBalancer {
  readonly id: string;
  readonly project_id?: string;
  readonly name: string;
  readonly provisioning_status: string;
  readonly provider?: string;
  readonly vip_address?: string | null;
  readonly vip_port_id?: string | null;
  readonly vip_network_id?: string | null;
  readonly vip_subnet_id?: string | null;
  readonly additional_vips?: readonly { readonly ip_address?: string }[];
  readonly flavor_id?: string | null;
  readonly availability_zone?: string | null;
  readonly tags?: readonly string[];
  readonly listeners?: readonly Reference[];
}

export interface ApiListener {
  readonly id: string;
  readonly name: string;
  readonly protocol: string;
  readonly protocol_port: number;
  readonly default_pool_id?: string | null;
  readonly loadbalancers?: readonly Reference[];
  readonly tags?: readonly string[];
  /** All values that requests set, under the same names. */
  readonly [member: string]: unknown;
}

export interface ApiPool {
  readonly id: string;
  readonly name: string;
  readonly protocol: string;
  readonly lb_algorithm: string;
  readonly session_persistence?: { readonly type: string } | null;
  readonly healthmonitor_id?: string | null;
  readonly loadbalancers?: readonly Reference[];
  readonly listeners?: readonly Reference[];
  readonly members?: readonly Reference[];
}

export interface ApiMonitor {
  readonly id: string;
  readonly name: string;
  readonly type: string;
  readonly delay: number;
  readonly timeout: number;
  readonly max_retries: number;
  readonly max_retries_down: number;
  readonly pools?: readonly Reference[];
}

export interface ApiMember {
  readonly id: string;
  readonly name: string;
  readonly address: string;
  readonly protocol_port: number;
  /** With 0, the member gets no new connections. */
  readonly weight?: number;
  readonly monitor_port?: number | null;
  /** ONLINE or ERROR, if a health monitor checks it and has a result. */
  readonly operating_status?: string;
  readonly subnet_id?: string | null;
}
