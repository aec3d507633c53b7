// The provider of DigitalOcean: droplets as instances, load balancers, volumes, and the firewall of the Nodes.

import { currentValue, defineProvider } from "#ccm";
import { annotations, prefix } from "./annotations.ts";
import { digitalOceanApi } from "./api.ts";
import { facts } from "./balancer.ts";
import { digitalOceanFirewall } from "./firewall.ts";
import { dropletSource } from "./instances.ts";
import { digitalOceanLoadBalancers } from "./load-balancers.ts";
import { checkConfig, checkWithCloud, config, reasons } from "./settings.ts";
import { contradictions } from "./spec.ts";
import { digitalOceanVolumes, pendingActions, volumeDriver } from "./volumes.ts";

export const digitalocean = defineProvider({
  contract: 3,
  name: "digitalocean",
  schemes: ["digitalocean://"],
  config,
  annotations: { prefix, fields: annotations, check: contradictions },
  facts,
  reasons,
  volumeDriver,
  presets: { "allow-untagged-cloud": "true", "authentication-skip-lookup": "true" },
  checkConfig,
  connect: (settings, context) => {
    const readToken = () => currentValue(settings, "token", context.inputs);
    const api = digitalOceanApi(settings.endpoint, readToken, context);
    return {
      pending: pendingActions(api),
      instances: { sources: [dropletSource(api)], matchBy: ["name"] },
      loadBalancers: digitalOceanLoadBalancers(api, settings),
      checkSettings: (call) => checkWithCloud(api, settings, call),
      volumes: digitalOceanVolumes(api, settings),
      nodeFirewall: digitalOceanFirewall(api, settings),
    };
  },
});
