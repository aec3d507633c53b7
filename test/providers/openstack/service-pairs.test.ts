// Changes of Services on OpenStack, in pairs of specifications.

import { prefix } from "../../../providers/openstack/annotations.ts";
import { addPort, addSubnet, ensureSubnet } from "../../../providers/openstack/simulator/index.ts";
import type { Kept, PairCloud } from "../../support/service-pairs/oracle.ts";
import { servicePairs } from "../../support/service-pairs/suite.ts";
import { OpenStackWorld } from "./openstack-world.ts";
import { requested, vocabulary } from "./pair-vocabulary.ts";

function opened() {
  const h = new OpenStackWorld({
    classes: [
      { name: "gold", "floating-subnet": "public-2" },
      { name: "silver", "floating-subnet-tags": "!fast" },
    ],
    settings: { "manage-security-groups": "true" },
  });
  const { project } = h.cloud;
  const nodes = ensureSubnet(project, "nodes", "10.1.0.0/16");
  const other = ensureSubnet(project, "other", "10.2.0.0/16");
  const first = ensureSubnet(project, "public", "198.18.0.0/16");
  const network = project.networks.existing("public");
  const second = addSubnet(project, network, "public-2", "198.20.0.0/16");
  project.subnets.change(second.id, { tags: ["fast"] });
  const port = addPort(project, nodes, { name: "reserved" });
  return { h, ids: { nodes, other, first, second, network, port } };
}

const { ids } = opened();

const sorted = (all: readonly unknown[]): readonly string[] =>
  all.map((one) => JSON.stringify(one)).toSorted();

function stateOf({ cloud: { project, balancing } }: OpenStackWorld) {
  const { listeners, pools, monitors } = balancing;
  const poolWith = (id: string | null) =>
    pools
      .list()
      .filter((pool) => pool.id === id)
      .map(({ id: _, name, balancer, members, ...pool }) => ({
        ...pool,
        members: sorted(members.map(({ id: _, ...member }) => member)),
        monitors: monitors.list().flatMap(({ id: _, pool: of, ...monitor }) => (of === id ? monitor : [])),
      }));
  return {
    balancers: balancing.balancers.list().map(({ id, vip_port_id, ...balancer }) => ({
      ...balancer,
      listeners: Object.fromEntries(
        listeners
          .list()
          .filter((one) => one.balancer === id)
          .map(({ id: _, name, balancer: __, default_pool_id, ...listener }) => [
            `${listener.protocol === "UDP" ? "UDP" : "TCP"} ${listener.protocol_port}`,
            {
              ...listener,
              insert_headers: listener["insert_headers"] ?? {},
              pools: poolWith(default_pool_id),
            },
          ]),
      ),
      pools: pools.list().filter((pool) => pool.balancer === id).length,
      floating: project.floatingIPs
        .list()
        .flatMap(({ port_id, description, floating_ip_address }) =>
          port_id === vip_port_id ? { description, floating_ip_address } : [],
        ),
    })),
    free: project.floatingIPs
      .list()
      .flatMap(({ port_id, description }) => (port_id === null ? description : [])),
    groups: project.securityGroups.list().map(({ id, security_group_rules, ...group }) => ({
      ...group,
      rules: sorted(security_group_rules.map(({ id: _, security_group_id, ...rule }) => rule)),
      ports: project.ports
        .list()
        .flatMap(({ security_groups: all, device_id }) => (all.includes(id) ? device_id : []))
        .toSorted(),
    })),
    ports: project.ports.list().length,
  };
}

type State = ReturnType<typeof stateOf>;

/** As with the Go manager, the port of a Node keeps the security group until the Service is deleted. */
const keepGroup: Kept<State>["keep"] = ({ cloud, service }, before) => {
  const had = before.cloud.groups[0]?.ports ?? [];
  const groups = cloud.groups.map((group) => ({
    ...group,
    ports: [...new Set([...group.ports, ...had])].toSorted(),
  }));
  return { service, cloud: { ...cloud, groups } };
};

/** A floating IP that `keep-floatingip` has kept is used again. */
const keepFloating: Kept<State>["keep"] = (fresh, before, { annotations: own }) => {
  const { balancers, free } = before.cloud;
  const isUsed = fresh.cloud.balancers.some(({ floating }) => floating.length > 0);
  if (own[`${prefix}keep-floatingip`] !== "true" || isUsed) return fresh;
  const had = balancers.flatMap(({ floating }) => floating.map(({ description }) => description));
  return { ...fresh, cloud: { ...fresh.cloud, free: [...had, ...free] } };
};

const cloud: PairCloud<State> = {
  ...vocabulary({
    network: ids.network.id,
    floating: [ids.first.id, ids.second.id],
    networks: [ids.nodes.network_id, ids.other.network_id],
    subnets: [ids.nodes.id, ids.other.id],
    port: ids.port.id,
  }),
  kept: [
    { name: "the security group of Nodes that are no longer members", keep: keepGroup },
    { name: "a floating IP with keep-floatingip", keep: keepFloating },
  ],
  open: () => {
    const { h } = opened();
    return {
      world: h.world,
      start: () => h.start(),
      state: () => stateOf(h),
      aliases: () => [
        ...h
          .balancers()
          .flatMap(({ id, vip_port_id: vip, vip_address: address, additional_vips: more }) => [
            [id, "ID"] as const,
            [vip, "VIP"] as const,
            [address, "spec address"] as const,
            ...more.map(({ ip_address: ip }) => [ip, "second address"] as const),
          ]),
        ...h
          .floatingIPs()
          .flatMap(({ floating_ip_address: ip }) =>
            ip === requested
              ? []
              : [[ip, ip.startsWith("198.20.") ? "address of public-2" : "address of public-1"] as const],
          ),
      ],
    };
  },
};

servicePairs(cloud, "./test/providers/openstack/service-pairs.test.ts");
