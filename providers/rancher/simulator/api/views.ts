// How the API shows an object: its fields, its links, and the actions of its state.

import type { Environment, Named } from "../state/environment.ts";
import type { Host } from "../state/hosts.ts";
import type { Service } from "../state/service.ts";

/** Without states, the action is offered in every state. */
const startStates: Readonly<Record<string, readonly string[] | undefined>> = {
  activate: ["inactive", "restarting"],
  deactivate: ["active", "activating", "updating-active", "updating-inactive", "restarting"],
  remove: [
    ...["requested", "registering", "inactive", "activating", "active"],
    ...["updating-active", "updating-inactive", "deactivating", "restarting"],
    ...["upgrading", "upgraded", "finishing-upgrade"],
  ],
  finishupgrade: ["upgraded"],
  upgrade: ["active", "activating", "inactive", "updating-active"],
  setservicelinks: undefined,
  update: ["inactive", "active", "updating-active", "activating", "upgrading", "finishing-upgrade"],
};

export const serviceActions = Object.keys(startStates);

const onlyOfBalancers = ["finishupgrade", "setservicelinks", "upgrade"];

const ofType = ({ type }: Service): readonly string[] =>
  type === "loadBalancerService"
    ? serviceActions
    : serviceActions.filter((name) => !onlyOfBalancers.includes(name));

/** `activate` may be withheld. */
export function actionsOf(service: Service, isActivateWithheld: boolean): readonly string[] {
  if (service.removed !== null) return [];
  return ofType(service).filter(
    (name) =>
      startStates[name]?.includes(service.state) !== false && !(name === "activate" && isActivateWithheld),
  );
}

export const hostActions = ["activate", "deactivate", "remove", "update"] as const;

/** Only an inactive host can be removed. */
export function hostActionsOf({ state, removed }: Host): readonly string[] {
  if (removed !== null) return [];
  if (state === "inactive") return ["activate", "remove", "update"];
  return state === "active" ? ["deactivate", "update"] : [];
}

export type View = Readonly<Record<string, unknown>> & { readonly id: string };

/** The API shows the state of the agent for a host that is active. */
function stateOf({ state, agentState }: Host): string {
  return state === "active" && agentState !== "active" ? agentState : state;
}

const settled = { transitioning: "no", transitioningMessage: null, transitioningProgress: null };

export function viewOfHost(host: Host, base: string): View {
  const { id, ips, ...rest } = host;
  const self = `${base}/hosts/${id}`;
  return {
    ...rest,
    ...settled,
    id,
    type: "host",
    kind: "docker",
    state: stateOf(host),
    agentIpAddress: ips[0] ?? null,
    info: {},
    links: { self, ipAddresses: `${self}/ipAddresses` },
    actions: Object.fromEntries(hostActionsOf(host).map((action) => [action, `${self}/?action=${action}`])),
  };
}

export function viewOfAddress(host: Host, address: string, index: number, base: string): View {
  const id = `1ip${host.id.slice(2)}-${index}`;
  return {
    id,
    type: "ipAddress",
    kind: "ipAddress",
    name: null,
    uuid: id,
    address,
    state: "active",
    removed: null,
    links: { self: `${base}/ipaddresses/${id}` },
    actions: {},
  };
}

/** A stack, a certificate or a project. */
export function viewOfNamed(one: Named, type: "certificate" | "project" | "stack", base: string): View {
  const self = `${base}/${type}s/${one.id}`;
  return {
    ...one,
    ...settled,
    type,
    kind: type,
    uuid: one.id,
    state: "active",
    removed: null,
    description: null,
    links: { self },
    actions: {},
  };
}

export function viewOfSetting(name: string, value: string, base: string): View {
  return {
    id: name,
    type: "setting",
    name,
    value,
    activeValue: value,
    source: "Database",
    links: { self: `${base}/settings/${name}` },
    actions: {},
  };
}

export interface ServiceContext {
  /** URL of the API, with the project if the request has one. */
  readonly base: string;
  readonly environment: Environment;
  readonly isActivateWithheld: boolean;
}

export function viewOfService(
  service: Service,
  { base, environment, isActivateWithheld }: ServiceContext,
): View {
  const { next: _next, activeSince: _since, boundPorts: _bound, serviceLinks, ...fields } = service;
  const self = `${base}/${service.type}s/${service.id}`;
  const endpoints = environment.services.endpointsOf(service);
  const actions = actionsOf(service, isActivateWithheld);
  return {
    ...fields,
    kind: service.type,
    uuid: service.id,
    transitioningProgress: null,
    linkedServices: Object.fromEntries(
      serviceLinks.map((id) => [environment.services.get(id)?.name ?? id, id]),
    ),
    healthState: environment.services.healthOf(service),
    publicEndpoints: endpoints.map(({ ip, host, port }) => ({
      type: "publicEndpoint",
      ipAddress: ip,
      port,
      hostId: host,
      instanceId: `1i${host.slice(2)}-${service.id.slice(2)}`,
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
