// The REST API of the tags, which has separate sessions.

import { type Answer, Refused, type SimulatedRequest } from "#ccm/testing";
import type { Sessions } from "../state/sessions.ts";
import type { TagStore } from "../state/tags.ts";

const base = "/rest/com/vmware/cis/";

export interface TagContext {
  readonly tags: TagStore;
  readonly sessions: Sessions;
  /** Sessions of the SOAP API, if they are valid here as well. */
  readonly soapSessions: Sessions | undefined;
}

const value = (content: unknown): Answer => ({ status: 200, body: { value: content } });

function logIn({ authorization = "" }: SimulatedRequest, { sessions }: TagContext): Answer {
  const decoded = Buffer.from(authorization.replace(/^Basic /, ""), "base64").toString();
  const at = decoded.indexOf(":");
  const user = decoded.slice(0, at);
  if (!sessions.accepts(user, decoded.slice(at + 1))) throw new Refused(401, "Authentication required.");
  return value(sessions.open(user));
}

function attached({ body }: SimulatedRequest, { tags }: TagContext): Answer {
  const { object_ids: objects = [] } = Object(body) as {
    object_ids?: readonly { id: string; type: string }[];
  };
  return value(objects.map((object) => ({ object_id: object, tag_ids: tags.attached.get(object.id) ?? [] })));
}

/** The operation of a request, as recorded in `seen`. */
export function restOperation({ method, url }: Pick<SimulatedRequest, "method" | "url">): string {
  if (!url.pathname.startsWith(base)) return `${method} ${url.pathname.slice(1)}`;
  const [, path = ""] = /^(?:tagging\/)?([^/]*)/.exec(url.pathname.slice(base.length)) ?? [];
  const action = url.searchParams.get("~action");
  return action === null ? `${method} ${path}` : `${method} ${path} ${action}`;
}

export function answerRest(request: SimulatedRequest, context: TagContext): Answer {
  const { tags, sessions, soapSessions } = context;
  const operation = restOperation(request);
  if (operation === "POST session") return logIn(request, context);
  const key = request.header?.("vmware-api-session-id") ?? "";
  if ((sessions.use(key) ?? soapSessions?.use(key)) === undefined)
    throw new Refused(401, "Authentication required.");
  const id = decodeURIComponent(/id:(.*)$/.exec(request.url.pathname)?.[1] ?? "");
  switch (operation) {
    case "DELETE session":
      sessions.end(key);
      return { status: 200 };
    case "POST tag-association list-attached-tags-on-objects":
      return attached(request, context);
    case "GET tag": {
      const tag = tags.tags.get(id);
      if (tag === undefined) throw new Refused(404, "not found");
      return value({ id, name: tag.name, category_id: tag.category });
    }
    case "GET category": {
      const category = tags.categories.get(id);
      if (category === undefined) throw new Refused(404, "not found");
      return value({ id, name: category.name });
    }
    default:
      throw new Refused(404, "not found");
  }
}
