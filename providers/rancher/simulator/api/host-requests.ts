// Requests to one host: what users of Rancher do with it. They take effect at once.

import { Refusal } from "../refusal.ts";
import type { Environment } from "../state/environment.ts";
import type { Host } from "../state/hosts.ts";
import { hostActions, hostActionsOf } from "./actions.ts";
import { objectOf } from "./bodies.ts";
import { viewOfHost } from "./views.ts";

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
