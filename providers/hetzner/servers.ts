// The cloud servers as instances: one source, with lookups by id and name.

import {
  type Call,
  CloudError,
  type Instance,
  type InstanceAddress,
  type InstanceSource,
  type InstanceState,
  type LookupResult,
  parseIp,
  providerID,
} from "#ccm";
import type { HetznerApi } from "./api/client.ts";
import type { ApiServer } from "./api/resources.ts";

export const cloudSource = "cloud";

/** Which public addresses Nodes have, and whether they have a zone. */
export interface InstanceSettings {
  readonly families: readonly ("ipv4" | "ipv6")[];
  readonly hasZone: boolean;
  /** The id of the private network; undefined if none is configured. */
  readonly networkID: (call: Call) => Promise<number | undefined>;
}

/** Zones that Nodes were labeled with before the API stopped to name data centers. They must never change. */
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
  families: InstanceSettings["families"],
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

function toInstance(server: ApiServer, settings: InstanceSettings, networkID: number | undefined): Instance {
  const { id, name, status, server_type, location, public_net, private_net } = server;
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
    addresses: addressesOf(server, settings.families, networkID),
    type: server_type.name,
    region: location.name,
    zone: settings.hasZone ? (zones[location.name] ?? location.name) : undefined,
    labels: { "instance.hetzner.cloud/provided-by": "cloud" },
  };
}

export function cloudServers(api: HetznerApi, settings: InstanceSettings): InstanceSource {
  const findByID = async ([id = ""]: readonly string[], call: Call): Promise<LookupResult> => {
    const networkID = await settings.networkID(call);
    try {
      return new Map([[id, [toInstance(await api.server(id, call), settings, networkID)]]]);
    } catch (error) {
      if (CloudError.is(error) && error.kind === "not-found") return new Map([[id, []]]);
      throw error;
    }
  };
  const findByName = async ([name = ""]: readonly string[], call: Call): Promise<LookupResult> => {
    const networkID = await settings.networkID(call);
    const found: Instance[] = [];
    for await (const page of api.servers(call, { name })) {
      found.push(...page.map((server) => toInstance(server, settings, networkID)));
    }
    return new Map([[name, found.filter(({ names }) => names.includes(name))]]);
  };
  return {
    name: cloudSource,
    // Within a project.
    uniqueNames: true,
    keyOf: (id) => /^hcloud:\/\/(\d+)$/.exec(id)?.[1],
    list: async function* (call) {
      const networkID = await settings.networkID(call);
      for await (const page of api.servers(call)) {
        yield page.map((server) => toInstance(server, settings, networkID));
      }
    },
    lookups: { id: { limit: 1, find: findByID }, name: { limit: 1, find: findByName } },
  };
}
