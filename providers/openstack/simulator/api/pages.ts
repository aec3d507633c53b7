// Listing pages by marker, with a link to the next page, and the operations that use them.

import {
  type Answer,
  type OperationRequest,
  type Operations,
  type Records,
  Refused,
  readOperations,
  type Stored,
} from "#ccm/testing";

/** The largest page that the simulated services return. */
export interface PageSize {
  readonly pageSize: number;
}

/** Only the members that the query names, like `fields` of Neutron. */
function withFields(entry: unknown, fields: readonly string[]): unknown {
  if (fields.length === 0) return entry;
  return Object.fromEntries(Object.entries(Object(entry)).filter(([name]) => fields.includes(name)));
}

export function pageOf<T>(
  key: string,
  all: readonly T[],
  { url, query, lie }: OperationRequest,
  view: (entry: T) => unknown,
  { pageSize }: PageSize,
): Answer {
  const limit = Math.min(pageSize, Number(query.get("limit") ?? pageSize));
  const marker = query.get("marker");
  const idOf = (entry: T) => String((entry as { readonly id?: unknown }).id);
  const start = marker === null ? 0 : all.findIndex((entry) => idOf(entry) === marker) + 1;
  if (marker !== null && start === 0) throw new Refused(400, `marker [${marker}] not found`);
  const page = lie === "empty-list" ? [] : all.slice(start, start + limit);
  const last = page.at(-1);
  const next = new URL(url);
  if (last !== undefined) next.searchParams.set("marker", idOf(last));
  const isLast = last === undefined || start + limit >= all.length;
  const shown = page.map((entry) => withFields(view(entry), query.getAll("fields")));
  return {
    status: 200,
    body: { [key]: shown, ...(!isLast && { [`${key}_links`]: [{ rel: "next", href: next.href }] }) },
  };
}

/** Parameters that select nothing, because there is one project. */
const control = new Set(["limit", "marker", "fields", "project_id"]);

/** Whether the members of a record have the values of a query; a repeated parameter has several. */
export function matching(query: URLSearchParams): (record: unknown) => boolean {
  const wanted = [...new Set(query.keys()).difference(control)].map((name) => {
    const texts = query.getAll(name);
    // `loadbalancer_id` and `load_balancer_id` select by the entries of `loadbalancers`.
    const related = name.replace("load_b", "loadb").replace(/_id$/, "s");
    // `fixed_ips=ip_address=10.1.0.2` names a member of the entries.
    return { name, related, texts, nested: texts[0]?.split("=") ?? [] };
  });
  return (record) => wanted.every((one) => hasValue(record as Readonly<Record<string, unknown>>, one));
}

interface Wanted {
  readonly name: string;
  readonly related: string;
  readonly texts: readonly string[];
  readonly nested: readonly string[];
}

function hasValue(
  record: Readonly<Record<string, unknown>>,
  { name, related, texts, nested: [member = "", text] }: Wanted,
): boolean {
  const own = record[name];
  // Most values are texts, and a listing compares thousands of them.
  if (typeof own === "string") return texts.includes(own);
  const entries = record[related] as readonly { readonly id: string }[] | undefined;
  const value = own ?? (Array.isArray(entries) ? entries.map(({ id }) => id) : undefined);
  if (text !== undefined && Array.isArray(value)) return value.some((one) => one[member] === text);
  const values: readonly unknown[] = Array.isArray(value) ? value : [value];
  return texts.some((wanted) => values.some((one) => String(one) === wanted));
}

/** `GET /things` and `GET /things/{id}`. */
export function reads<T extends Stored>(
  path: string,
  names: readonly [plural: string, singular: string],
  records: Records<T>,
  size: PageSize,
  view: (record: T) => unknown = (record) => record,
): Operations {
  return readOperations(path, names, { records, view }, (key, all, request, show) =>
    pageOf(key, all.filter(matching(request.query)), request, show, size),
  );
}

/** The versions that a service's root lists; the last is the current version. Clients find the URL of `v2.0` there. */
export function versions(root: string, ids: readonly string[]): Answer {
  const links = [{ rel: "self", href: `${root}v2.0` }];
  const all = ids.map((id) => ({ id, status: id === ids.at(-1) ? "CURRENT" : "SUPPORTED", links }));
  return { status: 200, body: { versions: all } };
}
