// The cloud servers as instances: one source, with lookups by id and name.

import {
  type Call,
  collect,
  type Instance,
  type InstanceAddress,
  type InstanceSource,
  type InstanceState,
  lookupEach,
  mapEntries,
  parseIp,
  providerID,
} from "#ccm";
import type { HetznerApi } from "./api.ts";
import type { ApiServer } from "./resources.ts";
import type { NetworkID } from "./routes.ts";
import type { Settings } from "./settings.ts";

export function familiesOf(settings: Settings): readonly ("ipv4" | "ipv6")[] {
  const family = settings["instances-address-family"];
  return family === "dualstack" ? ["ipv4", "ipv6"] : [family];
}

/** Zones that Nodes were labeled with before the API stopped naming data centers. They must never change. */
const zones: Readonly<Record<string, string>> = {
  nbg1: "nbg1-dc3",
  hel1: "hel1-dc2",
  fsn1: "fsn1-dc14",
  ash: "ash-dc1",
  hil: "hil-dc1",
  sin: "sin-dc1",
};

const states: Readonly<Record<string, InstanceState>> = { off: "stopped", deleting: "terminating" };

/** The first address of the server's range. */
export function firstAddress(range: string): string | undefined {
  const network = range.split("/")[0] ?? "";
  return network.endsWith("::") ? parseIp(`${network}1`) : parseIp(network);
}

function addressesOf(
  { name, public_net, private_net }: ApiServer,
  families: ReturnType<typeof familiesOf>,
  networkID: number | undefined,
): readonly InstanceAddress[] {
  const { ipv4, ipv6 } = public_net;
  const external = [
    ...(families.includes("ipv4") && ipv4 ? [ipv4.ip] : []),
    ...(families.includes("ipv6") && ipv6 ? [firstAddress(ipv6.ip)] : []),
  ];
  const internal = private_net.filter(({ network }) => network === networkID);
  return [
    { kind: "Hostname", value: name },
    ...external.flatMap((value) => (value === undefined ? [] : [{ kind: "ExternalIP", value } as const])),
    ...internal.map(({ ip }) => ({ kind: "InternalIP", value: ip }) as const),
  ];
}

function toInstance(server: ApiServer, settings: Settings, networkID: number | undefined): Instance {
  const { id, name, status, labels, server_type, location, public_net, private_net } = server;
  const privateIP = private_net.find(({ network }) => network === networkID)?.ip;
  return {
    key: String(id),
    id: providerID(`hcloud://${id}`),
    names: [name],
    title: name,
    state: states[status] ?? "running",
    handles: {
      ...(privateIP !== undefined && { "private-ip": privateIP }),
      ...(public_net.ipv4 && { "public-ip": public_net.ipv4.ip }),
    },
    addresses: addressesOf(server, familiesOf(settings), networkID),
    type: server_type.name,
    region: location.name,
    zone: settings["instances-zone-label-enabled"] ? (zones[location.name] ?? location.name) : undefined,
    labels: { "instance.hetzner.cloud/provided-by": "cloud" },
    cloudLabels: labels,
  };
}

export function cloudServers(
  api: HetznerApi,
  settings: Settings,
  networkOf: NetworkID | undefined,
): InstanceSource {
  const reader = async (call: Call) => {
    const networkID = await networkOf?.(call);
    return (server: ApiServer) => toInstance(server, settings, networkID);
  };
  return {
    name: "cloud",
    // Names are unique within a project.
    uniqueNames: true,
    keyOf: (id) => /^hcloud:\/\/(\d+)$/.exec(id)?.[1],
    list: async function* (call) {
      yield* mapEntries(api.servers(call), await reader(call));
    },
    lookups: {
      id: lookupEach(async (id, call) => {
        const toInstance = await reader(call);
        return toInstance(await api.server(id, call));
      }),
      name: lookupEach(async (name, call) => {
        const toInstance = await reader(call);
        const servers = await collect(api.servers(call, { name }));
        return servers.filter((server) => server.name === name).map(toInstance);
      }),
    },
  };
}
