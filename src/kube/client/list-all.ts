// Reads all objects of a resource, page by page, for commands that need them once.

import { defined } from "../../core/defined.ts";
import type { KubeObject } from "../objects.ts";
import type { Resource } from "../resources.ts";
import type { KubeApi } from "./api.ts";

export const pageSize = 500;

/** Lists the objects of all namespaces, or those of the one that is given. */
export async function listAll<T extends KubeObject>(
  api: Pick<KubeApi, "listPage">,
  resource: Resource<T>,
  signal: AbortSignal,
  namespace?: string,
): Promise<readonly T[]> {
  const all: T[] = [];
  let limit = pageSize;
  let next: string | undefined;
  do {
    const options = defined({ limit, namespace, continue: next });
    const page = await api.listPage(resource, options, signal);
    all.push(...page.items);
    next = page.continue;
    limit = page.limit ?? limit;
  } while (next !== undefined && next !== "");
  return all;
}
