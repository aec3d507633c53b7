// The provider of Hetzner: cloud servers and dedicated servers, load balancers, and routes in a private network.

import { defineProvider } from "#ccm";
import { annotations } from "./annotations.ts";
import { hetznerApi, pendingActions } from "./api.ts";
import { cloudServers } from "./instances.ts";
import { hetznerLoadBalancers } from "./load-balancers.ts";
import { robotSources } from "./robot.ts";
import { networkIDOf, networkRoutes } from "./routes.ts";
import { checkSettings, config, reasons } from "./settings.ts";
import { hetznerVolumes, volumeDriver } from "./volumes.ts";

export const hetzner = defineProvider({
  contract: 3,
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
  volumeDriver,
  checkConfig: checkSettings,
  connect: (settings, context) => {
    const { network } = settings;
    const api = hetznerApi(settings, context);
    const networkID = network === undefined ? undefined : networkIDOf(api, network);
    const servers = cloudServers(api, settings, networkID);
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
        ? hetznerLoadBalancers(api, settings, networkID, context.mark)
        : undefined,
      volumes: hetznerVolumes(api, settings),
      routes: hasRoutes ? networkRoutes(api, networkID) : undefined,
    };
  },
});
