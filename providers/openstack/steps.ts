// The single changes of load balancers and their parts, as requests. Pure.

import type { Facts, JsonRequest } from "#ccm";
import { requestOf } from "./api.ts";
import type { OpenStackStep } from "./balancer.ts";
import type { ApiBalancer, ApiFloatingIP } from "./resources.ts";

export const collection = "/v2.0/lbaas/loadbalancers";
export const deletionTitle = "delete load balancer";
export const creationTitle = "create load balancer";

/** Completes "waiting for …". */
export const activation = ({ name, id }: Pick<ApiBalancer, "name" | "id">): string =>
  `the load balancer ${name} (${id}) to be ACTIVE`;

/** Steps for one load balancer. All steps make it PENDING, except Neutron steps. */
export function stepsFor({ id, name, tags = [] }: ApiBalancer) {
  const whileTagged = { id, tags };
  const whileAlone = (listeners: readonly { readonly id: string }[]) => ({
    ...whileTagged,
    listeners: listeners.map((one) => one.id),
  });
  const change = (title: string, on: string, request: JsonRequest): OpenStackStep => ({
    do: title,
    on,
    service: "balancing",
    request,
    waitsFor: { id, name },
  });
  const network = (
    title: string,
    on: string,
    request: JsonRequest | undefined,
    more: Partial<OpenStackStep> = {},
  ): OpenStackStep => ({ do: title, on, service: "network", request, ...more });
  return {
    change: (title: string, on: string, method: "POST" | "PUT" | "DELETE", path: string, body?: object) =>
      change(title, on, requestOf(method, `/v2.0/lbaas/${path}`, body)),
    balancer: (title: string, body: object) => ({
      ...change(title, name, requestOf("PUT", `${collection}/${id}`, { loadbalancer: body })),
      whileTagged,
    }),
    /** `listeners`: those that end with the load balancer. */
    deletion: (
      isCascading: boolean,
      listeners: readonly { readonly id: string }[],
      more: Partial<OpenStackStep> = {},
    ) => {
      const query = isCascading ? { cascade: true } : undefined;
      const request = requestOf("DELETE", `${collection}/${id}`, undefined, query);
      return { ...change(deletionTitle, name, request), whileTagged: whileAlone(listeners), ...more };
    },
    network,
    /** `listeners`: with the end of the load balancer, those that end with it. */
    floatingRemoval: (
      { id: floating, floating_ip_address: address, port_id: port }: ApiFloatingIP,
      listeners?: readonly { readonly id: string }[],
    ) =>
      network("delete floating IP", address, requestOf("DELETE", `/v2.0/floatingips/${floating}`), {
        whileTagged: listeners === undefined ? whileTagged : whileAlone(listeners),
        whileFloating: { id: floating, port, isOwn: true },
      }),
    store: (title: string, remember: Facts): OpenStackStep => ({
      do: title,
      on: name,
      service: "balancing",
      remember,
    }),
  };
}

export type Steps = ReturnType<typeof stepsFor>;
