// Reads all objects of a resource, page by page, for commands that need them once.

import { defined } from "../../core/defined.ts";
import type { KubeObject } from "../objects.ts";
import type { Resource } from "../resources.ts";
import type { KubeApi, ListOptions } from "./api.ts";

export const pageSize = 500;

/** The pages of a list, one after the other. */
export async function* listPages<T extends KubeObject>(
  api: Pick<KubeApi, "listPage">,
  resource: Resource<T>,
  options: Pick<ListOptions, "namespace" | "fieldSelector">,
  signal: AbortSignal,
): AsyncGenerator<readonly T[]> {
  let limit = pageSize;
  let next: string | undefined;
  do {
    const page = await api.listPage(resource, defined({ ...options, limit, continue: next }), signal);
    yield page.items;
    next = page.continue;
    limit = page.limit ?? limit;
  } while (next !== undefined && next !== "");
}

/** Lists the objects in all namespaces, or in the given namespace. */
export async function listAll<T extends KubeObject>(
  api: Pick<KubeApi, "listPage">,
  resource: Resource<T>,
  signal: AbortSignal,
  namespace?: string,
): Promise<readonly T[]> {
  const all: T[] = [];
  for await (const items of listPages(api, resource, defined({ namespace }), signal)) all.push(...items);
  return all;
}
