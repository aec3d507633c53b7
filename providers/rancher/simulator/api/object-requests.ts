// Requests to one host or service: its actions, its links, its change and its removal.

import { Refusal } from "../refusal.ts";
import type { Environment } from "../state/environment.ts";
import type { Host } from "../state/hosts.ts";
import type { Service } from "../state/service.ts";
import { changedFields, linksOf, objectOf, upgradedConfig } from "./bodies.ts";
import {
  actionsOf,
  hostActions,
  hostActionsOf,
  type ServiceContext,
  serviceActions,
  type View,
  viewOfHost,
  viewOfService,
} from "./views.ts";

interface HostRequest {
  readonly method: string;
  readonly action: string | null;
  readonly base: string;
  readonly body: unknown;
}

function wantedAction({ method, action }: HostRequest): string {
  if (method === "PUT") return "update";
  if (method === "DELETE") return "remove";
  if (method !== "POST" || action === null) throw new Refusal("MethodNotAllowed", "Method not allowed");
  if (!(hostActions as readonly string[]).includes(action))
    throw new Refusal("InvalidAction", `There is no action ${action}`, "action");
  return action;
}

function changeOf(action: string, body: unknown, now: string): Partial<Host> {
  const { labels } = objectOf(body);
  if (action === "activate") return { state: "active" };
  if (action === "deactivate") return { state: "inactive" };
  if (action === "remove") return { state: "removed", removed: now };
  if (labels === undefined) return {};
  return {
    labels: Object.fromEntries(Object.entries(objectOf(labels)).map(([key, value]) => [key, String(value)])),
  };
}

export function serveHost(host: Host, request: HostRequest, { hosts, clock }: Environment) {
  const { method, base, body } = request;
  if (method === "GET") return { status: 200, body: viewOfHost(host, base) };
  const action = wantedAction(request);
  if (!hostActionsOf(host).includes(action)) {
    if (method === "POST")
      throw new Refusal("ActionNotAvailable", `Action ${action} is not available`, "action");
    throw new Refusal("MethodNotAllowed", `${method} is not possible while it is ${host.state}`);
  }
  const changed = { ...host, ...changeOf(action, body, new Date(clock.now()).toISOString()) };
  hosts.put(changed);
  return { status: method === "POST" ? 202 : 200, body: viewOfHost(changed, base) };
}

/** The services at the other end of a link, or undefined if there is no such link. */
export function linkedServices(
  service: Service,
  link: string,
  context: ServiceContext,
): readonly View[] | undefined {
  const all = context.environment.services.list().filter(({ removed }) => removed === null);
  const found = new Map([
    ["consumedservices", all.filter(({ id }) => service.serviceLinks.includes(id))],
    ["consumedbyservices", all.filter(({ serviceLinks }) => serviceLinks.includes(service.id))],
  ]).get(link.toLowerCase());
  return found?.map((one) => viewOfService(one, context));
}

interface ServiceRequest extends ServiceContext {
  readonly method: string;
  readonly action: string | null;
  readonly body: unknown;
}

function act(service: Service, request: ServiceRequest): Service {
  const { action, body, environment, isActivateWithheld } = request;
  const { services } = environment;
  if (action === null) throw new Refusal("MethodNotAllowed", "Method not allowed");
  if (!serviceActions.includes(action))
    throw new Refusal("InvalidAction", `There is no action ${action}`, "action");
  if (!actionsOf(service, isActivateWithheld).includes(action))
    throw new Refusal("ActionNotAvailable", `Action ${action} is not available`, "action");
  if (action === "activate") return services.activate(service);
  if (action === "deactivate") return services.deactivate(service);
  if (action === "remove") return services.remove(service);
  if (action === "update") return services.update(service, {});
  if (action === "upgrade") return services.upgrade(service, upgradedConfig(body));
  if (action === "finishupgrade") return services.finishUpgrade(service);
  return services.setLinks(service, linksOf(body, environment));
}

/** A change other than an action is accepted while an earlier one runs, and so is a second removal. */
export function serveService(service: Service, request: ServiceRequest) {
  const { method, body, environment, isActivateWithheld } = request;
  const { services } = environment;
  const available = actionsOf(service, isActivateWithheld);
  const show = (one: Service, status = 200) => ({ status, body: viewOfService(one, request) });
  if (method === "GET") return show(service);
  if (method === "POST") return show(act(service, request), 202);
  if (method === "PUT") {
    const fields = changedFields(body, environment, service);
    if (!available.includes("update") && service.state !== "updating-inactive")
      throw new Refusal("Conflict", `${service.id} is ${service.state}`);
    return show(services.update(service, fields));
  }
  if (method !== "DELETE") throw new Refusal("MethodNotAllowed", "Method not allowed");
  return show(available.includes("remove") ? services.remove(service) : service);
}
