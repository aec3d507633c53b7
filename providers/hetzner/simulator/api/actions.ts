// Requests for actions: by ids, one by id, and those of resources.

import type { Answer } from "#ccm/testing";
import { invalid, notFound, Refusal } from "../base/answer.ts";
import type { ResourceType } from "../base/collection.ts";
import { pageOf } from "../base/listing.ts";
import type { ActionView } from "../state/actions.ts";
import type { Project } from "../state/project.ts";
import type { Handlers } from "./request.ts";

const fields = ["id", "command", "status", "started", "finished"] as const;

function compareBy(sort: string): (one: ActionView, other: ActionView) => number {
  const [name, direction = "asc"] = sort.split(":");
  const field = fields.find((each) => each === name);
  if (field === undefined) throw invalid("sort", `unknown sort ${JSON.stringify(sort)}`);
  const sign = direction === "desc" ? -1 : 1;
  return (one, other) => {
    const [a, b] = [one[field] ?? "", other[field] ?? ""];
    return a === b ? 0 : sign * (a < b ? -1 : 1);
  };
}

function chosen(actions: readonly ActionView[], query: URLSearchParams): readonly ActionView[] {
  const statuses = query.getAll("status");
  const ids = query.getAll("id");
  const sorts = query.getAll("sort").map(compareBy);
  return actions
    .filter(({ status }) => statuses.length === 0 || statuses.includes(status))
    .filter(({ id }) => ids.length === 0 || ids.includes(String(id)))
    .toSorted((one, other) => {
      for (const compare of sorts) {
        const order = compare(one, other);
        if (order !== 0) return order;
      }
      return one.id - other.id;
    });
}

const kinds: readonly (readonly [collection: string, type: ResourceType])[] = [
  ["servers", "server"],
  ["networks", "network"],
  ["load_balancers", "load_balancer"],
  ["certificates", "certificate"],
];

function one(actions: readonly ActionView[], id: number): Answer {
  const action = actions.find((each) => each.id === id);
  if (action === undefined) throw notFound("action", id);
  return { status: 200, body: { action } };
}

function handlersOf({ actions }: Project, [collection, type]: (typeof kinds)[number]): Handlers {
  const path = `/${collection}`;
  return {
    [`GET ${path}/actions`]: (request) =>
      pageOf("actions", chosen(actions.list(type), request.query), request, (action) => action),
    [`GET ${path}/actions/{id}`]: ({ id }) => one(actions.list(type), id),
    [`GET ${path}/{id}/actions`]: (request) =>
      pageOf("actions", chosen(actions.list(type, request.id), request.query), request, (action) => action),
    [`GET ${path}/{id}/actions/{action_id}`]: ({ id, actionID }) => one(actions.list(type, id), actionID),
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
    ...Object.assign({}, ...kinds.map((kind) => handlersOf(project, kind))),
  };
}
