// The requests that all kinds of resources have: a listing, one resource, its creation, change and deletion, and its actions.

import type { Answer } from "#ccm/testing";
import { notFound, Refusal } from "../base/answer.ts";
import { BodyReader } from "../base/body-reader.ts";
import type { Collection } from "../base/collection.ts";
import { choose, type Labels, pageOf } from "../base/listing.ts";
import type { Project } from "../state/project.ts";
import { type ApiRequest, type Handlers, refuseLocked, startAction } from "./request.ts";

interface Resource {
  readonly id: number;
  readonly name: string;
  readonly created: string;
  readonly labels: Labels;
  /** Whether the deletion is protected; if unset, it cannot be protected. */
  readonly isProtected?: boolean;
}

/** The outcome of an action request. */
export interface ActionWork<T> {
  /** If unset, the name of the action. */
  readonly command?: string;
  /** The network that the resource joins or leaves. */
  readonly network?: number;
  /** The server that the resource joins or leaves; it is locked, too. */
  readonly server?: number;
  /** The values while the action runs. */
  readonly during?: Partial<T> | undefined;
  /** The change that takes effect when the action ends. */
  readonly end: (now: T) => Partial<T>;
  /** Called instead of `end` when the action fails. */
  readonly fail?: () => void;
  /** Further members of the response. */
  readonly more?: object;
}

/** The rules by name of the action. Each checks the request, and throws a Refusal if the action cannot start. */
export type ActionRules<T> = Readonly<Record<string, (before: T, body: BodyReader) => ActionWork<T>>>;

interface ResourceRules<T extends Resource> {
  /** A resource as the API shows it. */
  view(resource: T): unknown;
  /** Checks a changed name. */
  name?(name: string, body: BodyReader): void;
  /** Throws a Refusal if nothing may change at this time. */
  change?(before: T): void;
  /** Stores a new resource. Returns its id, and the further members of the response. */
  create(body: BodyReader): { readonly id: number; readonly more?: object };
  /** Deletes a resource that is neither protected nor locked. */
  remove(resource: T): Answer;
  readonly actions?: ActionRules<T>;
}

function actionHandlersOf<T extends Resource>(
  project: Project,
  path: string,
  collection: Collection<T>,
  rules: ActionRules<T>,
): Handlers {
  const entries = Object.entries(rules).map(([name, rule]) => [
    `POST /${path}/{id}/actions/${name}`,
    ({ id, body: raw }: ApiRequest): Answer => {
      const work = rule(collection.existing(id), new BodyReader(raw));
      const { command = name, network, server, during, end, fail, more } = work;
      const resource = { type: collection.kind, id };
      const locks = server === undefined ? [resource] : [resource, { type: "server" as const, id: server }];
      const resources = network === undefined ? locks : [...locks, { type: "network" as const, id: network }];
      const answer = startAction(project, {
        command,
        resources,
        locks,
        end: () => collection.change(id, end(collection.existing(id))),
        ...(fail && { fail }),
      });
      if (during !== undefined && project.actions.isLocked(resource)) collection.change(id, during);
      return { ...answer, body: { ...Object(answer.body), ...more } };
    },
  ]);
  return Object.fromEntries(entries);
}

/** `GET`, `POST`, `PUT` and `DELETE` of `/servers` and `/servers/{id}`, and `POST /servers/{id}/actions/…`. */
export function resourceHandlers<T extends Resource>(
  project: Project,
  path: string,
  collection: Collection<T>,
  { view, name: checkName, change, create, remove, actions = {} }: ResourceRules<T>,
): Handlers {
  const { kind } = collection;
  const shown = ({ id, isHidden }: ApiRequest): Answer => {
    const resource = collection.existing(id);
    if (isHidden(resource)) throw notFound(kind, id);
    return { status: 200, body: { [kind]: view(resource) } };
  };
  return {
    [`GET /${path}`]: (request) => {
      const visible = choose(collection.listed(), request.query).filter((each) => !request.isHidden(each));
      return pageOf(path, visible, request, view);
    },
    [`GET /${path}/{id}`]: shown,
    [`POST /${path}`]: ({ body }) => {
      const { id, more } = create(new BodyReader(body));
      return { status: 201, body: { [kind]: view(collection.existing(id)), ...more } };
    },
    [`PUT /${path}/{id}`]: (request) => {
      const before = collection.existing(request.id);
      const body = new BodyReader(request.body);
      const name = body.text("name") ?? before.name;
      const labels = body.labels() ?? before.labels;
      checkName?.(name, body);
      change?.(before);
      body.done();
      collection.refuseUsedName(name, request.id);
      collection.change(request.id, { name, labels } as Partial<T>);
      return shown(request);
    },
    [`DELETE /${path}/{id}`]: ({ id }) => {
      const resource = collection.existing(id);
      if (resource.isProtected === true)
        throw new Refusal("protected", `${collection.title} deletion is protected`);
      refuseLocked(project, { type: kind, id });
      return remove(resource);
    },
    ...actionHandlersOf(project, path, collection, actions),
  };
}
