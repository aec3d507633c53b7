// How the API shows an object: its fields, its links, and the actions of its state.

import type { Environment, Named } from "../state/environment.ts";
import type { Host } from "../state/hosts.ts";
import type { Service } from "../state/service.ts";

export type View = Readonly<Record<string, unknown>> & { readonly id: string };

export function viewOfHost(host: Host, base: string): View {
  const { id, ips, ...rest } = host;
  const self = `${base}/hosts/${id}`;
  return {
    ...rest,
    id,
    type: "host",
    name: null,
    agentIpAddress: ips[0] ?? null,
    transitioning: "no",
    links: { self, ipAddresses: `${self}/ipAddresses` },
    actions: host.removed === null ? { update: `${self}/?action=update` } : {},
  };
}

export const viewOfAddress = (host: Host, address: string, index: number): View => ({
  id: `1ip${host.id.slice(2)}-${index}`,
  type: "ipAddress",
  address,
  state: "active",
  removed: null,
});

export function viewOfNamed(one: Named, collection: string, base: string): View {
  const self = `${base}/${collection}/${one.id}`;
  return { ...one, state: "active", removed: null, transitioning: "no", links: { self }, actions: {} };
}

/** What the state permits. `activate` may be withheld. */
export function actionsOf({ state, type }: Service, isActivateWithheld: boolean): readonly string[] {
  if (state === "removing" || state === "removed") return [];
  if (state === "registering") return ["remove"];
  if (state === "inactive")
    return isActivateWithheld ? ["update", "remove"] : ["activate", "update", "remove"];
  return type === "loadBalancerService"
    ? ["deactivate", "update", "remove", "setservicelinks"]
    : ["deactivate", "update", "remove"];
}

export function viewOfService(
  service: Service,
  base: string,
  {
    environment,
    isActivateWithheld,
  }: { readonly environment: Environment; readonly isActivateWithheld: boolean },
): View {
  const { next: _next, activeSince: _since, startOnCreate: _start, boundPorts: _bound, ...fields } = service;
  const self = `${base}/${service.type}s/${service.id}`;
  const endpoints = environment.services.endpointsOf(service);
  const actions = actionsOf(service, isActivateWithheld);
  return {
    ...fields,
    healthState: environment.services.healthOf(service),
    publicEndpoints: endpoints.map(({ ip, host, port }) => ({
      type: "publicEndpoint",
      ipAddress: ip,
      port,
      hostId: host,
      serviceId: service.id,
    })),
    links: {
      self,
      consumedservices: `${self}/consumedservices`,
      consumedbyservices: `${self}/consumedbyservices`,
    },
    actions: Object.fromEntries(actions.map((action) => [action, `${self}/?action=${action}`])),
  };
}
