// The requests that all kinds of resources have: a listing, one resource, and its change.

import type { Answer } from "#ccm/testing";
import { notFound } from "../base/answer.ts";
import { BodyReader } from "../base/body-reader.ts";
import type { Collection } from "../base/collection.ts";
import { choose, type Labels, pageOf } from "../base/listing.ts";
import type { ApiRequest, Handlers } from "./request.ts";

interface Resource {
  readonly id: number;
  readonly name: string;
  readonly created: string;
  readonly labels: Labels;
}

interface ResourceRules<T extends Resource> {
  /** A resource as the API shows it. */
  view(resource: T): unknown;
  /** A query parameter by which listings choose, besides name and labels, and the member of a resource with the value. */
  readonly filter?: readonly [parameter: string, member: keyof T];
  /** Checks a name. */
  name?(name: string, body: BodyReader): void;
  /** Further members that a change has; called before the body is complete. Throws a Refusal if nothing may change now. */
  change?(before: T, body: BodyReader): Partial<T>;
}

/** `GET /servers`, `GET /servers/{id}` and `PUT /servers/{id}`. */
export function resourceHandlers<T extends Resource>(
  path: string,
  collection: Collection<T>,
  { view, filter, name: checkName, change }: ResourceRules<T>,
): Handlers {
  const { kind } = collection;
  const shown = ({ id, isHidden }: ApiRequest): Answer => {
    const resource = collection.existing(id);
    if (isHidden(resource)) throw notFound(kind, id);
    return { status: 200, body: { [kind]: view(resource) } };
  };
  const isChosen = (resource: T, query: URLSearchParams): boolean => {
    const values = filter === undefined ? [] : query.getAll(filter[0]);
    return values.length === 0 || (filter !== undefined && values.includes(String(resource[filter[1]])));
  };
  return {
    [`GET /${path}`]: (request) => {
      const { query, isHidden } = request;
      const visible = choose(collection.listed(), query).filter(
        (each) => isChosen(each, query) && !isHidden(each),
      );
      return pageOf(path, visible, request, view);
    },
    [`GET /${path}/{id}`]: shown,
    [`PUT /${path}/{id}`]: (request) => {
      const before = collection.existing(request.id);
      const body = new BodyReader(request.body);
      const name = body.text("name") ?? before.name;
      const labels = body.labels() ?? before.labels;
      checkName?.(name, body);
      const more = change?.(before, body);
      body.done();
      collection.refuseUsedName(name, request.id);
      collection.change(request.id, { ...more, name, labels } as Partial<T>);
      return shown(request);
    },
  };
}
