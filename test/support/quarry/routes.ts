// The routes of Quarry: one document per region, written with its ETag. A note contains the cluster's mark.

import {
  CloudError,
  type Context,
  done,
  type NamedRoutes,
  type ObservedRoute,
  parseCidr,
  type RouteDocument,
} from "#ccm";
import type { ApiRoute, Region } from "./api.ts";

interface NetworkDocument extends RouteDocument {
  readonly carried: readonly ApiRoute[];
}

export function routeTable({ name, network, api }: Region, mark: Context["mark"]): NamedRoutes {
  const path = `/networks/${network}/routes`;
  const note = `${mark.owner} ${mark.cluster}`;
  return {
    name,
    style: "document",
    families: ["IPv4"],
    limit: 50,
    serves: ({ machine }) => machine?.source === name,
    read: async (call): Promise<NetworkDocument> => {
      const request = { operation: "GetRoutes", method: "GET", path } as const;
      const { body, headers } = await api.answer<{ readonly routes: readonly ApiRoute[] }>(request, call);
      const revision = headers.get("etag");
      if (revision === null) throw new CloudError("unavailable", "GetRoutes returned no ETag.", request);
      const routes = body.routes.flatMap((route): readonly ObservedRoute[] => {
        const destination = parseCidr(route.to);
        const ownership = route.note === note ? "marked" : "foreign";
        return destination ? [{ handle: route.to, destination, targetKey: route.machine, ownership }] : [];
      });
      return { revision, routes, carried: body.routes };
    },
    change: async ({ create, remove }, before, call) => {
      const { revision, carried } = before as NetworkDocument;
      const removed = new Set(remove.map(({ handle }) => handle));
      const created = create.flatMap(({ destination, target: { machine } }) =>
        machine === undefined ? [] : [{ to: destination, machine: machine.key, note }],
      );
      const body = { routes: [...carried.filter(({ to }) => !removed.has(to)), ...created] };
      const headers = { "if-match": revision };
      await api.call({ operation: "PutRoutes", method: "PUT", path, headers, body }, call);
      return done();
    },
  };
}
