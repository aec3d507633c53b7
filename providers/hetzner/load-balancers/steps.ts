// Makes the requests that create, change and delete a load balancer. Pure.

import type { JsonRequest } from "#ccm";
import type { ApiLoadBalancer, ApiTarget } from "../api/resources.ts";
import type { HetznerStep } from "./model.ts";
import { completeService, type ServiceSpec } from "./services.ts";
import type { TargetSpec } from "./targets.ts";

export function createStep(name: string, body: object): HetznerStep {
  const operation = "POST /load_balancers";
  return {
    do: "create load balancer",
    on: name,
    request: { operation, method: "POST", path: "/load_balancers", body },
  };
}

/** The body of a creation without its targets; undefined if it has none. */
export function withoutTargets(body: unknown): object | undefined {
  const { targets = [], ...rest } = (body ?? {}) as { readonly targets?: readonly ApiTarget[] };
  return targets.length === 0 ? undefined : { ...rest, targets: [] };
}

/** A target without what `remove_target` does not take. */
function targetToRemove({ type, server, ip }: ApiTarget): ApiTarget {
  return { type, ...(server && { server: { id: server.id } }), ...(ip && { ip }) };
}

export function stepsFor({ id, name }: Pick<ApiLoadBalancer, "id" | "name">) {
  const send = (title: string, method: JsonRequest["method"], rest: string, body?: object): HetznerStep => ({
    do: title,
    on: name,
    request: {
      operation: `${method} /load_balancers/{id}${rest}`,
      method,
      path: `/load_balancers/${id}${rest}`,
      ...(body && { body }),
    },
  });
  const act = (title: string, action: string, body?: object) =>
    send(title, "POST", `/actions/${action}`, body);
  return {
    change: (body: { readonly name?: string; readonly labels?: ApiLoadBalancer["labels"] }) =>
      send("change load balancer", "PUT", "", body),
    deleteBalancer: () => send("delete load balancer", "DELETE", ""),
    changeReverseDNS: (ip: string, dns_ptr: string) =>
      act("change reverse DNS", "change_dns_ptr", { ip, dns_ptr }),
    changeAlgorithm: (type: string) => act("change algorithm", "change_algorithm", { type }),
    changeType: (type: string) => act("change type", "change_type", { load_balancer_type: type }),
    detach: (network: number) => act("detach from network", "detach_from_network", { network }),
    attach: (body: { readonly network: number; readonly ip?: string; readonly ip_range?: string }) =>
      act("attach to network", "attach_to_network", body),
    setPublicInterface: (isEnabled: boolean) =>
      isEnabled
        ? act("enable public interface", "enable_public_interface")
        : act("disable public interface", "disable_public_interface"),
    addService: (spec: ServiceSpec) => act("add service", "add_service", completeService(spec)),
    updateService: (spec: ServiceSpec) => act("update service", "update_service", spec),
    deleteService: (listen_port: number) => act("delete service", "delete_service", { listen_port }),
    addTarget: ({ node, target }: TargetSpec): HetznerStep => ({
      ...act("add target", "add_target", target),
      node,
    }),
    removeTarget: (target: ApiTarget) => act("remove target", "remove_target", targetToRemove(target)),
  };
}

/** The part of a step that changes only targets. */
export const targetsOnly = (step: HetznerStep): HetznerStep | undefined =>
  step.do === "add target" || step.do === "remove target" ? step : undefined;
