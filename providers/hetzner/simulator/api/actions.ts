// Requests for actions: by ids, one by id, and those of one resource.

import { notFound, Refusal } from "../base/answer.ts";
import type { ResourceType } from "../base/collection.ts";
import { pageOf } from "../base/listing.ts";
import type { Project } from "../state/project.ts";
import type { Handler, Handlers } from "./request.ts";

const kinds = { servers: "server", networks: "network", load_balancers: "load_balancer" } as const;

function ofResource({ actions }: Project, type: ResourceType): Handler {
  return (request) => {
    const own = actions.list(type, request.id);
    const isNewestFirst = request.query.get("sort") === "id:desc";
    return pageOf("actions", isNewestFirst ? own.toReversed() : own, request, (action) => action);
  };
}

export function actionHandlers(project: Project): Handlers {
  const { actions } = project;
  return {
    // Without meta. Unknown ids are left out. A lie applies as in other listings.
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
