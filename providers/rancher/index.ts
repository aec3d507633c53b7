// The provider of Rancher 1.6 (Cattle): hosts as instances, and load balancers as services in a stack.

import { defineProvider } from "#ccm";
import { annotations } from "./annotations.ts";
import { rancherApi } from "./api.ts";
import { rancherChanges } from "./changes.ts";
import { hostSource } from "./instances.ts";
import { rancherLoadBalancers } from "./load-balancers.ts";
import { checkSettings, config, readConfigFile, reasons } from "./settings.ts";

export const rancher = defineProvider({
  contract: 3,
  name: "rancher",
  schemes: ["rancher://"],
  config,
  annotations: { prefix: "service.rancher.io/", fields: annotations },
  reasons,
  inputs: ({ "ca-file": path }) =>
    path === undefined ? [] : [{ kind: "File", path, certificatesOf: "ca-file" }],
  readConfigFile,
  checkConfig: checkSettings,
  connect: (settings, context) => {
    const api = rancherApi(settings, context);
    const byUUID = hostSource(api, "uuid", settings);
    return {
      instances: {
        sources: settings["api-ids"] ? [byUUID, hostSource(api, "id", settings)] : [byUUID],
        matchBy: ["name", "shortName"],
      },
      loadBalancers: settings["load-balancers-enabled"]
        ? rancherLoadBalancers(api, settings, context.mark.cluster)
        : undefined,
      changes: settings["events-enabled"] ? rancherChanges(api) : undefined,
    };
  },
});
