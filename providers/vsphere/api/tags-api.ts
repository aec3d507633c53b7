// The tags of a vCenter, read with its REST API. The names of tags and categories are read once for each connection.

import { type Call, ifFound, type JsonRequest, jsonApi, type Secret } from "#ccm";
import type { Endpoint, Reference } from "./vim.ts";

export interface Tag {
  readonly name: string;
  readonly category: string;
}

/** The path prefix of the API. */
export const restPath = "/rest/";
const session = `${restPath}com/vmware/cis/session`;
const tagging = `${restPath}com/vmware/cis/tagging`;

/** Adds a session to a request. */
export const withTagSession = <R extends Pick<JsonRequest, "headers">>(request: R, token: string): R => ({
  ...request,
  headers: { ...request.headers, "vmware-api-session-id": token },
});

async function read<T>(endpoint: Endpoint, request: JsonRequest, call: Call): Promise<T> {
  const whole = { mutates: false, expects: ["value"], ...request };
  return (await jsonApi(endpoint).call<{ readonly value: T }>(whole, call)).value;
}

/** Begins a session and returns its token. `endpoint` adds no session. */
export function openTagSession(
  endpoint: Endpoint,
  { user, password }: { readonly user: string; readonly password: Secret },
  call: Call,
): Promise<string> {
  const bytes = new TextEncoder().encode(`${user}:${password.reveal()}`);
  const headers = { authorization: `Basic ${bytes.toBase64()}` };
  return read<string>(endpoint, { operation: "POST session", method: "POST", path: session, headers }, call);
}

/** Ends the session; has no effect if it has already ended. */
export async function endTagSession({ base, transport }: Endpoint, token: string, call: Call): Promise<void> {
  const api = jsonApi({
    base,
    transport,
    readError: (_, status) => (status === 401 ? { kind: "not-found" } : {}),
  });
  const request: JsonRequest = {
    operation: "DELETE session",
    method: "DELETE",
    path: session,
    mutates: false,
  };
  await ifFound(api.call(withTagSession(request, token), call));
}

export class TagsApi {
  readonly #endpoint: Endpoint;
  /** Tags by id. */
  readonly #tags = new Map<string, Tag>();
  readonly #categories = new Map<string, string>();

  constructor(endpoint: Endpoint) {
    this.#endpoint = endpoint;
  }

  /** The tags of each object, by reference value. Sends one request, and one more for each new tag and category. */
  async attached(objects: readonly Reference[], call: Call): Promise<ReadonlyMap<string, readonly Tag[]>> {
    if (objects.length === 0) return new Map();
    const listed = await read<
      readonly { readonly object_id: { readonly id: string }; readonly tag_ids: readonly string[] | null }[]
    >(
      this.#endpoint,
      {
        operation: "POST tag-association list-attached-tags-on-objects",
        method: "POST",
        path: `${tagging}/tag-association?~action=list-attached-tags-on-objects`,
        body: { object_ids: objects.map(({ type, value }) => ({ type, id: value })) },
      },
      call,
    );
    const attached = listed.map(({ object_id: { id }, tag_ids: ids }) => ({ id, ids: ids ?? [] }));
    await this.#learn(new Set(attached.flatMap(({ ids }) => ids)), call);
    return new Map(attached.map(({ id, ids }) => [id, ids.flatMap((tag) => this.#tags.get(tag) ?? [])]));
  }

  /** Reads the names of tags. A tag that was removed in the meantime has none. */
  async #learn(ids: ReadonlySet<string>, call: Call): Promise<void> {
    const unknown = [...ids].filter((id) => !this.#tags.has(id));
    const tags = await Promise.all(
      unknown.map(async (id) => ({
        id,
        tag: await this.#find<{ readonly name: string; readonly category_id: string }>("tag", id, call),
      })),
    );
    const categories = new Set(tags.flatMap(({ tag }) => tag?.category_id ?? []));
    await Promise.all(
      [...categories]
        .filter((id) => !this.#categories.has(id))
        .map(async (id) => {
          const found = await this.#find<{ readonly name: string }>("category", id, call);
          if (found !== undefined) this.#categories.set(id, found.name);
        }),
    );
    for (const { id, tag } of tags) {
      const category = tag && this.#categories.get(tag.category_id);
      if (tag !== undefined && category !== undefined) this.#tags.set(id, { name: tag.name, category });
    }
  }

  #find<T>(kind: "tag" | "category", id: string, call: Call): Promise<T | undefined> {
    const path = `${tagging}/${kind}/id:${encodeURIComponent(id)}`;
    return ifFound(read<T>(this.#endpoint, { operation: `GET ${kind}`, method: "GET", path }, call));
  }
}
