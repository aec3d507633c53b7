// Load balancers, as clients describe them and as the account keeps them. The members are named as in the API's JSON.

import {
  anything,
  fields,
  flag,
  type Ids,
  integer,
  listOf,
  oneOf,
  optional,
  type Read,
  Records,
  type Stored,
  text,
} from "#ccm/testing";

const port = () => integer(1, 65_535);

export const ruleShape = fields({
  entry_protocol: oneOf(["http", "https", "http2", "http3", "tcp", "udp"]),
  entry_port: port(),
  target_protocol: oneOf(["http", "https", "http2", "tcp", "udp"]),
  target_port: port(),
  certificate_id: text(""),
  tls_passthrough: flag(false),
});

/** The request body that creates or replaces a load balancer. Absent members have their default, even in a replacement. */
export const balancerShape = fields({
  name: text(),
  region: text(""),
  size: optional(oneOf(["lb-small", "lb-medium", "lb-large"])),
  size_unit: optional(integer(1, 100)),
  algorithm: oneOf(["round_robin", "least_connections"], "round_robin"),
  type: optional(oneOf(["REGIONAL", "REGIONAL_NETWORK", "GLOBAL"])),
  network: optional(oneOf(["EXTERNAL", "INTERNAL"])),
  network_stack: optional(oneOf(["IPV4", "DUALSTACK"])),
  forwarding_rules: listOf(ruleShape),
  health_check: fields({
    protocol: oneOf(["http", "https", "tcp"], "http"),
    port: integer(1, 65_535, 80),
    path: text(""),
    check_interval_seconds: integer(3, 300, 10),
    response_timeout_seconds: integer(3, 300, 5),
    unhealthy_threshold: integer(2, 10, 5),
    healthy_threshold: integer(2, 10, 3),
    proxy_protocol: flag(false),
  }),
  sticky_sessions: fields({
    type: oneOf(["none", "cookies"], "none"),
    cookie_name: text(""),
    cookie_ttl_seconds: integer(0, 34_650, 0),
  }),
  firewall: fields({ allow: listOf(text()), deny: listOf(text()) }),
  droplet_ids: listOf(integer(1, Number.MAX_SAFE_INTEGER)),
  tag: text(""),
  tags: listOf(text()),
  redirect_http_to_https: flag(false),
  enable_proxy_protocol: flag(false),
  enable_backend_keepalive: flag(false),
  disable_lets_encrypt_dns_records: flag(false),
  http_idle_timeout_seconds: integer(30, 600, 60),
  tls_cipher_policy: oneOf(["DEFAULT", "STRONG"], "DEFAULT"),
  vpc_uuid: text(""),
  subnet_uuid: text(""),
  project_id: text(""),
  domains: listOf(anything),
  glb_settings: anything,
  target_load_balancer_ids: listOf(text()),
  ip: text(""),
  validate_only: flag(false),
});

export type ForwardingRule = Read<typeof ruleShape>;
export type BalancerRequest = Read<typeof balancerShape>;

export interface Balancer extends Omit<BalancerRequest, "validate_only" | "size">, Stored {
  readonly id: string;
  readonly status: "new" | "active" | "errored";
  readonly created_at: string;
  readonly type: NonNullable<BalancerRequest["type"]>;
  readonly network: NonNullable<BalancerRequest["network"]>;
  readonly network_stack: NonNullable<BalancerRequest["network_stack"]>;
  readonly size: string;
  readonly size_unit: number;
  /** Empty until the load balancer is active. */
  readonly ip: string;
  readonly ipv6: string;
}

const units = { "lb-small": 1, "lb-medium": 3, "lb-large": 6 } as const;

export class Balancers extends Records<Balancer> {
  readonly #ids: Ids;

  constructor(ids: Ids) {
    super(ids.clock);
    this.#ids = ids;
  }

  /** Adds an active load balancer without any check. Absent members have their default. */
  add(name: string, changes: Partial<Balancer> = {}): Balancer {
    const balancer = this.draft(balancerShape({ name, region: "nyc3" }, ""));
    return this.put({ ...balancer, ...this.addresses(balancer), status: "active", ...changes });
  }

  /** A load balancer without addresses that is not stored yet. */
  draft(request: BalancerRequest): Balancer {
    return {
      ...this.replaced(request),
      id: this.#ids.uuid(),
      type: request.type ?? "REGIONAL",
      network: request.network ?? "EXTERNAL",
      network_stack: request.network_stack ?? "IPV4",
      status: "new",
      created_at: this.#ids.now,
      ip: request.ip,
      ipv6: "",
    };
  }

  /** The members that a replacement changes. */
  replaced({ validate_only, type, network, network_stack, ip, ...request }: BalancerRequest) {
    const { size, size_unit, health_check } = request;
    const unit = size_unit ?? units[size ?? "lb-small"];
    // The largest slug that does not exceed the unit: the API always returns a slug.
    const slug = Object.entries(units).findLast(([, each]) => each <= unit)?.[0] ?? "lb-small";
    const path = health_check.path === "" && health_check.protocol !== "tcp" ? "/" : health_check.path;
    return { ...request, size: slug, size_unit: unit, health_check: { ...health_check, path } };
  }

  /** The addresses of a load balancer that becomes active. */
  addresses({ ip, network, network_stack }: Balancer): Pick<Balancer, "ip" | "ipv6"> {
    const number = this.#ids.next();
    const own = `${(number >> 8) & 255}.${number & 255}`;
    const isPublic = network === "EXTERNAL";
    return {
      ip: ip !== "" ? ip : isPublic ? `198.19.${own}` : `10.133.${own}`,
      ipv6:
        isPublic && network_stack === "DUALSTACK"
          ? `2604:a880:800:15::${(number >> 16).toString(16)}:${(number & 0xffff).toString(16)}`
          : "",
    };
  }
}
