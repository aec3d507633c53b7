// All operations of the API, and how a request is matched to one. Here are those for what the cloud offers.

import { notFound } from "../base/answer.ts";
import { choose, pageOf } from "../base/listing.ts";
import { loadBalancerTypes, locations, serverTypes } from "../state/catalog.ts";
import type { Project } from "../state/project.ts";
import { actionHandlers } from "./actions.ts";
import { balancerHandlers } from "./balancers.ts";
import { certificateHandlers } from "./certificates.ts";
import { networkHandlers } from "./networks.ts";
import type { Handlers } from "./request.ts";
import { serverHandlers } from "./servers.ts";

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

export function allHandlers(project: Project): Handlers {
  return {
    ...offerHandlers(),
    ...actionHandlers(project),
    ...serverHandlers(project),
    ...networkHandlers(project),
    ...balancerHandlers(project),
    ...certificateHandlers(project),
  };
}

/** The operation of a request, such as `GET /servers/{id}`, and the ids in its path. */
export interface Operation {
  readonly name: string;
  readonly id: number;
  readonly actionID: number;
}

export function operationOf(method: string, path: string): Operation {
  const ids: number[] = [];
  const parts = path.split("/").map((part) => {
    if (!/^\d+$/.test(part)) return part;
    ids.push(Number(part));
    return ids.length === 1 ? "{id}" : "{action_id}";
  });
  return { name: `${method} ${parts.join("/")}`, id: ids[0] ?? 0, actionID: ids[1] ?? 0 };
}
