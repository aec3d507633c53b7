// The provider of OpenStack: servers of Nova as instances.

import { defineProvider } from "#ccm";
import { openStackApi } from "./api.ts";
import { readConfigFile } from "./config-file.ts";
import { serverSource } from "./instances.ts";
import { tlsFiles } from "./keystone.ts";
import { checkSettings, config, reasons, usesClouds } from "./settings.ts";

export const openstack = defineProvider({
  contract: 2,
  name: "openstack",
  schemes: ["openstack://"],
  config,
  reasons,
  readConfigFile,
  checkConfig: checkSettings,
  inputs: (settings) => [
    ...tlsFiles(settings).map((path) => ({ kind: "File", path }) as const),
    ...(usesClouds(settings) ? [{ kind: "File", path: settings["clouds-file"] } as const] : []),
  ],
  connect: (settings, context) => {
    const api = openStackApi(settings, context);
    return { instances: { sources: [serverSource(api, settings)], matchBy: ["name"] } };
  },
});
