// A JSON API client for providers: a request returns the parsed body or throws a CloudError of the right kind. It does not
// retry or wait: the framework does.

import { defined } from "../core/defined.ts";
import { type Moment, momentOfSeconds, retryAfterIn } from "../core/duration.ts";
import { messageOf } from "../core/error-message.ts";
import { willRetry } from "../core/retry-promise.ts";
import { cutText, describePage } from "../core/text.ts";
import type { Call, CloudRequest, CloudTransport } from "../provider/call.ts";
import { CloudError, type CloudErrorKind } from "../provider/errors.ts";
import { abortable } from "../runtime/abortable.ts";

/** Query parameters. An undefined value is omitted. A list repeats the parameter; use `join(",")` for a list in one value. */
export type Query = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;

/** A `JsonApi` request. */
export interface JsonRequest {
  /** The cloud's name of the operation, as in the cloud's documentation; shown in metrics, plans and errors. */
  readonly operation: string;
  readonly method: "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Appended to the base. A complete URL, such as the next link of a listing, must have the base's origin. */
  readonly path: string;
  readonly query?: Query | undefined;
  /** Sent as JSON, or in `JsonApiOptions.format`. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /**
   * Members that the body of a successful response must have, such as `["ticket"]`: null counts, undefined does not. A response
   * without them does not come from the API but from a proxy, for example, and the request fails as `unavailable`. With an empty
   * list, there must be no body. If unset, members are not checked.
   */
  readonly expects?: readonly string[] | undefined;
  /** Whether the request changes anything. Default: every method except GET and HEAD. */
  readonly mutates?: boolean | undefined;
}

/**
 * A request whose operation contains its method and path. The values in braces are encoded.
 *
 * @example
 * requestTo("POST /servers/{id}/actions", { id }, { type: "stop" })
 */
export function requestTo(
  operation: string,
  values: Readonly<Record<string, string | number>> = {},
  body?: object,
): JsonRequest {
  const [method = "", path = ""] = operation.split(" ");
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name) => encodeURIComponent(values[name] ?? ""));
  return { operation, method: method as JsonRequest["method"], path: filled, body };
}

/** How bodies are written and read. */
export interface BodyFormat {
  /** The name in messages, such as "JSON". */
  readonly name: string;
  readonly accept: string;
  readonly contentType: string;
  write(body: unknown): string;
  /** Throws if the text is in a different format. */
  parse(text: string): unknown;
}

const jsonFormat: BodyFormat = {
  name: "JSON",
  accept: "application/json",
  contentType: "application/json",
  write: (body) => JSON.stringify(body),
  parse: (text) => JSON.parse(text),
};

/** The content of an error body: its message, and the kind of error if it is more precise than the status. */
export interface ErrorReport {
  readonly message?: string | undefined;
  /** See `CloudErrorDetail.code`. */
  readonly code?: string | undefined;
  readonly kind?: CloudErrorKind | undefined;
  /** `account` if a rate limit applies to the whole account and not only to this operation. Ignored for all other kinds. */
  readonly scope?: "operation" | "account" | undefined;
}

/** Options of `jsonApi`. */
export interface JsonApiOptions {
  /** The URL to which paths are appended. */
  readonly base: string;
  /** The transport from `context.account(…)`. */
  readonly transport: CloudTransport;
  /**
   * The format of APIs with other bodies, such as forms and XML, which are parsed into the same values as JSON. Default: JSON.
   */
  readonly format?: BodyFormat;
  /**
   * Reads an error body. Undefined if the response is not an error of this API, for example a proxy's page. By default, any JSON
   * object is an error. Without a `message`, the message in the body or in its `error` is used. Without a `kind`, the status
   * decides: 401 `unauthorized`, 403 `forbidden`, 404 and 410 `not-found`, 409 and 412 `conflict`, 423 `busy`, 429
   * `rate-limited`, 407, 408 and 5xx `unavailable`, any other `invalid`. For a 403 that means a rate limit, return
   * `rate-limited`, and `scope: "account"` if it concerns all operations.
   */
  readonly readError?: (body: unknown, status: number) => ErrorReport | undefined;
  /** Response headers with the cloud's request id; the first one present is used. */
  readonly requestIDHeaders?: readonly string[];
}

/** A response with its parsed body. */
export interface JsonAnswer<T> {
  readonly body: T;
  readonly headers: Headers;
  readonly status: number;
}

/** The client that `jsonApi` returns. */
export interface JsonApi {
  /** Sends a request and returns the parsed body; undefined for a response without a body. */
  call<T>(request: JsonRequest, call: Call): Promise<T>;
  /** Like `call`, with headers and status, for clouds that send links or revisions in headers. */
  answer<T>(request: JsonRequest, call: Call): Promise<JsonAnswer<T>>;
}

const defaultRequestIDHeaders = ["x-request-id", "x-correlation-id", "x-openstack-request-id"];

const isObject = (body: unknown): boolean => typeof body === "object" && body !== null;

const anyObject = (body: unknown): ErrorReport | undefined => (isObject(body) ? {} : undefined);

function urlOf(base: string, { path, query = {}, operation }: JsonRequest): string {
  const url = new URL(/^https?:/i.test(path) ? path : base.replace(/\/+$/, "") + path);
  if (url.origin !== new URL(base).origin) {
    throw new CloudError(
      "unavailable",
      `${operation}: the response links to ${url.host}, but requests are only sent to ${new URL(base).host}. The link is not followed.`,
      {
        operation,
      },
    );
  }
  for (const [key, value] of Object.entries(query)) {
    if (value === undefined) continue;
    for (const one of Array.isArray(value) ? value : [value]) url.searchParams.append(key, String(one));
  }
  return url.href;
}

function hasMember(body: unknown, name: string): boolean {
  return isObject(body) && (body as Readonly<Record<string, unknown>>)[name] !== undefined;
}

/** Removes userinfo, which may contain a password. */
function withoutQuery(url: string): string {
  const { origin, pathname } = new URL(url);
  return origin + pathname;
}

function messageIn(body: unknown): string | undefined {
  if (!isObject(body)) return undefined;
  const { error, message } = body as { error?: unknown; message?: unknown };
  return typeof message === "string" ? message : typeof error === "string" ? error : messageIn(error);
}

const promises: Readonly<Partial<Record<CloudErrorKind, string>>> = {
  "rate-limited": willRetry,
  unavailable: willRetry,
};

/** An explanation for the operator that precedes the cloud's message; undefined if the message suffices. */
function failureText(kind: CloudErrorKind, operation: string, from: string): string | undefined {
  switch (kind) {
    case "unauthorized":
      return `The cloud rejected the credentials (${from}).`;
    case "forbidden":
      return `The cloud refused ${operation} (${from}).`;
    case "rate-limited":
      return `The cloud refused the request because of its rate limit (${from}), which all programs with the same project or account share.`;
    case "unavailable":
      return `The cloud did not serve the request (${from}).`;
    default:
      return undefined;
  }
}

/**
 * A client for a JSON API. Every failure is a CloudError: its kind comes from the status, or from `readError`; an error response
 * that does not come from the API but from a proxy, for example, is `unavailable`, never `not-found`.
 *
 * @example
 * const api = jsonApi({ base: "https://api.example.com/v1", transport });
 * const { server } = await api.call<{ server: ApiServer }>(
 *   { operation: "GET /servers/{id}", method: "GET", path: `/servers/${id}` },
 *   call,
 * );
 */
export function jsonApi(options: JsonApiOptions): JsonApi {
  const { base, transport, readError = anyObject, format = jsonFormat } = options;
  const requestIDHeaders = options.requestIDHeaders ?? defaultRequestIDHeaders;

  const read = async <T>(
    { operation, method, url }: CloudRequest,
    response: Response,
    expects: JsonRequest["expects"],
  ): Promise<JsonAnswer<T>> => {
    const { status, headers } = response;
    const requestID = requestIDHeaders.map((name) => headers.get(name)).find((id) => id !== null);
    const fail = (
      kind: CloudErrorKind,
      text: string,
      report: ErrorReport = {},
      promise?: string,
    ): CloudError => {
      const mayNameTime = kind === "rate-limited" || status === 503;
      const retryAfter = mayNameTime ? retryMoment(headers, kind === "rate-limited") : undefined;
      return new CloudError(kind, cutText(text), {
        operation,
        status,
        ...defined({ requestID: requestID ? cutText(requestID) : undefined, retryAfter }),
        ...defined({ scope: report.scope, code: report.code, promise }),
      });
    };

    const raw = await response.text();
    const page = describePage(raw);
    let body: unknown;
    let isBroken = false;
    try {
      body = raw.trim() === "" ? undefined : format.parse(raw);
    } catch {
      // The parser's message quotes the body, which may contain secrets.
      isBroken = true;
    }
    if (status >= 200 && status < 300) {
      if (isBroken)
        throw fail(
          "unavailable",
          page === undefined
            ? `${operation} returned invalid ${format.name} (${raw.length} characters).`
            : `${operation} returned ${page} instead of ${format.name}; check the endpoint, and for a proxy.`,
        );
      if (body === undefined && method === "GET")
        throw fail("unavailable", `${operation} returned an empty body.`);
      if (expects?.length === 0 && body !== undefined)
        throw fail("unavailable", `${operation} returned a body where none is expected; check for a proxy.`);
      const missing = expects?.find((name) => !hasMember(body, name));
      if (missing !== undefined)
        throw fail("unavailable", `${operation} returned a body without "${missing}"; check for a proxy.`);
      return { body: body as T, headers, status };
    }
    const report = isBroken || !isObject(body) ? undefined : readError(body, status);
    const isFromApi = report !== undefined;
    const message = report?.message ?? (isFromApi ? messageIn(body) : undefined);
    const kind = report?.kind ?? kindOfStatus(status, isFromApi);
    const foreign =
      page === undefined ? "the response does not come from the cloud API" : `the response is ${page}`;
    const reason = message ?? (isFromApi ? "no reason given." : `${foreign}; check for a proxy.`);
    const from = `${status} from ${method} ${withoutQuery(url)}: ${reason.replace(/\.$/, "")}`;
    throw fail(
      kind,
      failureText(kind, operation, from) ?? `${operation} failed with ${status}: ${reason}`,
      report,
      promises[kind],
    );
  };

  const answer = async <T>(request: JsonRequest, call: Call): Promise<JsonAnswer<T>> => {
    const { operation, method, body, expects, mutates = method !== "GET" && method !== "HEAD" } = request;
    const sent: CloudRequest = {
      operation,
      mutates,
      method,
      url: urlOf(base, request),
      headers: {
        accept: format.accept,
        ...defined({ "content-type": body === undefined ? undefined : format.contentType }),
        ...request.headers,
      },
      ...defined({ body: body === undefined ? undefined : format.write(body) }),
    };
    try {
      call.signal.throwIfAborted();
      const response = transport(sent, call, (response) => read<T>(sent, response, expects));
      return await abortable(response, call.signal);
    } catch (error) {
      if (CloudError.is(error) || call.signal.aborted) throw error;
      const text = cutText(messageOf(error));
      throw new CloudError("unavailable", `${operation}: ${text}`, { operation, cause: error });
    }
  };

  return {
    answer,
    call: async <T>(request: JsonRequest, call: Call) => (await answer<T>(request, call)).body,
  };
}

const objectStatuses: ReadonlyMap<number, CloudErrorKind> = new Map([
  [400, "invalid"],
  [404, "not-found"],
  [409, "conflict"],
  [410, "not-found"],
  [412, "conflict"],
  [422, "invalid"],
  [423, "busy"],
]);

const callerStatuses: ReadonlyMap<number, CloudErrorKind> = new Map([
  [401, "unauthorized"],
  [403, "forbidden"],
  [407, "unavailable"],
  [408, "unavailable"],
  [429, "rate-limited"],
]);

/**
 * Maps an HTTP status to the kind of CloudError. Statuses about the requested object count only if the cloud API itself sent
 * them, because proxies return 404 and 400.
 */
function kindOfStatus(status: number, isFromApi: boolean): CloudErrorKind {
  const callerKind = callerStatuses.get(status);
  if (callerKind !== undefined) return callerKind;
  if (!isFromApi) return "unavailable";
  return objectStatuses.get(status) ?? (status >= 400 && status < 500 ? "invalid" : "unavailable");
}

/**
 * `Retry-After` in either form, otherwise the reset time of a rate limit. Many clouds send the reset time with every response, so it
 * counts only when the limit is used up. Points in time are not converted to delays, because only the framework has a clock.
 */
function retryMoment(headers: Headers, quotaIsUsedUp: boolean): Moment | undefined {
  const after = retryAfterIn(headers);
  if (after !== undefined || !quotaIsUsedUp) return after;
  for (const name of ["ratelimit-reset", "x-ratelimit-reset"]) {
    const seconds = Number.parseFloat(headers.get(name) ?? "");
    if (Number.isFinite(seconds)) return momentOfSeconds(seconds);
  }
  return undefined;
}
