// Routes of the awkward cloud: one document, replaced as a whole with its revision, with entries that are not routes and must
// survive.

import { type JsonApi, type ObservedRoute, parseCidr, type RouteDocument, type RoutesAsDocument } from "#ccm";
import type { AwkwardEntry } from "./awkward-cloud.ts";

interface AwkwardDocument extends RouteDocument {
  readonly entries: readonly AwkwardEntry[];
}

interface Body {
  readonly revision: string;
  readonly entries: readonly AwkwardEntry[];
}

export const awkwardRoutes = (api: JsonApi): RoutesAsDocument => ({
  style: "document",
  families: ["IPv4"],
  read: async (call): Promise<AwkwardDocument> => {
    const expects = ["revision", "entries"];
    const request = { operation: "ReadRoutes", method: "GET", path: "/routes", expects } as const;
    const { revision, entries } = await api.call<Body>(request, call);
    const routes = entries.flatMap(({ to, via }): ObservedRoute[] => {
      const destination = parseCidr(to);
      return destination === undefined
        ? []
        : [{ handle: to, destination, targetKey: via, ownership: "unmarked" }];
    });
    return { revision, routes, entries };
  },
  change: async ({ create, remove }, before, call) => {
    // The document that `read` returned, with the entries that are not routes.
    const { revision, entries } = before as AwkwardDocument;
    const gone = new Set(remove.map(({ handle }) => handle));
    const body = {
      entries: [
        ...entries.filter(({ to }) => !gone.has(to)),
        ...create.map(({ destination, target }) => ({ to: destination, via: target.machine?.key ?? "" })),
      ],
    };
    const headers = { "if-match": revision };
    await api.call({ operation: "WriteRoutes", method: "PUT", path: "/routes", headers, body }, call);
    return { done: true };
  },
});
