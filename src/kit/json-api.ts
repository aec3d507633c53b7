// One JSON request to a cloud: what comes back is its body, and whatever goes wrong is a CloudError of the right kind. It
// neither retries nor waits nor checks the shape of what came: the framework and the provider do.

import { messageOf } from "../core/message-of.ts";
import type { Secret } from "../core/secret.ts";
import type { Call, CloudRequest, CloudTransport } from "../provider/call.ts";
import { CloudError, type CloudErrorKind } from "../provider/errors.ts";
import { abortable } from "../runtime/abortable.ts";
import { cutText } from "./cut-text.ts";
import { kindOfStatus } from "./error-kind.ts";
import { retryMoment } from "./retry-moment.ts";

export type QueryValue = string | number | boolean | readonly string[] | undefined;

export interface JsonRequest {
  readonly operation: string;
  readonly method: "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Appended to the base; a whole URL (as links of a listing are) must be on the base's origin. */
  readonly path: string;
  readonly query?: Readonly<Record<string, QueryValue>>;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Absent: everything but GET and HEAD. */
  readonly mutates?: boolean;
}

/** What the cloud says about a failure, in its own format; `kind` where it knows better than the status. */
export interface ErrorWords {
  readonly message?: string;
  readonly kind?: CloudErrorKind;
}

export interface JsonApiOptions {
  readonly base: string;
  readonly transport: CloudTransport;
  /** Further headers for each request; the credential is better put on by the account's `sign`. */
  readonly authorize?: (call: Call) => Promise<Readonly<Record<string, string>>>;
  /** Is this body an error of this API? Without it every JSON object is taken for one. */
  readonly looksOurs?: (body: unknown) => boolean;
  readonly readError?: (body: unknown, status: number) => ErrorWords;
  /** Response headers that hold the cloud's id of the request; the first one present counts. */
  readonly requestIDHeaders?: readonly string[];
  /** Taken out of every message. */
  readonly secrets?: readonly Secret[];
}

export interface JsonAnswer<T> {
  readonly body: T;
  readonly headers: Headers;
  readonly status: number;
}

export interface JsonApi {
  /** The body; undefined where the cloud answers without one. */
  call<T>(request: JsonRequest, call: Call): Promise<T>;
  /** For clouds that say something in headers: links, revisions. */
  answer<T>(request: JsonRequest, call: Call): Promise<JsonAnswer<T>>;
}

const usualRequestIDHeaders = ["x-request-id", "x-correlation-id", "x-openstack-request-id"];

const isObject = (body: unknown): boolean => typeof body === "object" && body !== null;

function urlOf(base: string, { path, query = {}, operation }: JsonRequest): string {
  const url = new URL(/^https?:/i.test(path) ? path : base.replace(/\/+$/, "") + path);
  if (url.origin !== new URL(base).origin) {
    throw new CloudError("unavailable", `${operation}: the cloud links to ${url.host}, which is not asked.`, {
      operation,
    });
  }
  for (const [key, value] of Object.entries(query)) {
    if (value === undefined) continue;
    for (const one of Array.isArray(value) ? value : [value]) url.searchParams.append(key, String(one));
  }
  return url.href;
}

function messageIn(body: unknown): string | undefined {
  if (!isObject(body)) return undefined;
  const { error, message } = body as { error?: unknown; message?: unknown };
  return typeof message === "string" ? message : typeof error === "string" ? error : messageIn(error);
}

export function jsonApi(options: JsonApiOptions): JsonApi {
  const { base, transport, authorize, looksOurs = isObject, readError, secrets = [] } = options;
  const requestIDHeaders = options.requestIDHeaders ?? usualRequestIDHeaders;

  const read = async <T>(
    { operation, method }: JsonRequest,
    response: Response,
    hidden: readonly string[],
  ): Promise<JsonAnswer<T>> => {
    const { status, headers } = response;
    const requestID = requestIDHeaders.map((name) => headers.get(name)).find((id) => id !== null);
    const fail = (kind: CloudErrorKind, words: string, cause?: unknown): CloudError => {
      const isAsked = kind === "rate-limited" || status === 503;
      const retryAfter = isAsked
        ? retryMoment(headers, { quotaIsUsedUp: kind === "rate-limited" })
        : undefined;
      return new CloudError(kind, `${operation}: ${cutText(words, hidden)}`, {
        operation,
        status,
        ...(requestID && { requestID: cutText(requestID, hidden) }),
        ...(retryAfter !== undefined && { retryAfter }),
        ...(cause !== undefined && { cause }),
      });
    };

    const raw = await response.text();
    let body: unknown;
    let isBroken = false;
    try {
      body = raw.trim() === "" ? undefined : JSON.parse(raw);
    } catch {
      // The parser's own message quotes the body, which may hold anything.
      isBroken = true;
    }
    if (status >= 200 && status < 300) {
      if (isBroken) throw fail("unavailable", `the answer (${raw.length} characters) is not whole JSON.`);
      if (body === undefined && method === "GET") throw fail("unavailable", "the answer is empty.");
      return { body: body as T, headers, status };
    }
    const isOurs = !isBroken && looksOurs(body);
    const words = isOurs ? readError?.(body, status) : undefined;
    const said = words?.message ?? (isOurs ? messageIn(body) : undefined);
    const reported = said ?? (isOurs ? "no reason given." : "the answer does not come from this API.");
    throw fail(words?.kind ?? kindOfStatus(status, isOurs), `answered ${status}: ${reported}`);
  };

  const answer = async <T>(request: JsonRequest, call: Call): Promise<JsonAnswer<T>> => {
    const { operation, method, body, mutates = method !== "GET" && method !== "HEAD" } = request;
    const extra = await authorize?.(call);
    const hidden = [
      ...secrets.map((secret) => secret.reveal()),
      ...Object.values(extra ?? {}).flatMap((value) => [value, value.replace(/^\S+\s+/, "")]),
    ];
    const sent: CloudRequest = {
      operation,
      mutates,
      method,
      url: urlOf(base, request),
      headers: {
        accept: "application/json",
        ...(body !== undefined && { "content-type": "application/json" }),
        ...request.headers,
        ...extra,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    };
    try {
      call.signal.throwIfAborted();
      const answered = transport(sent, call, (response) => read<T>(request, response, hidden));
      return await abortable(answered, call.signal);
    } catch (error) {
      if (CloudError.is(error) || call.signal.aborted) throw error;
      const said = messageOf(error);
      const words = cutText(said, hidden);
      // A cause that would show a secret is replaced by its cleaned words.
      const shows = hidden.some((secret) => secret !== "" && `${said}${String(error)}`.includes(secret));
      throw new CloudError("unavailable", `${operation}: ${words}`, {
        operation,
        cause: shows ? words : error,
      });
    }
  };

  return {
    answer,
    call: async <T>(request: JsonRequest, call: Call) => (await answer<T>(request, call)).body,
  };
}
