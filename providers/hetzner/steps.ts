// The single changes of an existing load balancer, as requests. Pure.

import { requestTo } from "#ccm";
import type { HetznerStep } from "./balancer.ts";
import type { ApiLoadBalancer, ApiService, ApiTarget } from "./resources.ts";
import { keyOf } from "./targets.ts";

/** A request to an existing load balancer. */
export const send = (
  { id, name }: ApiLoadBalancer,
  title: string,
  operation: string,
  body?: object,
): HetznerStep => ({ do: title, on: name, request: requestTo(operation, { id }, body) });

/** An action of an existing load balancer. */
export const act = (
  balancer: ApiLoadBalancer,
  action: string,
  body?: object,
  title = action.replaceAll("_", " "),
): HetznerStep => send(balancer, title, `POST /load_balancers/{id}/actions/${action}`, body);

export const change = (
  balancer: ApiLoadBalancer,
  body: object,
  title = "change load balancer",
): HetznerStep => send(balancer, title, "PUT /load_balancers/{id}", body);

export const changeTarget = (
  balancer: ApiLoadBalancer,
  action: string,
  target: ApiTarget,
  body: object,
  targets: HetznerStep["targets"],
): HetznerStep => ({ ...act(balancer, action, body), target: keyOf(target), targets, targetsPart: "all" });

export function removeTarget(balancer: ApiLoadBalancer, target: ApiTarget): HetznerStep {
  const { type, server, ip } = target;
  // The action accepts only these fields.
  const body = { type, ...(server && { server: { id: server.id } }), ...(ip && { ip }) };
  const removes = [String(server?.id ?? ip?.ip)];
  return changeTarget(balancer, "remove_target", target, body, { removes });
}

export const deleteService = (balancer: ApiLoadBalancer, { listen_port }: ApiService): HetznerStep =>
  act(balancer, "delete_service", { listen_port });

/** Limits a step to a load balancer with unchanged labels, if Services share it. */
export const whileMarked =
  ({ id, labels, services }: ApiLoadBalancer) =>
  (step: HetznerStep): HetznerStep => ({ ...step, whileMarked: { id, labels, services } });
