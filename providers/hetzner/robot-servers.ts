// The dedicated servers (Robot) as instances: a second source, with other provider ids.

import {
  type Call,
  CloudError,
  type Instance,
  type InstanceSource,
  type IpFamily,
  type LookupResult,
  providerID,
  type UnreadableSource,
} from "#ccm";
import type { RobotApi, RobotServer } from "./robot-api.ts";
import { firstAddress, type InstanceSettings } from "./servers.ts";

export const robotSource = "robot";

export interface RobotSettings extends Pick<InstanceSettings, "families"> {
  /** Keep the InternalIPs that the kubelet reports. */
  readonly keepsInternalIPs: boolean;
}

/** `hcloud://bm-1` is the form that older versions of the Go manager wrote. */
const keyOf = (id: string) => /^(?:hrobot:\/\/|hcloud:\/\/bm-)(\d+)$/.exec(id)?.[1];

/** Without credentials. */
export const unreadableRobotServers: UnreadableSource = { name: robotSource, keyOf };

const familyNames = { ipv4: "IPv4", ipv6: "IPv6" } as const satisfies Record<string, IpFamily>;

function toInstance(server: RobotServer, { families, keepsInternalIPs }: RobotSettings): Instance {
  const { server_number, server_name, server_ip, server_ipv6_net, product, dc } = server;
  const zone = dc.toLowerCase();
  const ipv6 = firstAddress(server_ipv6_net ?? "");
  return {
    key: String(server_number),
    id: providerID(`hrobot://${server_number}`),
    names: [server_name],
    title: server_name,
    handles: server_ip === null ? {} : { ip: server_ip },
    addresses: [
      { kind: "Hostname", value: server_name },
      ...(families.includes("ipv6") && ipv6 ? [{ kind: "ExternalIP", value: ipv6 } as const] : []),
      ...(families.includes("ipv4") && server_ip ? [{ kind: "ExternalIP", value: server_ip } as const] : []),
    ],
    keepsInternalIPs: keepsInternalIPs ? families.map((family) => familyNames[family]) : undefined,
    type: product.replaceAll(" ", "-").replaceAll(/[^a-zA-Z0-9_.-]+/g, ""),
    region: zone.split("-")[0],
    zone,
    labels: { "instance.hetzner.cloud/provided-by": "robot" },
  };
}

const isMissing = (error: unknown): boolean => CloudError.is(error) && error.kind === "not-found";

/** Only this 404 says that there is no such server, or no server at all. Others are of a proxy or a wrong endpoint. */
const hasNoServer = (error: unknown): boolean =>
  isMissing(error) && CloudError.is(error) && error.message.endsWith("[SERVER_NOT_FOUND]");

/** Robot has an error instead of an empty list. */
async function serversOf(api: RobotApi, call: Call): ReturnType<RobotApi["servers"]> {
  try {
    return await api.servers(call);
  } catch (error) {
    if (hasNoServer(error)) return [];
    throw error;
  }
}

export function robotServers(api: RobotApi, settings: RobotSettings): InstanceSource {
  /** Models without remote reset have no answer. */
  const isOff = async (number: string, call: Call): Promise<boolean> => {
    try {
      return (await api.reset(number, call)).reset.operating_status === "shut off";
    } catch (error) {
      if (isMissing(error)) return false;
      throw error;
    }
  };
  const findByNumber = async ([number = ""]: readonly string[], call: Call): Promise<LookupResult> => {
    try {
      const { server } = await api.server(number, call);
      const state = (await isOff(number, call)) ? "stopped" : "running";
      return new Map([[number, [{ ...toInstance(server, settings), state }]]]);
    } catch (error) {
      if (hasNoServer(error)) return new Map([[number, []]]);
      throw error;
    }
  };
  return {
    name: robotSource,
    keyOf,
    // Servers are given to another cluster by renaming them.
    nameDecides: true,
    list: async function* (call) {
      yield (await serversOf(api, call)).map(({ server }) => toInstance(server, settings));
    },
    // Robot allows 200 of each kind, to all clients of the account together.
    requestsPerHour: 100,
    lookups: { id: { limit: 1, find: findByNumber } },
  };
}
