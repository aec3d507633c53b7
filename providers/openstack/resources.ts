// The objects of Nova, Neutron and Octavia, with the fields in use.

export interface ApiServer {
  readonly id: string;
  readonly name: string;
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
  readonly name: string;
  readonly device_id: string;
  readonly status: string;
  readonly network_id: string;
  readonly fixed_ips: readonly { readonly subnet_id: string; readonly ip_address: string }[];
  readonly security_groups?: readonly string[];
  readonly port_security_enabled?: boolean;
  readonly allowed_address_pairs?: readonly { readonly ip_address: string; readonly mac_address?: string }[];
  readonly revision_number?: number;
  readonly trunk_details?: { readonly sub_ports?: readonly { readonly port_id: string }[] } | null;
}

export interface ApiNetwork {
  readonly id: string;
  readonly name: string;
}
