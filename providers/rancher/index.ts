// The provider of Rancher 1.6 (Cattle): hosts as instances, and load balancers as services in a stack.

import { type Context, defineProvider, Secret } from "#ccm";
import { annotations } from "./annotations.ts";
import { type Keys, rancherApi } from "./api/client.ts";
import { rancherChanges } from "./changes.ts";
import { checkSettings, type Settings } from "./check-settings.ts";
import { readConfigFile } from "./config-file.ts";
import { hostSource } from "./hosts.ts";
import { labelPrefixes } from "./labels.ts";
import { rancherLoadBalancers } from "./load-balancers/load-balancers.ts";
import { reasons } from "./reasons.ts";
import { config } from "./settings.ts";

const fileSettings = ["access-key-file", "secret-key-file", "ca-file"] as const;

function contentOf(path: string | undefined, { file }: Context["inputs"]): string | undefined {
  return path === undefined ? undefined : file(path)?.reveal().trim();
}

function keysOf(settings: Settings, { inputs }: Context): Keys {
  return {
    access: settings["access-key"] ?? contentOf(settings["access-key-file"], inputs) ?? "",
    secret: settings["secret-key"] ?? new Secret(contentOf(settings["secret-key-file"], inputs) ?? ""),
  };
}

function tlsOf(settings: Settings, { inputs }: Context) {
  const ca = contentOf(settings["ca-file"], inputs);
  const skipVerification = settings["insecure-skip-verify"];
  return ca === undefined && !skipVerification ? undefined : { ...(ca && { ca }), skipVerification };
}

export const rancher = defineProvider({
  contract: 2,
  name: "rancher",
  schemes: ["rancher://"],
  config,
  annotations: { prefix: "service.rancher.io/", fields: annotations },
  reasons,
  inputs: (settings) =>
    fileSettings.flatMap((name) => {
      const path = settings[name];
      return path === undefined ? [] : [{ kind: "File", path } as const];
    }),
  readConfigFile,
  checkConfig: checkSettings,
  connect: (settings, context) => {
    const api = rancherApi({
      url: settings.url,
      projectID: settings["project-id"],
      readKeys: () => keysOf(settings, context),
      tls: tlsOf(settings, context),
      account: context.account,
    });
    const byUUID = hostSource(api, "uuid", settings);
    return {
      instances: {
        sources: settings["api-ids"] ? [byUUID, hostSource(api, "id", settings)] : [byUUID],
        matchBy: ["name", "shortName"],
        labelPrefixes: labelPrefixes(settings["node-labels"]),
      },
      loadBalancers: settings["load-balancers-enabled"]
        ? rancherLoadBalancers(api, settings, context.mark)
        : undefined,
      changes: settings["events-enabled"] ? rancherChanges(api) : undefined,
    };
  },
});
