// The routes of Acme to pod networks, created and removed one by one, and marked by tags.

import type { Context, ObservedRoute, RoutesOneByOne } from "#ccm";
import type { ApiRoute, CloudApi } from "./api.ts";
import { unwritten } from "./unwritten.ts";

const section = "7. Routes";

function toObserved(_route: ApiRoute, _mark: Context["mark"]): readonly ObservedRoute[] {
  return unwritten("routes.ts", section);
}

export function routes(api: CloudApi, mark: Context["mark"]): RoutesOneByOne {
  return {
    style: "one-by-one",
    families: ["IPv4"],
    list: async function* (call) {
      for await (const page of api.routes(call)) {
        yield { routes: page.flatMap((route) => toObserved(route, mark)) };
      }
    },
    create: async () => unwritten("routes.ts", section),
    remove: async () => unwritten("routes.ts", section),
  };
}
