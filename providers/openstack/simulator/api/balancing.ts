// Octavia operations: load balancers with all their parts in one request, and each part independently.

import {
  type Answer,
  anything,
  fields,
  integer,
  listOf,
  type OperationRequest,
  type Operations,
  oneOf,
  optional,
  type Read,
  type Records,
  Refused,
  type Stored,
  text,
} from "#ccm/testing";
import type { Balancing } from "../state/balancing.ts";
import { addPort } from "../state/network.ts";
import type { Balancer, Listener, Monitor, Pool } from "../state/records.ts";
import { matching, type PageSize, pageOf, versions } from "./pages.ts";

const base = "/load-balancer/v2.0/lbaas";
const port = () => integer(1, 65_535);

const memberShape = fields({
  name: text(""),
  address: text(),
  protocol_port: port(),
  subnet_id: optional(text()),
  monitor_port: optional(port()),
  weight: integer(0, 256, 1),
});
const monitorFields = {
  name: text(""),
  type: oneOf(["TCP", "HTTP", "UDP-CONNECT", "SCTP"]),
  delay: integer(0, 1e6),
  timeout: integer(0, 1e6),
  max_retries: integer(1, 10),
  max_retries_down: integer(1, 10, 3),
  url_path: optional(text()),
  http_method: optional(text()),
  expected_codes: optional(text()),
};
const poolProtocols = ["TCP", "UDP", "SCTP", "HTTP", "PROXY", "PROXYV2"] as const;
const poolFields = {
  name: text(""),
  protocol: oneOf(poolProtocols),
  session_persistence: anything,
  lb_algorithm: oneOf(["ROUND_ROBIN", "LEAST_CONNECTIONS", "SOURCE_IP", "SOURCE_IP_PORT"]),
};
const nestedPool = fields({
  ...poolFields,
  members: listOf(memberShape),
  healthmonitor: optional(fields(monitorFields)),
});
const listenerFields = {
  name: text(""),
  protocol: oneOf(["TCP", "UDP", "SCTP", "HTTP", "TERMINATED_HTTPS"]),
  protocol_port: port(),
  connection_limit: integer(-1, 2 ** 31, -1),
  insert_headers: anything,
  default_tls_container_ref: optional(text()),
  timeout_client_data: integer(0, 1e12, 50_000),
  timeout_member_connect: integer(0, 1e12, 5000),
  timeout_member_data: integer(0, 1e12, 50_000),
  timeout_tcp_inspect: integer(0, 1e12, 0),
  allowed_cidrs: listOf(text()),
  tags: listOf(text()),
};
const nestedListener = fields({ ...listenerFields, default_pool: optional(nestedPool) });
const balancerShape = fields({
  name: text(""),
  description: text(""),
  provider: text("amphora"),
  tags: listOf(text()),
  vip_subnet_id: optional(text()),
  vip_network_id: optional(text()),
  vip_port_id: optional(text()),
  vip_address: optional(text()),
  flavor_id: optional(text()),
  availability_zone: optional(text()),
  additional_vips: listOf(fields({ subnet_id: text() })),
  listeners: listOf(nestedListener),
});

/** The object in a body, for example in `listener`. */
const bodyOf = (body: unknown, name: string): unknown =>
  (body as Readonly<Record<string, unknown>> | undefined)?.[name];

/** The members of a body that change a record: only members that the record has. */
function changesOf(body: unknown, allowed: readonly string[]): object {
  const given = Object.entries(Object(body)).filter(([name]) => allowed.includes(name));
  const unknown = Object.keys(Object(body)).find((name) => !allowed.includes(name));
  if (unknown !== undefined) throw new Refused(400, `Invalid input for field/attribute ${unknown}.`);
  return Object.fromEntries(given);
}

export class OctaviaApi {
  readonly #state: Balancing;
  readonly #size: PageSize;

  constructor(state: Balancing, size: PageSize) {
    this.#state = state;
    this.#size = size;
  }

  get operations(): Operations {
    const { balancers, listeners, pools, monitors } = this.#state;
    return {
      "GET /load-balancer/": ({ url }) => versions(url.href, ["v2.0", "v2.27"]),
      ...this.#reads("loadbalancers", "loadbalancer", balancers, (one) => this.#balancerView(one)),
      ...this.#reads("listeners", "listener", listeners, (one) => this.#listenerView(one)),
      ...this.#reads("pools", "pool", pools, (one) => this.#poolView(one)),
      ...this.#reads("healthmonitors", "healthmonitor", monitors, ({ pool, ...one }) => ({
        ...one,
        pools: [{ id: pool }],
      })),
      [`GET ${base}/pools/{id}/members`]: (request) =>
        pageOf("members", this.#memberViews(pools.withID(request.id)), request, (one) => one, this.#size),
      [`POST ${base}/loadbalancers`]: ({ body }) =>
        this.#createBalancer(balancerShape(bodyOf(body, "loadbalancer"), "")),
      [`PUT ${base}/loadbalancers/{id}`]: ({ id, body }) => {
        this.#state.begin(id);
        const changes = changesOf(bodyOf(body, "loadbalancer"), ["name", "description", "tags"]);
        return this.#answer("loadbalancer", this.#balancerView(balancers.change(id, changes)));
      },
      [`DELETE ${base}/loadbalancers/{id}`]: ({ id, query }) => {
        this.#state.delete(id, query.get("cascade") === "true");
        return { status: 204 };
      },
      [`POST ${base}/listeners`]: ({ body }) => {
        const { loadbalancer_id, ...rest } = fields({ ...listenerFields, loadbalancer_id: text() })(
          bodyOf(body, "listener"),
          "",
        );
        this.#state.begin(loadbalancer_id);
        return this.#answer("listener", this.#listenerView(this.#addListener(loadbalancer_id, rest)), 201);
      },
      [`PUT ${base}/listeners/{id}`]: ({ id, body }) => {
        this.#state.begin(listeners.withID(id).balancer);
        const { protocol: _, protocol_port: __, ...changeable } = listenerFields;
        const changes = changesOf(bodyOf(body, "listener"), Object.keys(changeable));
        return this.#answer("listener", this.#listenerView(listeners.change(id, changes)));
      },
      [`DELETE ${base}/listeners/{id}`]: ({ id }) => {
        this.#state.begin(listeners.withID(id).balancer);
        listeners.remove(id);
        return { status: 204 };
      },
      [`POST ${base}/pools`]: ({ body }) => {
        const { listener_id, ...rest } = fields({ ...poolFields, listener_id: text() })(
          bodyOf(body, "pool"),
          "",
        );
        const { balancer, default_pool_id: has } = listeners.withID(listener_id);
        if (has !== null) throw new Refused(409, `Listener ${listener_id} already has a default pool.`);
        this.#state.begin(balancer);
        const pool = this.#addPool(balancer, { ...rest, members: [], healthmonitor: undefined });
        listeners.change(listener_id, { default_pool_id: pool.id });
        return this.#answer("pool", this.#poolView(pool), 201);
      },
      [`PUT ${base}/pools/{id}`]: ({ id, body }) => {
        this.#state.begin(pools.withID(id).balancer);
        const changes = changesOf(bodyOf(body, "pool"), ["name", "lb_algorithm", "session_persistence"]);
        return this.#answer("pool", this.#poolView(pools.change(id, changes)));
      },
      [`DELETE ${base}/pools/{id}`]: ({ id }) => {
        this.#state.begin(pools.withID(id).balancer);
        this.#state.removePool(id);
        return { status: 204 };
      },
      [`PUT ${base}/pools/{id}/members`]: ({ id, body }) => {
        this.#state.begin(pools.withID(id).balancer);
        const { members } = fields({ members: listOf(memberShape) })(body, "");
        pools.change(id, { members: this.#members(members) });
        return { status: 202 };
      },
      [`POST ${base}/healthmonitors`]: ({ body }) => {
        const { pool_id, ...rest } = fields({ ...monitorFields, pool_id: text() })(
          bodyOf(body, "healthmonitor"),
          "",
        );
        this.#state.begin(pools.withID(pool_id).balancer);
        return this.#answer("healthmonitor", this.#addMonitor(pool_id, rest), 201);
      },
      [`PUT ${base}/healthmonitors/{id}`]: ({ id, body }) => {
        this.#state.begin(pools.withID(monitors.withID(id).pool).balancer);
        const { type: _, ...changeable } = monitorFields;
        return this.#answer(
          "healthmonitor",
          monitors.change(id, changesOf(bodyOf(body, "healthmonitor"), Object.keys(changeable))),
        );
      },
      [`DELETE ${base}/healthmonitors/{id}`]: ({ id }) => {
        this.#state.begin(pools.withID(monitors.withID(id).pool).balancer);
        monitors.remove(id);
        return { status: 204 };
      },
    };
  }

  #answer(name: string, object: unknown, status = 200): Answer {
    return { status, body: { [name]: object } };
  }

  #reads<T extends Stored>(
    plural: string,
    singular: string,
    records: Records<T>,
    view: (one: T) => object,
  ): Operations {
    return {
      [`GET ${base}/${plural}`]: (request: OperationRequest) => {
        const isSelected = matching(request.query);
        const name = request.query.get("name");
        // A view takes longer than a comparison of names.
        const named = records.listed().filter((one) => name === null || one.name === name);
        const shown = named.filter((one) => isSelected(view(one)) && !request.isHidden(one));
        return pageOf(plural, shown, request, view, this.#size);
      },
      [`GET ${base}/${plural}/{id}`]: ({ id }) => this.#answer(singular, view(records.withID(id))),
    };
  }

  #balancerView({ id, ...balancer }: Balancer): object {
    const { listeners, pools } = this.#state;
    const idsOf = (all: readonly { readonly id: string; readonly balancer: string }[]) =>
      all.filter((one) => one.balancer === id).map((one) => ({ id: one.id }));
    return { id, ...balancer, listeners: idsOf(listeners.list()), pools: idsOf(pools.list()) };
  }

  #listenerView({ balancer, ...listener }: Listener): object {
    return { ...listener, loadbalancers: [{ id: balancer }] };
  }

  #monitorOf(pool: string): Monitor | undefined {
    return this.#state.monitors.list().find((one) => one.pool === pool);
  }

  #memberViews({ id, members }: Pool) {
    const isChecked = this.#monitorOf(id) !== undefined;
    return members.map((member) => {
      const { address, protocol_port: port } = member;
      return { ...member, operating_status: isChecked ? this.#state.health(address, port) : "NO_MONITOR" };
    });
  }

  #poolView(whole: Pool): object {
    const { balancer, members, ...pool } = whole;
    const { listeners } = this.#state;
    const monitor = this.#monitorOf(pool.id);
    const failing = this.#memberViews(whole).filter(({ operating_status: status }) => status === "ERROR");
    const isDown = failing.length > 0 && failing.length === members.length;
    return {
      ...pool,
      operating_status: isDown ? "ERROR" : failing.length > 0 ? "DEGRADED" : "ONLINE",
      loadbalancers: [{ id: balancer }],
      members: members.map(({ id }) => ({ id })),
      healthmonitor_id: monitor?.id ?? null,
      listeners: listeners
        .list()
        .flatMap(({ id, default_pool_id }) => (default_pool_id === pool.id ? { id } : [])),
    };
  }

  #createBalancer(request: Read<typeof balancerShape>): Answer {
    const { listeners, ...balancer } = request;
    const { project, limit, balancers } = this.#state;
    if (balancers.list().length >= limit)
      throw new Refused(403, "Quota has been met for resources: Load Balancer");
    const id = project.ids.uuid();
    const subnet =
      project.subnets.get(request.vip_subnet_id ?? "") ??
      project.subnets.list().find(({ network_id }) => network_id === request.vip_network_id);
    const given = project.ports.get(request.vip_port_id ?? "");
    if (given === undefined && subnet === undefined)
      throw new Refused(
        400,
        "Validation failure: VIP must contain one of: vip_port_id, vip_network_id, vip_subnet_id.",
      );
    const own = { name: `octavia-lb-${id}`, device_owner: "Octavia", device_id: `lb-${id}` };
    const fixed =
      request.vip_address && subnet
        ? { fixed_ips: [{ subnet_id: subnet.id, ip_address: request.vip_address }] }
        : {};
    const vip = given ?? (subnet && addPort(project, subnet, { ...own, ...fixed }));
    if (vip === undefined) throw new Refused(400, "Validation failure: no VIP");
    const additional_vips = request.additional_vips.map(({ subnet_id }) => ({
      subnet_id,
      ip_address: project.addressIn(project.subnets.withID(subnet_id).cidr),
    }));
    const [address] = vip.fixed_ips;
    const added = this.#state.add({
      ...balancer,
      id,
      provisioning_status: "PENDING_CREATE",
      operating_status: "OFFLINE",
      additional_vips,
      vip_address: address?.ip_address ?? "",
      vip_port_id: vip.id,
      vip_network_id: vip.network_id,
      vip_subnet_id: address?.subnet_id ?? "",
      flavor_id: request.flavor_id ?? null,
      availability_zone: request.availability_zone ?? null,
    });
    for (const { default_pool, ...listener } of listeners) {
      const pool = default_pool && this.#addPool(id, default_pool);
      this.#addListener(id, listener, pool?.id);
    }
    return this.#answer("loadbalancer", this.#balancerView(added), 201);
  }

  #addListener(
    balancer: string,
    listener: Omit<Read<typeof nestedListener>, "default_pool">,
    pool?: string,
  ): Listener {
    const { listeners, project } = this.#state;
    const isUDP = (protocol: string) => protocol === "UDP";
    const { protocol_port: port, protocol } = listener;
    const isTaken = listeners
      .list()
      .some(
        (one) =>
          one.balancer === balancer && one.protocol_port === port && isUDP(one.protocol) === isUDP(protocol),
      );
    if (isTaken)
      throw new Refused(
        409,
        `Another Listener on this Load Balancer is already using protocol ${protocol} and protocol_port ${port}`,
      );
    return listeners.put({ ...listener, id: project.ids.uuid(), balancer, default_pool_id: pool ?? null });
  }

  #addPool(balancer: string, { members, healthmonitor, ...pool }: Read<typeof nestedPool>): Pool {
    const { pools, project } = this.#state;
    const { session_persistence = null } = pool;
    const added = {
      ...pool,
      session_persistence,
      id: project.ids.uuid(),
      balancer,
      members: this.#members(members),
    };
    pools.put(added);
    if (healthmonitor !== undefined) this.#addMonitor(added.id, healthmonitor);
    return added;
  }

  #members(members: readonly Read<typeof memberShape>[]): Pool["members"] {
    return members.map(({ subnet_id = null, monitor_port = null, ...member }) => ({
      ...member,
      id: this.#state.project.ids.uuid(),
      subnet_id,
      monitor_port,
    }));
  }

  #addMonitor(pool: string, monitor: Omit<Monitor, "id" | "pool">): Monitor {
    const { monitors, project } = this.#state;
    if (monitors.list().some((one) => one.pool === pool))
      throw new Refused(409, `Pool ${pool} already has a health monitor.`);
    return monitors.put({
      ...monitor,
      name: String(monitor["name"]),
      type: String(monitor["type"]),
      id: project.ids.uuid(),
      pool,
    });
  }
}
