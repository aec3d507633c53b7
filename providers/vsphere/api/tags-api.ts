// The tags of a vCenter, by its REST API, which has its own session. Names of tags and categories are read once for each connection.

import {
  type Call,
  type CloudTransport,
  type Context,
  ifFound,
  type JsonRequest,
  jsonApi,
  type OpenAccount,
  type Secret,
  type TlsMaterial,
} from "#ccm";
import type { Reference } from "./vim.ts";

/** How to reach the REST API of a vCenter. */
export interface TagsAccess {
  readonly name: string;
  readonly base: string;
  readonly tls: TlsMaterial | undefined;
  /** Begins a session. `plain` sends requests without one to the vCenter, `unsigned` to any server. */
  open(plain: CloudTransport, unsigned: CloudTransport, call: Call): Promise<TagSession>;
}

export interface TagSession {
  readonly sessionToken: string;
  end(call: Call): Promise<void>;
}

export interface Tag {
  readonly name: string;
  readonly category: string;
}

const sessionPath = "/rest/com/vmware/cis/session";
const tagging = "/rest/com/vmware/cis/tagging";

const withSession = (
  request: Pick<JsonRequest, "headers">,
  { sessionToken }: Pick<TagSession, "sessionToken">,
) => ({
  ...request.headers,
  "vmware-api-session-id": sessionToken,
});

async function readValue<T>(
  base: string,
  transport: CloudTransport,
  request: JsonRequest,
  call: Call,
): Promise<T> {
  const api = jsonApi({ base, transport });
  return (await api.call<{ readonly value: T }>({ mutates: false, expects: ["value"], ...request }, call))
    .value;
}

export async function openTagSession(
  base: string,
  transport: CloudTransport,
  { user, password }: { readonly user: string; readonly password: Secret },
  call: Call,
): Promise<TagSession> {
  const bytes = new TextEncoder().encode(`${user}:${password.reveal()}`);
  const authorization = `Basic ${bytes.toBase64()}`;
  const begin = {
    operation: "POST session",
    method: "POST",
    path: sessionPath,
    headers: { authorization },
  } as const;
  const sessionToken = await readValue<string>(base, transport, begin, call);
  const end = {
    operation: "DELETE session",
    method: "DELETE",
    path: sessionPath,
    mutates: false,
    headers: withSession({}, { sessionToken }),
  } as const;
  return {
    sessionToken,
    end: async (last) => void (await jsonApi({ base, transport }).call(end, last)),
  };
}

export class TagsApi {
  readonly #base: string;
  readonly #account: OpenAccount<TagSession>;
  readonly #tags = new Map<string, Promise<Tag | undefined>>();
  readonly #categories = new Map<string, Promise<string | undefined>>();
  #open: TagSession | undefined;

  constructor({ name, base, tls, open }: TagsAccess, account: Context["account"]) {
    this.#base = base;
    this.#account = account<TagSession>({
      name: `${name} tags`,
      fetch: async (unsigned, call) => {
        const plain: CloudTransport = (request, each, read) => unsigned({ ...request, tls }, each, read);
        this.#open = await open(plain, unsigned, call);
        return { value: this.#open };
      },
      sign: (request, session) => ({ ...request, tls, headers: withSession(request, session) }),
    });
  }

  /** The tags that are attached to each of the objects, by the value of its reference: one request, and one for each new tag and category. */
  async attached(objects: readonly Reference[], call: Call): Promise<ReadonlyMap<string, readonly Tag[]>> {
    if (objects.length === 0) return new Map();
    const listed = await this.#read<
      readonly { object_id: { id: string }; tag_ids: readonly string[] | null }[]
    >(
      {
        operation: "POST tag-association list-attached-tags-on-objects",
        method: "POST",
        path: `${tagging}/tag-association?~action=list-attached-tags-on-objects`,
        body: { object_ids: objects.map(({ type, value }) => ({ type, id: value })) },
      },
      call,
    );
    const entries = listed.map(async ({ object_id: { id }, tag_ids }) => {
      const tags = await Promise.all((tag_ids ?? []).map((tag) => this.#tag(tag, call)));
      return [id, tags.flatMap((tag) => tag ?? [])] as const;
    });
    return new Map(await Promise.all(entries));
  }

  /** Ends the session. */
  async close(call: Call): Promise<void> {
    const open = this.#open;
    this.#open = undefined;
    await open?.end(call);
  }

  #read<T>(request: JsonRequest, call: Call): Promise<T> {
    return readValue<T>(this.#base, this.#account.transport, request, call);
  }

  #tag(id: string, call: Call): Promise<Tag | undefined> {
    return keep(this.#tags, id, async () => {
      const found = await ifFound(
        this.#read<{ readonly name: string; readonly category_id: string }>(
          { operation: "GET tag", method: "GET", path: `${tagging}/tag/id:${encodeURIComponent(id)}` },
          call,
        ),
      );
      const category = found && (await this.#category(found.category_id, call));
      return found && category !== undefined ? { name: found.name, category } : undefined;
    });
  }

  #category(id: string, call: Call): Promise<string | undefined> {
    return keep(this.#categories, id, async () => {
      const request = {
        operation: "GET category",
        method: "GET",
        path: `${tagging}/category/id:${encodeURIComponent(id)}`,
      } as const;
      return (await ifFound(this.#read<{ readonly name: string }>(request, call)))?.name;
    });
  }
}

/** The result of `read` is kept and shared; failures and missing objects are not kept. */
function keep<T>(known: Map<string, Promise<T | undefined>>, id: string, read: () => Promise<T | undefined>) {
  const present = known.get(id);
  if (present !== undefined) return present;
  const forget = () => void known.delete(id);
  const reading = read();
  known.set(id, reading);
  reading.then((value) => value === undefined && forget(), forget);
  return reading;
}
