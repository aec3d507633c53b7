// The provider of Hetzner: cloud servers and dedicated servers, load balancers, and routes in a private network.

import {
  type Context,
  defineProvider,
  type InstanceSource,
  Secret,
  type UnreadableSource,
  type Values,
} from "#ccm";
import { pendingActions } from "./actions.ts";
import { annotations } from "./annotations.ts";
import { hetznerApi } from "./api/client.ts";
import { checkSettings, hasRobotAccess } from "./check-settings.ts";
import { hetznerLoadBalancers } from "./load-balancers/load-balancers.ts";
import { networkIDOf, networkRoutes } from "./network.ts";
import { reasons } from "./reasons.ts";
import { robotApi } from "./robot-api.ts";
import { robotServers, unreadableRobotServers } from "./robot-servers.ts";
import { cloudServers } from "./servers.ts";
import { config } from "./settings.ts";

type Settings = Values<typeof config>;

const fileSettings = ["token-file", "robot-user-file", "robot-password-file"] as const;

/** The value of a secret, or the content of its file. */
function readSecret(
  value: Secret | undefined,
  path: string | undefined,
  { file }: Context["inputs"],
): Secret {
  const content = path === undefined ? undefined : file(path);
  return value ?? new Secret(content?.reveal().trim() ?? "");
}

function robotSources(
  settings: Settings,
  { account, inputs }: Context,
): { readonly sources: readonly InstanceSource[]; readonly unreadable?: readonly UnreadableSource[] } {
  const user = settings["robot-user"];
  if (!settings["robot-enabled"]) return { sources: [] };
  if (!hasRobotAccess(settings)) return { sources: [], unreadable: [unreadableRobotServers] };
  const api = robotApi({
    endpoint: settings["robot-endpoint"],
    readUser: () => user ?? readSecret(undefined, settings["robot-user-file"], inputs).reveal(),
    readPassword: () => readSecret(settings["robot-password"], settings["robot-password-file"], inputs),
    waitTime: settings["robot-rate-limit-wait-time"],
    account,
  });
  const keepsInternalIPs = settings["robot-forward-internal-ips"];
  return { sources: [robotServers(api, { families: familiesOf(settings), keepsInternalIPs })] };
}

function familiesOf(settings: Settings) {
  const family = settings["instances-address-family"];
  return family === "dualstack" ? (["ipv4", "ipv6"] as const) : ([family] as const);
}

export const hetzner = defineProvider({
  contract: 2,
  name: "hcloud",
  executable: "hetzner",
  schemes: ["hcloud://", "hrobot://"],
  config,
  annotations: {
    prefix: "load-balancer.hetzner.cloud/",
    fields: annotations,
    targetSelector: "node-selector",
  },
  reasons,
  inputs: (settings) =>
    fileSettings.flatMap((name) => {
      const path = settings[name];
      return path === undefined ? [] : [{ kind: "File", path } as const];
    }),
  checkConfig: checkSettings,
  connect: (settings, context) => {
    const { network } = settings;
    const api = hetznerApi({
      endpoint: settings.endpoint,
      readToken: () => readSecret(settings.token, settings["token-file"], context.inputs),
      account: context.account,
    });
    const networkID = network === undefined ? undefined : networkIDOf(api, network);
    const servers = cloudServers(api, {
      families: familiesOf(settings),
      hasZone: settings["instances-zone-label-enabled"],
      networkID: async (call) => networkID?.(call),
    });
    const robot = robotSources(settings, context);
    const hasRoutes = networkID !== undefined && settings["network-routes-enabled"];
    return {
      pending: pendingActions(api),
      instances: {
        sources: [servers, ...robot.sources],
        unreadable: robot.unreadable,
        matchBy: ["name"],
        labelPrefixes: ["instance.hetzner.cloud/"],
      },
      loadBalancers: settings["load-balancers-enabled"]
        ? hetznerLoadBalancers(api, settings, networkID)
        : undefined,
      routes: hasRoutes ? networkRoutes(api, networkID) : undefined,
    };
  },
});
