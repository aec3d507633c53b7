// The objects that managers have created in a simulated project for one Service, without ids. Pure.

import type { OpenStackCloud } from "../../../../../providers/openstack/simulator/index.ts";
import type { Aliases, SeenService } from "../../../../clients/pairs/pair-cloud.ts";

/** The name of an object by its id. */
function namesOf({ project }: OpenStackCloud): ReadonlyMap<string, string> {
  const { networks, subnets, servers } = project;
  const all: readonly (readonly { readonly id: string; readonly name: string }[])[] = [
    networks.list(),
    subnets.list(),
    servers.list(),
  ];
  return new Map(all.flat().map(({ id, name }) => [id, name]));
}

const keyed = <T>(all: readonly T[], keyOf: (one: T) => string): Readonly<Record<string, T>> =>
  Object.fromEntries(all.map((one) => [keyOf(one), one]));

const datagrams: ReadonlySet<string> = new Set(["UDP", "SCTP"]);

/** Services request addresses of this range. */
export const requestedRange = "198.18.250.";

/** An address by the range from which it comes, unless it was requested: its number depends on the order of requests. */
function rangeOf(address: string): string {
  if (address.startsWith(requestedRange)) return address;
  return address.includes(":") ? "IPv6 address" : `address of ${address.split(".").slice(0, 2).join(".")}`;
}

export function seenService(cloud: OpenStackCloud, cluster: string, service: string): SeenService {
  const { project, balancing } = cloud;
  const names = namesOf(cloud);
  const named = (id: string | null): string | null => (id === null ? null : (names.get(id) ?? id));
  const pools = balancing.pools.list();
  const monitors = balancing.monitors.list();
  const poolView = ({ id, name: _, balancer: __, members, ...pool }: (typeof pools)[number]) => ({
    ...pool,
    members: keyed(
      members.map(({ id: ___, ...member }) => ({ ...member, subnet_id: named(member.subnet_id ?? null) })),
      ({ name, address, protocol_port }) => `${name} ${address} ${protocol_port}`,
    ),
    monitor: monitors.flatMap(({ id: ___, name: ____, pool: of, ...one }) => (of === id ? [one] : []))[0],
  });
  const balancers = balancing.balancers
    .list()
    .filter(({ name }) => name === `kube_service_${cluster}_default_${service}`);
  const used = new Set(balancing.listeners.list().map(({ default_pool_id }) => default_pool_id));
  const groups = project.securityGroups.list().filter(({ name }) => name.endsWith(`-default-${service}`));
  const floatingOf = (port: string) => project.floatingIPs.list().filter(({ port_id }) => port_id === port);
  const balancerViews = balancers.map(
    ({ id, vip_port_id, vip_address, vip_subnet_id, vip_network_id, ...balancer }) => {
      const own = balancing.listeners.list().filter((one) => one.balancer === id);
      const port = project.ports.get(vip_port_id);
      return {
        ...balancer,
        additional_vips: balancer.additional_vips.map(({ subnet_id }) => named(subnet_id)),
        address: rangeOf(vip_address),
        subnet: named(vip_subnet_id),
        network: named(vip_network_id),
        port: port?.name.startsWith("reserved-") === true ? "reserved" : "new",
        listeners: keyed(
          own.map(({ id: _, name: __, balancer: ___, default_pool_id: pool, ...listener }) => ({
            ...listener,
            insert_headers: listener["insert_headers"] ?? {},
            pool: pools.filter((one) => one.id === pool).map(poolView)[0],
          })),
          ({ protocol, protocol_port: number }) => `${datagrams.has(protocol) ? protocol : "TCP"} ${number}`,
        ),
        unused: pools.filter((one) => one.balancer === id && !used.has(one.id)).map(poolView),
        floating: floatingOf(vip_port_id).map((one) => [
          rangeOf(one.floating_ip_address),
          one.description,
          named(one.floating_network_id),
        ]),
      };
    },
  );
  const groupViews = groups.map(({ id, security_group_rules: rules, ...group }) => ({
    ...group,
    rules: rules.map(({ id: _, security_group_id, ...rule }) => rule),
    nodes: project.ports
      .list()
      .flatMap(({ security_groups: all, device_id }) => (all.includes(id) ? [named(device_id)] : [])),
  }));
  const view = {
    balancers: keyed(balancerViews, ({ name }) => name.replace(/^kube_service_/, "")),
    groups: keyed(groupViews, () => "own"),
    free: project.floatingIPs
      .list()
      .filter(({ port_id, description }) => port_id === null && description.includes(`default/${service} `))
      .map(({ description, floating_ip_address: address }) => [rangeOf(address), description]),
  };
  const aliases = balancers.flatMap(
    ({ id, vip_port_id, vip_address }): Aliases => [
      [id, "ID"],
      [vip_address, rangeOf(vip_address)],
      ...floatingOf(vip_port_id).map(
        ({ floating_ip_address: address }) => [address, rangeOf(address)] as const,
      ),
    ],
  );
  return { view, aliases };
}
