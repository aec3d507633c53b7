// The inputs of a handler, and its means to start an action.

import type { Answer, ListLie } from "#ccm/testing";
import { Refusal } from "../base/answer.ts";
import type { ResourceRef } from "../base/collection.ts";
import type { ActionView, Work } from "../state/actions.ts";
import type { Project } from "../state/project.ts";

export interface ApiRequest {
  /** The id in the path. */
  readonly id: number;
  readonly query: URLSearchParams;
  readonly body: unknown;
  readonly lie?: ListLie | undefined;
  /** Whether a lie hides this resource from this request. */
  readonly isHidden: (resource: { readonly id: number; readonly name: string }) => boolean;
}

export type Handler = (request: ApiRequest) => Answer;

/** The handlers by operation, for example `GET /servers/{id}`. */
export type Handlers = Readonly<Record<string, Handler>>;

/** Rejects a change of a locked server, load balancer or certificate as `locked`, and one of a network as `conflict`. */
export function refuseLocked({ actions }: Project, resource: ResourceRef): void {
  if (!actions.isLocked(resource)) return;
  if (resource.type === "network")
    throw new Refusal("conflict", `network ${resource.id} is currently being changed`);
  throw new Refusal("locked", `cannot perform operation because ${resource.type} is locked`);
}

/** Starts an action that has no effect if its resource is deleted in the meantime. */
export function start(project: Project, work: Work): ActionView {
  const [resource] = work.resources;
  const isThere = () => resource === undefined || project.has(resource);
  return project.actions.start({
    ...work,
    end: () => {
      if (isThere()) work.end?.();
    },
    fail: (error) => {
      if (isThere()) work.fail?.(error);
    },
  });
}

/** Responds to a request for an action. The request is rejected while another action runs on a resource that it would change. */
export function startAction(project: Project, work: Work): Answer {
  for (const resource of work.locks ?? work.resources.slice(0, 1)) refuseLocked(project, resource);
  return { status: 201, body: { action: start(project, work) } };
}
