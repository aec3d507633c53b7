// Routes to pod networks in a Neutron router, which is a single document, and the Node ports, which must accept packets from the
// pod networks.

import {
  type Call,
  type Cidr,
  CloudError,
  cidrFamily,
  collect,
  type DesiredRoute,
  done,
  ifFound,
  ipFamily,
  parseCidr,
  parseIp,
  type RouteDocument,
  type Routes,
  resolveOnce,
} from "#ccm";
import { atRevision, type OpenStackApi, requestOf, type ServiceApi } from "./api.ts";
import { portAt } from "./instances.ts";
import type { ApiPort } from "./resources.ts";

interface ApiRoute {
  readonly destination: string;
  readonly nexthop: string;
}

interface ApiRouter {
  readonly id: string;
  readonly routes?: readonly ApiRoute[];
  readonly revision_number?: number;
}

function nextHop({ destination, target }: DesiredRoute): string {
  const all = [...target.internalIPs, ...target.addresses];
  const found = all.find((ip) => ipFamily(ip) === cidrFamily(destination));
  if (found !== undefined) return found;
  const text = `The Node ${target.node} has no ${cidrFamily(destination)} address, so ${destination} gets no route.`;
  throw new CloudError("invalid", text, { operation: "PUT /v2.0/routers/{id}/add_extraroutes" });
}

type Pairs = NonNullable<ApiPort["allowed_address_pairs"]>;

async function putPairs(
  network: ServiceApi,
  { id, revision_number }: ApiPort,
  pairs: Pairs,
  call: Call,
): Promise<void> {
  const request = requestOf("PUT", `/v2.0/ports/${id}`, { port: { allowed_address_pairs: pairs } });
  await network.call(atRevision(request, revision_number), call);
}

/** Neutron drops packets from addresses that a port neither has nor allows. Returns whether the port was changed. */
async function allow(
  network: ServiceApi,
  { destination, target }: DesiredRoute,
  hop: string,
  call: Call,
): Promise<boolean> {
  const known = portAt(target.machine?.handles, hop);
  if (known?.isFiltered !== true) return false;
  const port = await ifFound(network.read<ApiPort>("/v2.0/ports/{id}", known.id, "port", call));
  // A Neutron without the extension filters nothing.
  const pairs = port?.allowed_address_pairs;
  if (port === undefined || pairs === undefined) return false;
  if (pairs.some(({ ip_address }) => ip_address === destination)) return false;
  await putPairs(network, port, [...pairs, { ip_address: destination }], call);
  return true;
}

/** Other networks in the project may have the same addresses and pod ranges: only the router's networks count. */
async function disallow(
  network: ServiceApi,
  { destination, nexthop }: ApiRoute,
  networks: readonly string[],
  call: Call,
): Promise<void> {
  if (networks.length === 0) return;
  const query = { network_id: networks, fixed_ips: `ip_address=${nexthop}` };
  for (const port of await collect(network.list<ApiPort>("/v2.0/ports", call, query))) {
    const pairs = port.allowed_address_pairs ?? [];
    const others = pairs.filter(({ ip_address }) => ip_address !== destination);
    if (others.length < pairs.length) await putPairs(network, port, others, call);
  }
}

function toDocument({ routes = [], revision_number: revision }: ApiRouter): RouteDocument {
  return {
    revision: String(revision ?? JSON.stringify(routes)),
    routes: routes.flatMap((route) => {
      const destination = parseCidr(route.destination);
      const address = parseIp(route.nexthop);
      if (destination === undefined) return [];
      const handle = `${route.destination} ${route.nexthop}`;
      return { handle, destination, targetAddress: address, ownership: "unmarked" };
    }),
    carried: routes,
  };
}

export function routerRoutes({ network }: OpenStackApi, router: string): Routes {
  const path = `/v2.0/routers/${router}`;
  const isAtomic = resolveOnce(
    async (call) =>
      (await ifFound(
        network.read<object>("/v2.0/extensions/{id}", "extraroute-atomic", "extension", call),
      )) !== undefined,
  );
  const networksOfRouter = async (call: Call): Promise<readonly string[]> => {
    const query = { device_id: router, fields: ["network_id"] };
    const ports = await collect(network.list<ApiPort>("/v2.0/ports", call, query));
    return [...new Set(ports.map(({ network_id }) => network_id))];
  };
  const send = async (
    part: "add_extraroutes" | "remove_extraroutes",
    routes: readonly ApiRoute[],
    call: Call,
  ) => {
    if (routes.length > 0)
      await network.call(requestOf("PUT", `${path}/${part}`, { router: { routes } }), call);
  };
  /** Replaces all routes, for a Neutron that cannot change single routes. */
  const replace = async (
    added: readonly ApiRoute[],
    removed: readonly ApiRoute[],
    before: RouteDocument,
    call: Call,
  ) => {
    const isRemoved = (one: ApiRoute) => removed.some((other) => Bun.deepEquals(one, other));
    const kept = (before.carried as readonly ApiRoute[]).filter((one) => !isRemoved(one));
    const request = requestOf("PUT", path, { router: { routes: [...kept, ...added] } });
    const revision = /^\d+$/.test(before.revision) ? Number(before.revision) : undefined;
    await network.call(atRevision(request, revision), call);
  };
  return {
    style: "document",
    families: ["IPv4", "IPv6"],
    read: async (call) =>
      toDocument(await network.read<ApiRouter>("/v2.0/routers/{id}", router, "router", call)),
    change: async ({ create, remove }, before, call) => {
      const added = create.map((route) => ({
        route,
        destination: route.destination,
        nexthop: nextHop(route),
      }));
      const removed = remove.map(({ handle }): ApiRoute => {
        const [destination = "", nexthop = ""] = handle.split(" ");
        return { destination, nexthop };
      });
      // The pairs are removed first: the remaining route shows that the change is incomplete, so no pair is left behind.
      const networks = removed.length === 0 ? [] : await networksOfRouter(call);
      for (const route of removed) await disallow(network, route, networks, call);
      const allowed: ApiRoute[] = [];
      for (const { route, destination, nexthop } of added)
        if (await allow(network, route, nexthop, call)) allowed.push({ destination, nexthop });
      const routes = added.map(({ destination, nexthop }) => ({ destination: destination as Cidr, nexthop }));
      try {
        if (await isAtomic(call)) {
          await send("remove_extraroutes", removed, call);
          await send("add_extraroutes", routes, call);
        } else await replace(routes, removed, before, call);
      } catch (error) {
        const isRefused = CloudError.is(error) && error.kind !== "unavailable";
        // No route shows these pairs, so nothing else would remove them.
        if (isRefused && allowed.length > 0) {
          const own = await networksOfRouter(call);
          for (const route of allowed) await disallow(network, route, own, call);
        }
        throw error;
      }
      return done();
    },
  };
}
