// The provider of OpenStack: servers of Nova as instances, load balancers of Octavia, and routes in a router of Neutron.

import { defineProvider, type RouteTarget } from "#ccm";
import { annotations, prefix } from "./annotations.ts";
import { openStackApi } from "./api.ts";
import { facts } from "./balancer.ts";
import { readConfigFile } from "./config-file.ts";
import { serverSource } from "./instances.ts";
import { tlsFiles } from "./keystone.ts";
import { octaviaLoadBalancers, pendingBalancers } from "./load-balancers.ts";
import { routerRoutes } from "./routes.ts";
import { placesOf, repeatedScopes, scopeProblems } from "./scopes.ts";
import { checkSettings, config, reasons, usesClouds } from "./settings.ts";
import { contradictions } from "./spec.ts";
import { cinderVolumes, volumeDriver } from "./volumes.ts";

export const openstack = defineProvider({
  contract: 3,
  name: "openstack",
  schemes: ["openstack://"],
  config,
  annotations: { prefix, fields: annotations, targetSelector: "node-selector", check: contradictions },
  facts,
  reasons,
  readConfigFile,
  volumeDriver,
  checkConfig: (settings) => [...checkSettings(settings), ...scopeProblems(settings)],
  inputs: (settings) => [
    ...tlsFiles(settings),
    ...(usesClouds(settings) || settings.scopes.some(({ cloud }) => cloud !== undefined)
      ? [{ kind: "File", path: settings["clouds-file"] } as const]
      : []),
  ],
  connect: (settings, context) => {
    const [main, ...others] = placesOf(settings, context);
    const api = openStackApi(main.api, settings, context);
    const router = settings["router-id"];
    const hasBalancers = settings["load-balancers-enabled"];
    const routes = router === undefined ? undefined : routerRoutes(api, router);
    const scoped = others.length === 0 ? [] : [main, ...others];
    const sourceOf = (place: typeof main) => serverSource(place, context.announce);
    const serves = ({ machine }: RouteTarget) => machine?.source === main.name;
    return {
      instances: { sources: [sourceOf(main), ...others.map(sourceOf)], matchBy: ["name"] },
      pending: hasBalancers ? pendingBalancers(api) : undefined,
      loadBalancers: hasBalancers ? octaviaLoadBalancers(api, settings, context) : undefined,
      routes: others.length === 0 ? routes : routes && [{ ...routes, name: `router ${router}`, serves }],
      // Only Keystone knows the project of the credentials.
      checkSettings: async (call) =>
        repeatedScopes(settings, await Promise.all(scoped.map(({ api }) => api.compute.place(call)))),
      volumes: cinderVolumes(api, settings, context.mark),
    };
  },
});
