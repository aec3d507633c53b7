// The dedicated servers as instances: Hetzner's Robot web service, and a second source with other provider ids.

import {
  basic,
  type Call,
  CloudError,
  type Context,
  codeOf,
  currentValue,
  type ErrorReport,
  type Instance,
  type InstanceSource,
  type Instances,
  type IpFamily,
  ifFound,
  jsonApi,
  type LookupResult,
  milliseconds,
  providerID,
  requestTo,
  type Secret,
} from "#ccm";
import { familiesOf, firstAddress } from "./instances.ts";
import { hasRobotAccess, type Settings } from "./settings.ts";

interface RobotServer {
  readonly server_number: number;
  readonly server_name: string;
  readonly server_ip: string | null;
  /** The network part of the server's range, for example 2a01:f48:111:4221:: */
  readonly server_ipv6_net: string | null;
  readonly product: string;
  readonly dc: string;
}

interface RobotErrorBody {
  readonly error: { readonly status: number; readonly code: string; readonly message: string };
}

function readError(body: unknown): ErrorReport | undefined {
  const { code, message } = (body as Partial<RobotErrorBody> | undefined)?.error ?? {};
  if (typeof code !== "string") return undefined;
  const limited = { kind: "rate-limited", scope: "account" } as const;
  return { message: `${message} [${code}]`, code, ...(code === "RATE_LIMIT_EXCEEDED" && limited) };
}

/** Sends a request; the number of a server takes the place of `{number}`. */
function robotApi(settings: Settings, { account, inputs }: Context) {
  const waitTime = milliseconds(Math.max(0, settings["robot-rate-limit-wait-time"]));
  const { transport } = account<{ readonly user: string; readonly password: Secret }>({
    name: "robot",
    fetch: async () => {
      const user = currentValue(settings, "robot-user", inputs).reveal();
      return { value: { user, password: currentValue(settings, "robot-password", inputs) } };
    },
    sign: basic,
    // Robot locks out clients that continue to send, so requests pause for some time.
    rateLimit: ({ status }) => (status === 403 ? { retryAfter: { in: waitTime } } : undefined),
  });
  const api = jsonApi({
    base: settings["robot-endpoint"] ?? "https://robot-ws.your-server.de",
    transport,
    readError,
  });
  return <T>(operation: string, call: Call, number = "") =>
    api.call<T>(requestTo(operation, { number }), call);
}

export const robotSource = "robot";

/** `hcloud://bm-1` is the form that older versions of the Go manager wrote. */
const keyOf = (id: string) => /^(?:hrobot:\/\/|hcloud:\/\/bm-)(\d+)$/.exec(id)?.[1];

const familyNames = { ipv4: "IPv4", ipv6: "IPv6" } as const satisfies Record<string, IpFamily>;

function toInstance(server: RobotServer, settings: Settings): Instance {
  const families = familiesOf(settings);
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
    keepsInternalIPs: settings["robot-forward-internal-ips"]
      ? families.map((family) => familyNames[family])
      : undefined,
    type: product.replaceAll(" ", "-").replaceAll(/[^a-zA-Z0-9_.-]+/g, ""),
    region: zone.split("-")[0],
    zone,
    labels: { "instance.hetzner.cloud/provided-by": "robot" },
  };
}

/**
 * Undefined if the server does not exist, or the account has no servers: only a 404 with this code proves this.
 * Another 404 comes from a proxy or an incorrect endpoint.
 */
async function ifAny<T>(request: Promise<T>): Promise<T | undefined> {
  try {
    return await request;
  } catch (error) {
    const isNone = CloudError.is(error) && error.kind === "not-found" && codeOf(error) === "SERVER_NOT_FOUND";
    if (isNone) return undefined;
    throw error;
  }
}

interface Found {
  readonly server: RobotServer;
}

interface Reset {
  readonly reset: { readonly operating_status?: string };
}

function robotServers(get: ReturnType<typeof robotApi>, settings: Settings): InstanceSource {
  /** Models without remote reset have no reset status. */
  const isOff = async (number: string, call: Call): Promise<boolean> =>
    (await ifFound(get<Reset>("GET /reset/{number}", call, number)))?.reset.operating_status === "shut off";
  const findByNumber = async ([number = ""]: readonly string[], call: Call): Promise<LookupResult> => {
    const found = await ifAny(get<Found>("GET /server/{number}", call, number));
    if (found === undefined) return new Map([[number, []]]);
    const state = (await isOff(number, call)) ? "stopped" : "running";
    return new Map([[number, [{ ...toInstance(found.server, settings), state }]]]);
  };
  return {
    name: robotSource,
    keyOf,
    // Servers are given to another cluster by renaming them.
    nameDecides: true,
    list: async function* (call) {
      // Robot returns all servers in one response, and an error instead of an empty list.
      const all = (await ifAny(get<readonly Found[]>("GET /server", call))) ?? [];
      yield all.map(({ server }) => toInstance(server, settings));
    },
    // Robot allows 200 requests of each kind, to all clients of the account together.
    requestsPerHour: 100,
    lookups: { id: { limit: 1, find: findByNumber } },
  };
}

/** Without credentials, only the ids of dedicated servers are known. */
export function robotSources(
  settings: Settings,
  context: Context,
): { readonly sources: readonly InstanceSource[]; readonly unreadable?: Instances["unreadable"] } {
  if (!settings["robot-enabled"]) return { sources: [] };
  if (!hasRobotAccess(settings)) return { sources: [], unreadable: [{ name: robotSource, keyOf }] };
  return { sources: [robotServers(robotApi(settings, context), settings)] };
}
