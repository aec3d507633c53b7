// Routes in the network of the fake cloud: one request per route, identified by a label.

import { CloudError, done, type ObservedRoute, parseCidr, type RoutesOneByOne } from "#ccm";
import type { ApiRoute, FakeApi } from "./api.ts";

export function fakeRoutes(api: FakeApi, mark: { readonly cluster: string }): RoutesOneByOne {
  const toObserved = ({ id, destination, machine, labels }: ApiRoute): readonly ObservedRoute[] => {
    const parsed = parseCidr(destination);
    const ownership = labels["cluster"] === mark.cluster ? "marked" : "foreign";
    return parsed === undefined ? [] : [{ handle: id, destination: parsed, targetKey: machine, ownership }];
  };
  return {
    style: "one-by-one",
    families: ["IPv4", "IPv6"],
    list: async function* (call) {
      for await (const page of api.routes(call)) yield { routes: page.flatMap(toObserved) };
    },
    create: async ({ destination, target }, call) => {
      const machine = target.machine?.key;
      if (machine === undefined) {
        const text = `No route to Node ${target.node}: its machine is not known yet.`;
        throw new CloudError("invalid", text, { operation: "POST /routes" });
      }
      await api.createRoute({ destination, machine, labels: { cluster: mark.cluster } }, call);
      return done();
    },
    remove: async ({ handle }, call) => {
      await api.deleteRoute(handle, call);
      return done();
    },
  };
}
