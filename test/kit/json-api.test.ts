// JSON requests: every kind of failure and its error.

import { expect, test } from "bun:test";
import { getEventListeners } from "node:events";
import { messageOf } from "../../src/core/error-message.ts";
import { type JsonApiOptions, type JsonRequest, jsonApi, requestTo } from "../../src/kit/json-api.ts";
import type { Call, CloudRequest, CloudTransport } from "../../src/provider/call.ts";
import { CloudError } from "../../src/provider/errors.ts";

const callOf = (signal = new AbortController().signal): Call => ({ signal, urgency: "refresh" });

const apiWith = (respond: () => Response | Promise<Response>, options: Partial<JsonApiOptions> = {}) => {
  const sent: CloudRequest[] = [];
  const transport: CloudTransport = async (request, _call, read) => {
    sent.push(request);
    return read(await respond());
  };
  return { sent, api: jsonApi({ base: "https://api.example/v1/", transport, ...options }) };
};

const get: JsonRequest = { operation: "GET /things", method: "GET", path: "/things" };

const failure = async (
  respond: () => Response | Promise<Response>,
  options?: Partial<JsonApiOptions>,
  request = get,
): Promise<CloudError> => {
  try {
    await apiWith(respond, options).api.call(request, callOf());
  } catch (error) {
    if (error instanceof CloudError) return error;
    throw error;
  }
  throw new Error("It did not fail.");
};

test("sends the query and a JSON body, and marks requests that change something", async () => {
  const { api, sent } = apiWith(() => Response.json({ ok: 1 }));
  await api.call({ ...get, query: { page: 2, name: ["a", "b c"], off: undefined } }, callOf());
  await api.call({ operation: "POST /things", method: "POST", path: "/things", body: { a: 1 } }, callOf());
  await api.call(
    { operation: "search", method: "POST", path: "/search", body: {}, mutates: false },
    callOf(),
  );
  expect(sent.map(({ url, mutates, body }) => [url, mutates, body])).toEqual([
    ["https://api.example/v1/things?page=2&name=a&name=b+c", false, undefined],
    ["https://api.example/v1/things", true, '{"a":1}'],
    ["https://api.example/v1/search", false, "{}"],
  ]);
});

test("follows complete links only on its own origin", async () => {
  const { api, sent } = apiWith(() => Response.json({}));
  await api.call({ ...get, path: "https://api.example/v1/things?page=2" }, callOf());
  expect(sent[0]?.url).toBe("https://api.example/v1/things?page=2");
  expect(api.call({ ...get, path: "https://evil.example/v1" }, callOf())).rejects.toThrow(
    "GET /things: the response links to evil.example, but requests are only sent to api.example. The link is not followed.",
  );
});

test("returns undefined for a response without a body, except for GET", async () => {
  const { api } = apiWith(() => new Response(null, { status: 204 }));
  const none = await api.call({ operation: "DELETE /x", method: "DELETE", path: "/x" }, callOf());
  expect(none).toBeUndefined();
  expect((await failure(() => new Response(""))).message).toBe("GET /things returned an empty body.");
});

const ours = { error: { code: "some_code", message: "because" } };
const readError = (body: unknown) =>
  typeof body === "object" && body !== null && "error" in body ? {} : undefined;

test.each([
  [400, "invalid", "unavailable"],
  [401, "unauthorized", "unauthorized"],
  [403, "forbidden", "forbidden"],
  [404, "not-found", "unavailable"],
  [405, "invalid", "unavailable"],
  [409, "conflict", "unavailable"],
  [410, "not-found", "unavailable"],
  [412, "conflict", "unavailable"],
  [422, "invalid", "unavailable"],
  [423, "busy", "unavailable"],
  [429, "rate-limited", "rate-limited"],
  [500, "unavailable", "unavailable"],
  [302, "unavailable", "unavailable"],
] as const)(
  "treats the status %p as %p from the API and as %p from a proxy",
  async (status, fromApi, fromProxy) => {
    const one = await failure(() => Response.json(ours, { status }), { readError });
    expect([one.kind, one.detail.status, messageOf(one)]).toEqual([
      fromApi,
      status,
      status === 401
        ? "The cloud rejected the credentials (401 from GET https://api.example/v1/things: because)."
        : status === 403
          ? "The cloud refused GET /things (403 from GET https://api.example/v1/things: because)."
          : fromApi === "rate-limited"
            ? "The cloud refused the request because of its rate limit (429 from GET https://api.example/v1/things: because), which all programs with the same project or account share. Fairlead will retry."
            : fromApi === "unavailable"
              ? `The cloud did not serve the request (${status} from GET https://api.example/v1/things: because). Fairlead will retry.`
              : `GET /things failed with ${status}: because`,
    ]);
    const page = () => new Response("<html>no such host</html>", { status });
    expect((await failure(page, { readError })).kind).toBe(fromProxy);
    const other = () => Response.json({ reason: "no route" }, { status });
    expect((await failure(other, { readError })).kind).toBe(fromProxy);
  },
);

test.each([
  ["<html><head><title>502 Bad\n Gateway</title></head></html>", 'a web page ("502 Bad Gateway")'],
  ["<!DOCTYPE html><html><body>Sign in</body></html>", "a web page"],
])("names a web page by its title instead of quoting its markup: %p", async (html, named) => {
  expect(messageOf(await failure(() => new Response(html, { status: 502 }), { readError }))).toBe(
    `The cloud did not serve the request (502 from GET https://api.example/v1/things: the response is ${named}; check for a proxy). Fairlead will retry.`,
  );
  expect((await failure(() => new Response(html))).message).toBe(
    `GET /things returned ${named} instead of JSON; check the endpoint, and for a proxy.`,
  );
});

test.each(["", '"not found"'])(
  "does not accept a 404 with the body %p as an API response, whatever readError returns",
  async (body) => {
    const error = await failure(() => new Response(body, { status: 404 }), {
      readError: () => ({ message: "gone" }),
    });
    expect(error.kind).toBe("unavailable");
  },
);

test("uses the error kind that the provider reads from the body", async () => {
  const readError = () => ({ kind: "quota", message: "no more than 5" }) as const;
  const error = await failure(() => Response.json(ours, { status: 403 }), { readError });
  expect([error.kind, error.message]).toEqual(["quota", "GET /things failed with 403: no more than 5"]);
});

test("reports the retry time of the cloud", async () => {
  const after = async (headers: Record<string, string>) =>
    (await failure(() => Response.json(ours, { status: 429, headers }))).detail.retryAfter;
  expect(await after({ "retry-after": "7" })).toEqual({ in: 7000 as never });
  expect(await after({ "retry-after": "Thu, 01 Jan 2026 00:00:10 GMT" })).toEqual({
    at: Date.UTC(2026, 0, 1, 0, 0, 10),
  });
  expect(await after({ "ratelimit-reset": "1767225610" })).toEqual({ at: 1_767_225_610_000 });
  expect(await after({ "x-ratelimit-reset": "30, 60;w=60" })).toEqual({ in: 30_000 as never });
  expect(await after({ "retry-after": "soon" })).toBeUndefined();
});

test("uses the Retry-After of an overloaded cloud, not the reset of its rate limit", async () => {
  const after = async (headers: Record<string, string>) =>
    (await failure(() => Response.json(ours, { status: 503, headers }))).detail.retryAfter;
  expect(await after({ "retry-after": "7", "ratelimit-reset": "3000" })).toEqual({ in: 7000 as never });
  expect(await after({ "ratelimit-reset": "3000" })).toBeUndefined();
});

test("reports the cloud's request id", async () => {
  const error = await failure(() => Response.json(ours, { status: 500, headers: { "x-request-id": "r-1" } }));
  expect(error.detail.requestID).toBe("r-1");
});

test("reports invalid JSON and network errors as unavailable", async () => {
  const cut = await failure(() => new Response('{"things":[{"id":'));
  expect([cut.kind, cut.message]).toEqual([
    "unavailable",
    "GET /things returned invalid JSON (17 characters).",
  ]);
  const cause = new TypeError("connection reset");
  const reset = await failure(() => Promise.reject(cause));
  expect([reset.kind, reset.message, reset.cause]).toEqual([
    "unavailable",
    "GET /things: connection reset",
    cause,
  ]);
});

test("truncates long messages", async () => {
  const message = `one and\n two ${"x".repeat(1000)}`;
  const error = await failure(() => Response.json({ message }, { status: 400 }));
  expect(error.message).toStartWith("GET /things failed with 400: one and two xxx");
  expect(error.message.length).toBeLessThan(330);
});

test("a request ends when its signal is aborted even if the transport hangs, and removes its listener", async () => {
  const controller = new AbortController();
  const { api } = apiWith(() => new Promise<Response>(() => {}));
  const pending = api.call(get, callOf(controller.signal));
  await Promise.resolve();
  controller.abort(new Error("leadership lost"));
  await expect(pending).rejects.toThrow("leadership lost");
  const done = apiWith(() => Response.json({}));
  const { signal } = new AbortController();
  await done.api.call(get, callOf(signal));
  expect(getEventListeners(signal, "abort")).toHaveLength(0);
  expect(getEventListeners(controller.signal, "abort")).toHaveLength(0);
});

test.each([
  ["an object without the member", { status: "captive" }],
  ["a list", []],
  ["null", null],
])("treats %s as a proxy's response if the request expects a member", async (_, body) => {
  const error = await failure(() => Response.json(body), {}, { ...get, expects: ["id", "job"] });
  expect([error.kind, error.message]).toEqual([
    "unavailable",
    'GET /things returned a body without "id"; check for a proxy.',
  ]);
});

test("accepts null as the value of an expected member, and any body if nothing is expected", async () => {
  const { api } = apiWith(() => Response.json({ id: null }));
  expect(await api.call({ ...get, expects: ["id"] }, callOf())).toEqual({ id: null });
  expect(await api.call(get, callOf())).toEqual({ id: null });
});

test("treats a body as a proxy's response if the request expects no body", async () => {
  const remove: JsonRequest = { operation: "DELETE /things", method: "DELETE", path: "/things", expects: [] };
  const error = await failure(() => Response.json({ status: "captive" }), {}, remove);
  expect([error.kind, error.message]).toEqual([
    "unavailable",
    "DELETE /things returned a body where none is expected; check for a proxy.",
  ]);
  const { api } = apiWith(() => new Response(null, { status: 204 }));
  expect(await api.call(remove, callOf())).toBeUndefined();
});

test("creates the method and the path of a request from its operation, and encodes the values", () => {
  expect(requestTo("PUT /things/{id}/parts/{part}", { id: "a/b", part: 7 }, { size: 1 })).toEqual({
    operation: "PUT /things/{id}/parts/{part}",
    method: "PUT",
    path: "/things/a%2Fb/parts/7",
    body: { size: 1 },
  });
  expect(requestTo("GET /things")).toMatchObject({ method: "GET", path: "/things", body: undefined });
});

test("writes and reads bodies in the format of the API, and names the format in messages", async () => {
  const format = {
    name: "lines",
    accept: "text/plain",
    contentType: "text/x-lines",
    write: (body: unknown) => (body as readonly string[]).join("\n"),
    parse: (text: string) => {
      if (text.startsWith("?")) throw new Error("?");
      return { lines: text.split("\n") };
    },
  };
  const request: JsonRequest = { operation: "search", method: "POST", path: "/search", body: ["a", "b"] };
  const { api, sent } = apiWith(() => new Response("c\nd"), { format });
  expect(await api.call<object>({ ...request, expects: ["lines"] }, callOf())).toEqual({ lines: ["c", "d"] });
  expect(sent.map(({ body, headers }) => [body, headers])).toEqual([
    ["a\nb", { accept: "text/plain", "content-type": "text/x-lines" }],
  ]);
  expect((await failure(() => new Response("?"), { format }, request)).message).toBe(
    "search returned invalid lines (1 characters).",
  );
});
