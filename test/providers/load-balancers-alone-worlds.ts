// Each cloud whose load balancers need no instance, with the settings for this, and those that need instances, for the tests of
// --controllers=service.

import { ensureSubnet } from "../../providers/openstack/simulator/index.ts";
import type { ServiceWorld } from "../support/service-world.ts";
import type { ServiceDraft } from "../support/service-world-options.ts";
import { draft as awsDraft, BalancerWorld } from "./aws/balancer-world.ts";
import { DigitalOceanWorld, tcpPort as dropletPort } from "./digitalocean/digitalocean-world.ts";
import { HetznerWorld } from "./hetzner/hetzner-world.ts";
import { OpenStackWorld, draft as openStackDraft } from "./openstack/openstack-world.ts";
import { RancherWorld, draft as rancherDraft } from "./rancher/rancher-world.ts";

export interface AloneWorld {
  readonly world: ServiceWorld;
  readonly draft: ServiceDraft;
  start(...flags: readonly string[]): Promise<void>;
  addNode(name: string): void;
  forget(): void;
  /** The operations of requests that change something. */
  changes(): readonly string[];
  aboutInstances(): readonly string[];
  /** The targets of the load balancers. */
  targets(): readonly unknown[];
}

type Cloud = {
  readonly name: string;
  open(options: { readonly nodes: number; readonly settings?: Readonly<Record<string, string>> }): AloneWorld;
};

interface Seen {
  readonly operation: string;
}

const matching = (seen: readonly Seen[], pattern: RegExp) =>
  seen.flatMap(({ operation }) => (pattern.test(operation) ? operation : []));
const httpChanges = (seen: readonly Seen[]) =>
  matching(seen, /^(?!GET )/).filter((operation) => !operation.endsWith("/auth/tokens"));

const hetzner =
  (hasNetwork: boolean, config: Readonly<Record<string, string>> = {}): Cloud["open"] =>
  (options) => {
    const h = new HetznerWorld({ ...options, hasNetwork, config });
    const draft = hasNetwork ? { annotations: { "load-balancer.hetzner.cloud/use-private-ip": "true" } } : {};
    return {
      world: h.world,
      draft,
      start: (...flags) => h.start("service", ...flags),
      addNode: (name) => h.addNode(name),
      forget: () => h.forget(),
      changes: () => httpChanges(h.cloud.seen),
      aboutInstances: () => matching(h.cloud.seen, /\/servers?\b/),
      targets: () => h.cloud.project.balancers.list().flatMap(({ targets }) => targets),
    };
  };

const digitalocean =
  (config: Readonly<Record<string, string>>): Cloud["open"] =>
  ({ nodes }) => {
    const h = new DigitalOceanWorld({ nodes, config });
    return {
      world: h.world,
      draft: { spec: { ports: [dropletPort(30_080)] as never } },
      start: (...flags) => h.start("service", ...flags),
      addNode: (name) => void h.addNode(name),
      forget: () => h.forget(),
      changes: () => h.changes,
      aboutInstances: () => matching(h.cloud.seen, /^GET \/v2\/droplets/),
      targets: () => h.balancers().flatMap(({ droplet_ids }) => droplet_ids),
    };
  };

const aws =
  (settings: Readonly<Record<string, string>>): Cloud["open"] =>
  ({ nodes }) => {
    const h = new BalancerWorld({ nodes, settings });
    return {
      world: h.world,
      draft: awsDraft({ type: "nlb" }),
      start: (...flags) => h.start(...flags),
      addNode: (name) => void h.addNode(name),
      forget: () => h.forget(),
      changes: () => h.changes,
      aboutInstances: () => matching(h.cloud.seen, /DescribeInstances/),
      targets: () => h.cloud.account.network.targetGroups().flatMap(({ targets }) => [...targets]),
    };
  };

const openstack =
  (settings: Readonly<Record<string, string>>, hasSubnet: boolean): Cloud["open"] =>
  ({ nodes }) => {
    const h = new OpenStackWorld({ nodes, settings });
    const subnet = ensureSubnet(h.cloud.project, "nodes", "10.1.0.0/16").id;
    const own = hasSubnet ? [`--config-set=subnet-id=${subnet}`] : [];
    return {
      world: h.world,
      draft: openStackDraft(),
      start: (...flags) => h.start(...own, ...flags),
      addNode: (name) => h.addNode(name),
      forget: () => h.forget(),
      changes: () => h.changes,
      aboutInstances: () => matching(h.cloud.seen, /\/servers/),
      targets: () => h.cloud.balancing.pools.list().flatMap(({ members }) => members),
    };
  };

const rancher: Cloud["open"] = ({ nodes }) => {
  const h = new RancherWorld(nodes);
  return {
    world: h.world,
    draft: rancherDraft(),
    start: (...flags) => h.start("service", ...flags),
    addNode: (name) => h.addNode(name),
    forget: () => h.forget(),
    changes: () => h.changes,
    aboutInstances: () => matching(h.cloud.seen, /\/hosts/),
    targets: () => h.externals,
  };
};

/** The clouds with the settings in their names. */
export const aloneWorlds: readonly Cloud[] = [
  { name: "Hetzner over public addresses", open: hetzner(false) },
  { name: "Hetzner over a private network", open: hetzner(true) },
  {
    name: "DigitalOcean with REGION and type REGIONAL",
    open: digitalocean({ region: "nyc3", "default-lb-type": "REGIONAL" }),
  },
  {
    name: "AWS without security groups of Nodes",
    open: aws({ "disable-security-group-ingress": "true" }),
  },
  { name: "OpenStack with subnet-id", open: openstack({}, true) },
  { name: "Rancher", open: rancher },
];

export const listingWorlds: readonly Cloud[] = [
  {
    name: "Hetzner with credentials of Robot",
    open: hetzner(false, {
      "robot-enabled": "true",
      "network-routes-enabled": "false",
      "robot-user": "robot",
      "robot-password": "robot",
    }),
  },
  { name: "DigitalOcean with REGION alone", open: digitalocean({ region: "nyc3" }) },
  { name: "AWS", open: aws({}) },
  { name: "OpenStack without subnet-id", open: openstack({}, false) },
  {
    name: "OpenStack with security groups of Nodes",
    open: openstack({ "manage-security-groups": "true" }, true),
  },
];
