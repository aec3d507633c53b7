// The private network of the cluster: its id, and its routes to pods as a route table.

import {
  type Call,
  CloudError,
  type ObservedRoute,
  parseCidr,
  parseIp,
  type RoutesOneByOne,
  requestTo,
  resolveOnce,
} from "#ccm";
import { type HetznerApi, outcomeOf } from "./api.ts";
import type { ApiNetwork } from "./resources.ts";

export type NetworkID = (call: Call) => Promise<number>;

/**
 * The id of the network that HCLOUD_NETWORK names, by name or id. An incorrect id would detach all
 * load balancers, so an id is checked.
 */
export function networkIDOf(api: HetznerApi, nameOrID: string): NetworkID {
  const isID = /^\d+$/.test(nameOrID);
  return resolveOnce(async (call) => {
    for await (const page of api.networks(call, isID ? {} : { name: nameOrID })) {
      const found = page.find(({ id, name }) => (isID ? String(id) : name) === nameOrID);
      if (found !== undefined) return found.id;
    }
    const others = (await Array.fromAsync(api.networks(call, {})))
      .flat()
      .map(({ id, name }) => `${name} (${id})`);
    const text = `The network ${JSON.stringify(nameOrID)} does not exist in this project. Its networks: ${others.slice(0, 10).join(", ") || "none"}. Correct HCLOUD_NETWORK, and restart; if yours is not among them, HCLOUD_TOKEN belongs to another project.`;
    throw new CloudError("invalid", text, { operation: "GET /networks" });
  });
}

/** A route cannot carry a mark: --cluster-cidr decides which routes belong to the cluster. */
function toObserved({ destination: text, gateway }: ApiNetwork["routes"][number]): readonly ObservedRoute[] {
  const destination = parseCidr(text);
  const common = { handle: `${text} ${gateway}`, targetAddress: parseIp(gateway) };
  return destination === undefined ? [] : [{ ...common, destination, ownership: "unmarked" }];
}

export function networkRoutes(api: HetznerApi, networkID: NetworkID): RoutesOneByOne {
  const change = async (
    action: "add_route" | "delete_route",
    destination: string,
    gateway: string,
    call: Call,
  ) => {
    const id = await networkID(call);
    const operation = `POST /networks/{id}/actions/${action}`;
    const response = await api.change(requestTo(operation, { id }, { destination, gateway }), call);
    return outcomeOf(response.action, `the route to ${destination} in network ${id}`);
  };
  return {
    style: "one-by-one",
    oneAtATime: true,
    families: ["IPv4"],
    limit: 100,
    list: async function* (call) {
      const { routes } = await api.network(await networkID(call), call);
      yield { routes: routes.flatMap(toObserved) };
    },
    create: async ({ destination, target }, call) => {
      const { node, machine, internalIPs } = target;
      const gateway = machine?.handles?.["private-ip"];
      const fail = (kind: "invalid" | "unavailable", why: string) =>
        new CloudError(kind, `No route to Node ${node}: ${why}`, {
          operation: "POST /networks/{id}/actions/add_route",
        });
      if (machine === undefined || machine.handles === undefined)
        throw fail("unavailable", "its server is not known yet.");
      if (gateway === undefined)
        throw fail("invalid", "its server is not attached to the network of the cluster. Attach it.");
      if (!internalIPs.some((ip) => ip === parseIp(gateway)))
        throw fail(
          "invalid",
          `its server has the address ${gateway} in the network, but the Node's InternalIPs are ${internalIPs.join(", ") || "none"}.`,
        );
      return change("add_route", destination, gateway, call);
    },
    remove: async ({ handle }, call) => {
      const [destination = "", gateway = ""] = handle.split(" ");
      return change("delete_route", destination, gateway, call);
    },
  };
}
