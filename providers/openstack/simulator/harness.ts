// The harness for the conformance suites and `npm run new-provider -- try openstack`: creates and changes a simulated project.

import { asTransport, byName, type Clock, type Harness, type TargetMachine } from "#ccm/testing";
import { openstack } from "../index.ts";
import { OpenStackCloud, quick } from "./openstack-cloud.ts";
import { addExternalNetwork, addPort, addRouter, ensureSubnet } from "./state/network.ts";
import { addServer, removeServer } from "./state/servers.ts";

const pageSize = 3;
const pages = (machines: number) => Math.max(1, Math.ceil(machines / pageSize));
export const secret = "s".repeat(40);

/** The settings of a cluster with an application credential. */
export const config = {
  "auth-url": "http://keystone.example/identity",
  region: "RegionOne",
  "application-credential-id": "fairlead",
  "application-credential-secret": secret,
  "router-id": "router-1",
};

/** A load balancer of another client. */
function addBalancer({ project, balancing }: OpenStackCloud, name: string) {
  const subnet = ensureSubnet(project, "nodes", "10.1.0.0/16");
  const port = addPort(project, subnet, { device_owner: "Octavia" });
  return balancing.balancers.put({
    id: project.ids.uuid(),
    name,
    description: "",
    provisioning_status: "ACTIVE",
    operating_status: "ONLINE",
    provider: "amphora",
    vip_address: port.fixed_ips[0]?.ip_address ?? "",
    vip_port_id: port.id,
    vip_subnet_id: subnet.id,
    vip_network_id: subnet.network_id,
    additional_vips: [],
    flavor_id: null,
    availability_zone: null,
    tags: [],
  });
}

/** Without ids, addresses and states, which depend on the order of requests. */
export function stateOf({ project, balancing }: OpenStackCloud): unknown {
  const { listeners, pools, monitors } = balancing;
  const ofPool = (id: string | null) => {
    const pool = pools.list().find((one) => one.id === id);
    const monitor = monitors.list().find((one) => one.pool === id);
    const members = pool?.members
      .map(({ id: _, ...member }) => member)
      .toSorted((a, b) => (a.name < b.name ? -1 : 1));
    return (
      pool && { ...pool, id: "", balancer: "", members, monitor: monitor && { ...monitor, id: "", pool: "" } }
    );
  };
  const ofListeners = (balancer: string) =>
    listeners
      .list()
      .filter((one) => one.balancer === balancer)
      .map(({ default_pool_id, ...listener }) => ({
        ...listener,
        id: "",
        balancer: "",
        pool: ofPool(default_pool_id),
      }))
      .toSorted((one, other) => one.protocol_port - other.protocol_port);
  const balancers = balancing.balancers
    .list()
    .map(({ id, name, description, tags, provider, vip_port_id: vip }) => {
      const floating = project.floatingIPs.list().filter(({ port_id }) => port_id === vip);
      return {
        name,
        description,
        tags,
        provider,
        listeners: ofListeners(id),
        floating: floating.map((one) => one.description),
      };
    });
  const unused = project.floatingIPs.list().filter(({ port_id }) => port_id === null);
  const pairs = project.ports
    .list()
    .flatMap(({ allowed_address_pairs: all }) => all.map((one) => one.ip_address));
  const routes = project.routers
    .list()
    .flatMap((router) => router.routes.map(({ destination }) => destination));
  const snapshots = project.snapshots.list().map(({ id: _, created_at, volume_id, ...snapshot }) => ({
    ...snapshot,
    volume: project.volumes.get(volume_id)?.name,
  }));
  const volumes = project.volumes.list().map(({ id: _, attachments, ...volume }) => ({
    ...volume,
    servers: attachments.map(({ server_id }) => project.servers.get(server_id)?.name),
  }));
  return [
    byName(volumes),
    byName(snapshots),
    routes.filter((one) => !one.startsWith("198.51.100.")).toSorted(),
    pairs.toSorted(),
    balancers.toSorted((one, other) => (one.name < other.name ? -1 : 1)),
    unused.length,
    pools.list().length,
  ];
}

function simulate(clock: Clock, pageSize: number) {
  const cloud = new OpenStackCloud({ clock, times: quick, pageSize });
  const { project, keystone } = cloud;
  addExternalNetwork(project);
  addRouter(project, "router-1");
  keystone.applicationCredentials.set(config["application-credential-id"], secret);
  return {
    cloud,
    transport: asTransport(cloud),
    settle: () => cloud.settle(),
    addMachine: (name: string) => void addServer(project, name),
    stopMachine: (name: string) => void project.servers.change(name, { status: "SHUTOFF" }),
    terminateMachine: (name: string) =>
      void project.servers.change(name, { "OS-EXT-STS:task_state": "deleting" }),
    removeMachine: (name: string) => removeServer(project, name),
    addUnmarkedBalancer: () => addBalancer(cloud, "by-hand").id,
    disturbRoutes: () => {
      const { routes } = project.routers.existing("router-1");
      const other = { destination: `198.51.100.${routes.length}/32`, nexthop: "10.1.255.254" };
      project.routers.change("router-1", { routes: [...routes, other] });
    },
    disks: {
      write: (id: string, data: string) => void project.volumes.change(id, { data }),
      read: (id: string) => project.volumes.withID(id).data,
    },
    state: () => stateOf(cloud),
  };
}

export const harness: Harness = {
  definition: openstack,
  config,
  // A token for each of two services, the servers, their ports, and the router's ports.
  listingRequests: (machines) => 2 + pages(machines) + pages(machines + 1),
  // One for the server and one for its ports.
  lookupRequests: 2,
  // A listing of all load balancers, and a lookup of each missing one.
  pendingRequests: (operations) => 1 + operations,
  adoptionAnnotations: (id) => ({ "load-balancer-id": id }),
  targets: (simulated) => {
    const { project } = (simulated as unknown as { readonly cloud: OpenStackCloud }).cloud;
    const [first, second, third] = ["target-1", "target-2", "target-3"].map((name): TargetMachine => {
      const { id } = addServer(project, name);
      const port = project.ports.list().find(({ device_id }) => device_id === id);
      const [fixed] = port?.fixed_ips ?? [];
      const address = fixed?.ip_address ?? "";
      const handle = [port?.id, fixed?.subnet_id, port?.network_id, true].join(" ");
      return { source: "servers", key: id, handles: { [address]: handle }, addresses: [address] };
    });
    if (first === undefined || second === undefined || third === undefined)
      throw new Error("Expected three targets.");
    return [first, second, third];
  },
  simulate: (clock) => simulate(clock, pageSize),
};

/** A server can have 256 volumes: with small pages, listings of them would cost thousands of requests. */
export const volumesHarness: Harness = { ...harness, simulate: (clock) => simulate(clock, 1000) };
