// All operations of the API, including those for actions and for the offers of the cloud.

import type { OperationRequest, Operations } from "#ccm/testing";
import { notFound, Refusal } from "../base/answer.ts";
import type { ResourceType } from "../base/collection.ts";
import { choose, pageOf } from "../base/listing.ts";
import { loadBalancerTypes, locations, serverTypes } from "../state/catalog.ts";
import type { Project } from "../state/project.ts";
import { balancerHandlers } from "./balancers.ts";
import { certificateHandlers } from "./certificates.ts";
import { networkHandlers } from "./networks.ts";
import type { Handler, Handlers } from "./request.ts";
import { serverHandlers } from "./servers.ts";
import { volumeHandlers } from "./volumes.ts";

const kinds = {
  servers: "server",
  networks: "network",
  load_balancers: "load_balancer",
  volumes: "volume",
} as const;

function ofResource({ actions }: Project, type: ResourceType): Handler {
  return (request) => {
    const wanted = request.query.getAll("status");
    const all = actions.list(type, request.id);
    const own = all.filter(({ status }) => wanted.length === 0 || wanted.includes(status));
    const isNewestFirst = request.query.get("sort") === "id:desc";
    return pageOf("actions", isNewestFirst ? own.toReversed() : own, request, (action) => action);
  };
}

function actionHandlers(project: Project): Handlers {
  const { actions } = project;
  return {
    // Without `meta`. Unknown ids are ignored. A lie applies as in other listings.
    "GET /actions": ({ query, lie }) => {
      const ids = query.getAll("id").flatMap((text) => text.split(","));
      if (ids.length === 0) {
        throw new Refusal("deprecated_api_endpoint", "listing arbitrary actions was removed; give an id", {
          announcement: "https://docs.hetzner.cloud/changelog",
        });
      }
      const found = ids.map((id) => actions.find(Number(id))).filter((action) => action !== undefined);
      const known = lie === "empty-list" ? [] : lie === "short-page" ? found.slice(0, -1) : found;
      return { status: 200, body: { actions: known } };
    },
    "GET /actions/{id}": ({ id }) => {
      const action = actions.find(id);
      if (action === undefined) throw notFound("action", id);
      return { status: 200, body: { action } };
    },
    ...Object.fromEntries(
      Object.entries(kinds).map(([path, type]) => [`GET /${path}/{id}/actions`, ofResource(project, type)]),
    ),
  };
}

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

function offerHandlers(): Handlers {
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
    ...volumeHandlers(project),
  };
}

/** The operations as the kit serves them. */
export function operationsOf(handlers: Handlers): Operations {
  return Object.fromEntries(
    Object.entries(handlers).map(([name, handler]) => [
      name,
      (request: OperationRequest) => handler({ ...request, id: Number(request.id) }),
    ]),
  );
}
