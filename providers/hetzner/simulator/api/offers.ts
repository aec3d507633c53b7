// Requests for what the cloud offers: locations, server types and load balancer types.

import { notFound } from "../base/answer.ts";
import { choose, pageOf } from "../base/listing.ts";
import { loadBalancerTypes, locations, serverTypes } from "../state/catalog.ts";
import type { Handlers } from "./request.ts";

function handlersOf(
  collection: string,
  singular: string,
  offers: readonly { readonly id: number; readonly name: string }[],
): Handlers {
  return {
    [`GET /${collection}`]: (request) =>
      pageOf(collection, choose(offers, request.query), request, (entry) => entry),
    [`GET /${collection}/{id}`]: ({ id }) => {
      const found = offers.find((entry) => entry.id === id);
      if (found === undefined) throw notFound(singular, id);
      return { status: 200, body: { [singular]: found } };
    },
  };
}

export function offerHandlers(): Handlers {
  return {
    ...handlersOf("locations", "location", locations),
    ...handlersOf("server_types", "server_type", serverTypes),
    ...handlersOf("load_balancer_types", "load_balancer_type", loadBalancerTypes),
  };
}
