// Servers as instances: one listing of servers and one of ports per refresh, with lookups by id and name.

import {
  type Call,
  type Context,
  collect,
  errorProblem,
  type Instance,
  type InstanceSource,
  knownValues,
  lookupEach,
  providerID,
} from "#ccm";
import { type Attached, addressesOf } from "./addresses.ts";
import type { ServersApi } from "./api.ts";
import type { ApiNetwork, ApiPort, ApiServer } from "./resources.ts";
import type { Settings } from "./settings.ts";

/** As in the Go manager, characters between the first and the last letter or digit may be replaced. */
function labelOf(zone: string): string {
  return zone
    .replaceAll(/[^-\w.]+/g, "-")
    .replaceAll(/^[-_.]+|[-_.]+$/g, "")
    .slice(0, 63);
}

const isLabel = (value: string): boolean => /^[A-Za-z0-9]([-\w.]{0,61}[A-Za-z0-9])?$/.test(value);

/** The port that has an address of a Node: its id, its subnet, its network, and whether Neutron filters its traffic. */
export interface NodePort {
  readonly id: string;
  readonly subnet: string;
  readonly network: string;
  readonly isFiltered: boolean;
}

/** Load balancers and routes find the port of a Node by its address. */
function handlesOf(ports: readonly ApiPort[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    ports.flatMap(({ id, network_id, fixed_ips, port_security_enabled: isFiltered = true }) =>
      fixed_ips.map(({ ip_address, subnet_id }) => [
        ip_address,
        [id, subnet_id, network_id, isFiltered].join(" "),
      ]),
    ),
  );
}

export function portAt(
  handles: Readonly<Record<string, string>> | undefined,
  address: string,
): NodePort | undefined {
  const [id, subnet = "", network = "", isFiltered] = handles?.[address]?.split(" ") ?? [];
  return id === undefined ? undefined : { id, subnet, network, isFiltered: isFiltered === "true" };
}

interface Known {
  readonly ports: readonly ApiPort[];
  /** Names by id; empty unless a server has a trunk. */
  readonly networks: ReadonlyMap<string, string>;
  /** Flavor ids by name; empty unless a flavor name is not a valid label. */
  readonly flavors: ReadonlyMap<string, string>;
}

function attachedTo(server: ApiServer, { ports, networks }: Known): Attached {
  const own = ports.filter(({ device_id }) => device_id === server.id);
  const ids = new Set(
    own.flatMap(({ trunk_details }) => trunk_details?.sub_ports?.map(({ port_id }) => port_id) ?? []),
  );
  const subports = ports
    .filter(({ id }) => ids.has(id))
    .flatMap((port) => {
      const network = networks.get(port.network_id);
      return network === undefined ? [] : [{ network, port }];
    });
  return { ports: own, subports };
}

function stateOf({ status, "OS-EXT-STS:task_state": task }: ApiServer): Instance["state"] {
  if (task === "deleting" || status === "DELETED" || status === "SOFT_DELETED") return "terminating";
  return status === "SHUTOFF" ? "stopped" : "running";
}

/** A project in a region, and how the Nodes of its servers are described. */
export interface ServerPlace {
  /** The source's name. */
  readonly name: string;
  readonly region: string | undefined;
  readonly settings: Settings;
  readonly api: ServersApi;
}

function toInstance(server: ApiServer, known: Known, { settings, region }: ServerPlace): Instance {
  const { id, name, flavor, metadata, "OS-EXT-AZ:availability_zone": zone } = server;
  const attached = attachedTo(server, known);
  const written = providerID(`openstack://${settings["regional-provider-ids"] ? (region ?? "") : ""}/${id}`);
  if (name === undefined) {
    const text = `Nova cannot reach the cell of the server ${id}, so its Node stays as it is until Nova can. Ask the operator of the cloud.`;
    const problems = [errorProblem("IncompleteInstance", text)];
    const unknown = { names: [], addresses: [], type: "", isUndescribed: true } as const;
    return { ...unknown, key: id, id: written, title: id, handles: handlesOf(attached.ports), problems };
  }
  const addresses = addressesOf(server, attached, settings);
  const type = flavor?.original_name ?? "";
  const text = `The server ${name} has no address yet. A joining Node stays uninitialized until it has one.`;
  return {
    key: id,
    id: written,
    names: [name],
    title: name,
    state: stateOf(server),
    handles: handlesOf(attached.ports),
    addresses,
    type: isLabel(type) ? type : (known.flavors.get(type) ?? ""),
    region,
    cloudLabels: metadata,
    ...(zone && { zone: labelOf(zone) }),
    ...(addresses.length === 0 && { problems: [errorProblem("IncompleteInstance", text)] }),
  };
}

const portFields = [
  "id",
  "device_id",
  "status",
  "network_id",
  "fixed_ips",
  "port_security_enabled",
  "trunk_details",
];

const hasTrunk = (ports: readonly ApiPort[]): boolean =>
  ports.some(({ trunk_details }) => (trunk_details?.sub_ports?.length ?? 0) > 0);

async function knownFor(
  { compute, network }: ServersApi,
  servers: readonly ApiServer[],
  ports: readonly ApiPort[],
  call: Call,
): Promise<Known> {
  const isOdd = servers.some(({ name, flavor }) => name && !isLabel(flavor?.original_name ?? ""));
  const networks = network.list<ApiNetwork>("/v2.0/networks", call, { fields: ["id", "name"] });
  const flavors = compute.list<ApiNetwork>("/flavors", call, { is_public: "None" });
  return {
    ports,
    networks: new Map(hasTrunk(ports) ? (await collect(networks)).map(({ id, name }) => [id, name]) : []),
    flavors: new Map(isOdd ? (await collect(flavors)).map(({ id, name }) => [name, id]) : []),
  };
}

/** Reads `openstack:///id`, `openstack://region/id`, and the form that kubelets write without a scheme. */
export function serverIDOf(providerID: string): { readonly id: string; readonly region: string } | undefined {
  const full = providerID.includes("://") ? providerID : `openstack://${providerID}`;
  const [, region, id] = /^openstack:\/\/([^/]*)\/([^/]+)$/.exec(full) ?? [];
  return region === undefined || id === undefined ? undefined : { id, region };
}

function keyOf(providerID: string, own: string | undefined): string | undefined {
  const { id, region } = serverIDOf(providerID) ?? {};
  return region === "" || region === own ? id : undefined;
}

/** The statuses in Nova's reference. */
const statuses = [
  ...["ACTIVE", "BUILD", "DELETED", "ERROR", "HARD_REBOOT", "MIGRATING", "PASSWORD", "PAUSED", "REBOOT"],
  ...["REBUILD", "RESCUE", "RESIZE", "REVERT_RESIZE", "SHELVED", "SHELVED_OFFLOADED", "SHUTOFF"],
  ...["SOFT_DELETED", "SUSPENDED", "UNKNOWN", "VERIFY_RESIZE"],
];

export function serverSource(place: ServerPlace, announce: Context["announce"]): InstanceSource {
  const { compute, network } = place.api;
  const check = knownValues(announce, "server.status", statuses);
  const portsOf = (call: Call, device?: readonly string[]): Promise<readonly ApiPort[]> =>
    collect(network.listOwn<ApiPort>("/v2.0/ports", call, { fields: portFields, device_id: device }));
  const toInstances = async (servers: readonly ApiServer[], ports: readonly ApiPort[], call: Call) => {
    for (const { status } of servers) check(status);
    const known = await knownFor(place.api, servers, ports, call);
    return servers.map((server) => toInstance(server, known, place));
  };
  /** Subports are attached to the trunk, so they are only in the listing of all ports. */
  const described = async (servers: readonly ApiServer[], call: Call): Promise<readonly Instance[]> => {
    if (servers.length === 0) return [];
    const own = await portsOf(
      call,
      servers.map(({ id }) => id),
    );
    return toInstances(servers, hasTrunk(own) ? await portsOf(call) : own, call);
  };
  const byName = (name: string, call: Call) =>
    collect(
      compute.list<ApiServer>("/servers/detail", call, { name: `^${name.replaceAll(/[^\w-]/g, "\\$&")}$` }),
    );
  const lookup = (find: (key: string, call: Call) => Promise<readonly ApiServer[]>) =>
    lookupEach(async (key, call) => described(await find(key, call), call));
  return {
    name: place.name,
    keyOf: (id) => keyOf(id, place.region),
    list: async function* (call) {
      const ports = await portsOf(call);
      // Nova shows servers of cells that are down only in a listing without a query.
      for await (const page of compute.list<ApiServer>("/servers/detail", call, { limit: undefined }))
        yield await toInstances(page, ports, call);
    },
    lookups: {
      id: lookup(async (id, call) => [await compute.read<ApiServer>("/servers/{id}", id, "server", call)]),
      name: lookup(async (name, call) => (await byName(name, call)).filter((server) => server.name === name)),
    },
  };
}
