// Where a resource, an object or a subresource is: pure text, no request.

import type { KubeObject } from "./objects.ts";
import type { Resource } from "./resources.ts";

export interface ObjectKey {
  readonly name: string;
  readonly namespace?: string;
}

export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

/** `namespace/name`, or the name alone: the key of stores, queues and messages. */
export function keyOf({ name, namespace }: ObjectKey): string {
  return namespace === undefined || namespace === "" ? name : `${namespace}/${name}`;
}

export function resourcePath<T extends KubeObject>(
  resource: Resource<T>,
  where: { readonly namespace?: string; readonly name?: string; readonly subresource?: string } = {},
): string {
  const root =
    resource.group === "" ? `/api/${resource.version}` : `/apis/${resource.group}/${resource.version}`;
  const parts = [root];
  if (resource.namespaced && where.namespace !== undefined && where.namespace !== "") {
    parts.push("namespaces", encodeURIComponent(where.namespace));
  }
  parts.push(resource.plural);
  if (where.name !== undefined) parts.push(encodeURIComponent(where.name));
  if (where.subresource !== undefined) parts.push(where.subresource);
  return parts.join("/");
}

export function withQuery(path: string, query: Query | undefined): string {
  if (query === undefined) return path;
  const pairs = Object.entries(query)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => `${key}=${encodeURIComponent(String(value))}`);
  return pairs.length === 0 ? path : `${path}?${pairs.join("&")}`;
}
