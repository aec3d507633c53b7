// A whole manager on each simulated cloud, and the forwarding, health checks and targets of its load balancers in the same terms.

import type { Service } from "../../src/kube/objects.ts";
import { BalancerWorld } from "../providers/aws/balancer-world.ts";
import { DigitalOceanWorld, quick } from "../providers/digitalocean/digitalocean-world.ts";
import { HetznerWorld } from "../providers/hetzner/hetzner-world.ts";
import { OpenStackWorld } from "../providers/openstack/openstack-world.ts";
import { applyService, type RenderedService } from "./gateway-services.ts";
import { ServiceWorld } from "./service-world.ts";

export interface GatewayCloud {
  readonly world: ServiceWorld;
  /** The load balancers in the form of the cloud. */
  balancers(): readonly unknown[];
  /** The forwarded ports, for example "TCP 80". */
  forwarded(): readonly string[];
  /** The health checks without duplicates, for example "tcp 30080". */
  checked(): readonly string[];
  /** The number of Nodes that are targets. */
  targets(): number;
  /** The requests that change the cloud. */
  changes(): readonly string[];
  /** Forgets the requests. */
  forget(): void;
}

type Open = (...flags: readonly string[]) => Promise<GatewayCloud>;

const once = (texts: readonly string[]): readonly string[] => [...new Set(texts)].toSorted();

const onHetzner: Open = async (...flags) => {
  const h = new HetznerWorld({ nodes: 2 });
  await h.start("service", ...flags);
  const balancers = () => h.cloud.project.balancers.list();
  const services = () => balancers().flatMap((one) => one.services);
  return {
    world: h.world,
    balancers,
    forwarded: () => services().map(({ listen_port: port }) => `TCP ${port}`),
    checked: () => once(services().map(({ health_check: { protocol, port } }) => `${protocol} ${port}`)),
    targets: () => balancers().flatMap((one) => one.targets).length,
    changes: () => h.world.changes,
    forget: () => h.forget(),
  };
};

const onDigitalOcean: Open = async (...flags) => {
  const h = new DigitalOceanWorld({ nodes: 2, config: { "cluster-id": "prod", region: "nyc3" }, ...quick });
  await h.start("service", ...flags);
  const rules = () => h.balancers().flatMap((one) => one.forwarding_rules);
  return {
    world: h.world,
    balancers: () => h.balancers(),
    forwarded: () => rules().map((rule) => `${rule.entry_protocol.toUpperCase()} ${rule.entry_port}`),
    checked: () => h.balancers().map(({ health_check: { protocol, port } }) => `${protocol} ${port}`),
    targets: () => h.balancers().flatMap((one) => one.droplet_ids).length,
    changes: () => h.changes,
    forget: () => h.forget(),
  };
};

const onOpenStack: Open = async (...flags) => {
  const h = new OpenStackWorld();
  await h.start(...flags);
  const { listeners, monitors, pools } = h.cloud.balancing;
  const members = (id: string) => pools.list().find((pool) => pool.id === id)?.members ?? [];
  return {
    world: h.world,
    balancers: () => h.balancers(),
    forwarded: () => listeners.list().map((one) => `${one.protocol} ${one.protocol_port}`),
    checked: () =>
      once(
        monitors.list().map(({ type, pool }) => `${type.toLowerCase()} ${members(pool)[0]?.monitor_port}`),
      ),
    targets: () => once(pools.list().flatMap((pool) => pool.members.map(({ name }) => name))).length,
    changes: () => h.changes,
    forget: () => h.forget(),
  };
};

/** Network load balancers only. */
const onAWS: Open = async (...flags) => {
  const h = new BalancerWorld();
  await h.start(...flags);
  const { network } = h.cloud.account;
  return {
    world: h.world,
    balancers: () => network.all(),
    forwarded: () => network.listeners().map(({ protocol, port }) => `${protocol} ${port}`),
    checked: () =>
      once(
        network
          .targetGroups()
          .map(({ check }) => `${check["HealthCheckProtocol"]?.toLowerCase()} ${check["HealthCheckPort"]}`),
      ),
    targets: () => once(network.targetGroups().flatMap((group) => group.targets.map(({ id }) => id))).length,
    changes: () => h.changes,
    forget: () => h.forget(),
  };
};

export const onFake: Open = async (...flags) => {
  const world = new ServiceWorld({ nodes: 2 });
  await world.start(...flags);
  const balancers = () => world.cloud.balancers.list();
  return {
    world,
    balancers,
    forwarded: () =>
      balancers().flatMap((one) => one.listeners.map(({ protocol, port }) => `${protocol} ${port}`)),
    checked: () => [],
    targets: () => balancers().flatMap((one) => one.targets).length,
    changes: () => world.changes,
    forget: () => world.forget(),
  };
};

export const gatewayClouds = {
  Hetzner: onHetzner,
  DigitalOcean: onDigitalOcean,
  OpenStack: onOpenStack,
  AWS: onAWS,
} as const;

/** Creates or writes the Service, and returns it when the cloud is ready. */
export async function apply({ world }: GatewayCloud, rendered: RenderedService): Promise<Service> {
  applyService(world, rendered);
  await world.pass(150);
  return world.get(rendered.metadata.name);
}

/** The events of every Service while its load balancer is created, changed or deleted. */
const ordinary = ["EnsuringLoadBalancer", "EnsuredLoadBalancer", "WaitingForCloud", "UpdatedLoadBalancer"];

/** The other events of the Service. */
export const said = ({ world }: GatewayCloud, { metadata: { name } }: Service): readonly string[] =>
  world.events(name).filter((text) => !ordinary.some((reason) => text.includes(` ${reason} `)));

export const isServed = ({ status }: Service): boolean => (status.loadBalancer?.ingress ?? []).length > 0;
