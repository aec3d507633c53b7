// The objects of Nova and Neutron, as the simulated project keeps them.

import type { Stored } from "#ccm/testing";

export interface ServerAddress {
  readonly addr: string;
  readonly version: number;
  readonly "OS-EXT-IPS:type": string;
}

export interface Server extends Stored {
  readonly id: string;
  readonly status: string;
  readonly flavor: { readonly original_name: string; readonly vcpus: number; readonly ram: number };
  readonly metadata: Readonly<Record<string, string>>;
  readonly accessIPv4: string;
  readonly accessIPv6: string;
  readonly addresses: Readonly<Record<string, readonly ServerAddress[]>>;
  readonly "OS-EXT-AZ:availability_zone": string;
  readonly "OS-EXT-STS:task_state": string | null;
  /** Whether Nova cannot reach the cell of the server. */
  readonly isUnreachable?: boolean;
}

/** A volume of Cinder. */
export interface Volume extends Stored {
  readonly id: string;
  /** The size in GiB. */
  readonly size: number;
  readonly status: string;
  readonly description: string;
  readonly volume_type: string;
  readonly availability_zone: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly attachments: readonly Attachment[];
  readonly multiattach: boolean;
  /** The data that machines have written. */
  readonly data: string;
}

/** A volume snapshot. */
export interface Snapshot extends Stored {
  readonly id: string;
  readonly volume_id: string;
  readonly size: number;
  readonly status: string;
  readonly description: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly created_at: string;
  /** The content of the volume at the time of the snapshot. */
  readonly data: string;
}

export interface Attachment {
  readonly server_id: string;
  readonly volume_id: string;
  readonly attachment_id: string;
  readonly device: string;
}

export interface Network extends Stored {
  readonly id: string;
  readonly "router:external": boolean;
  readonly subnets: readonly string[];
}

export interface Subnet extends Stored {
  readonly id: string;
  readonly network_id: string;
  readonly cidr: string;
  readonly ip_version: number;
  readonly tags: readonly string[];
  /** Whether the subnet has no free address. */
  readonly isFull?: boolean;
}

export interface Port extends Stored {
  readonly id: string;
  readonly network_id: string;
  readonly device_id: string;
  readonly device_owner: string;
  readonly status: string;
  readonly mac_address: string;
  readonly fixed_ips: readonly { readonly subnet_id: string; readonly ip_address: string }[];
  readonly security_groups: readonly string[];
  readonly port_security_enabled: boolean;
  readonly allowed_address_pairs: readonly { readonly ip_address: string; readonly mac_address?: string }[];
  readonly revision_number: number;
  readonly trunk_details?: {
    readonly trunk_id: string;
    readonly sub_ports: readonly { readonly port_id: string }[];
  };
}

export interface FloatingIP extends Stored {
  readonly id: string;
  readonly floating_ip_address: string;
  readonly floating_network_id: string;
  readonly port_id: string | null;
  readonly fixed_ip_address: string | null;
  readonly description: string;
  readonly status: string;
}

export interface Router extends Stored {
  readonly id: string;
  readonly routes: readonly { readonly destination: string; readonly nexthop: string }[];
  readonly revision_number: number;
}

export interface SecurityGroupRule {
  readonly id: string;
  readonly security_group_id: string;
  readonly direction: string;
  readonly ethertype: string;
  readonly protocol: string | null;
  readonly port_range_min: number | null;
  readonly port_range_max: number | null;
  readonly remote_ip_prefix: string | null;
}

export interface SecurityGroup extends Stored {
  readonly id: string;
  readonly description: string;
  readonly security_group_rules: readonly SecurityGroupRule[];
}

export interface Balancer extends Stored {
  readonly id: string;
  readonly description: string;
  readonly provisioning_status: string;
  readonly operating_status: string;
  readonly provider: string;
  readonly vip_address: string;
  readonly vip_port_id: string;
  readonly vip_subnet_id: string;
  readonly vip_network_id: string;
  readonly additional_vips: readonly { readonly subnet_id: string; readonly ip_address: string }[];
  readonly flavor_id: string | null;
  readonly availability_zone: string | null;
  readonly tags: readonly string[];
}

export interface Listener extends Stored {
  readonly id: string;
  readonly balancer: string;
  readonly protocol: string;
  readonly protocol_port: number;
  readonly default_pool_id: string | null;
  readonly tags: readonly string[];
  /** Values that requests have set. */
  readonly [member: string]: unknown;
}

export interface Member {
  readonly id: string;
  readonly name: string;
  readonly address: string;
  readonly protocol_port: number;
  readonly weight: number;
  readonly subnet_id: string | null;
  readonly monitor_port: number | null;
}

export interface Pool extends Stored {
  readonly id: string;
  readonly balancer: string;
  readonly protocol: string;
  readonly lb_algorithm: string;
  readonly session_persistence: unknown;
  readonly members: readonly Member[];
}

export interface Monitor extends Stored {
  readonly id: string;
  readonly pool: string;
  readonly type: string;
  /** Values that requests have set. */
  readonly [member: string]: unknown;
}
