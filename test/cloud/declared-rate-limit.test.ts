import { describe, expect, test } from "bun:test";
import { openAccount } from "../../src/cloud/account.ts";
import { backoffAfter } from "../../src/cloud/error-policies.ts";
import { milliseconds, seconds } from "../../src/core/brand.ts";
import { jsonApi } from "../../src/kit/json-api.ts";
import { rateLimitHeaders } from "../../src/kit/rate-limit-headers.ts";
import { seededRandom } from "../../src/platform/random.ts";
import type { Call, CloudTransport } from "../../src/provider/call.ts";
import { CloudError } from "../../src/provider/errors.ts";
import type { Account } from "../../src/provider/provider.ts";
import { VirtualClock } from "../../src/testing/virtual-time/virtual-clock.ts";

// Rate limits in headers that only the provider knows.

const call: Call = { signal: new AbortController().signal, urgency: "refresh", maxWait: milliseconds(0) };

const setUp = (declared: Pick<Account<string>, "rateLimit"> = {}) => {
  const clock = new VirtualClock();
  const next: { answer: () => Response } = { answer: () => Response.json({}) };
  const account = openAccount<string>(
    { name: "main", fetch: async () => ({ value: "token" }), sign: (request) => request, ...declared },
    {
      transport: async () => next.answer(),
      clock,
      random: seededRandom(1),
      mayMutate: () => true,
      report: () => undefined,
      signal: call.signal,
    },
  );
  const api = jsonApi({
    base: "https://cloud.example",
    transport: account.transport,
    readError: () => undefined,
  });
  const get = () =>
    api.call({ operation: "Get", method: "GET", path: "/x" }, call).then(
      () => undefined,
      (error: unknown) => error as CloudError,
    );
  const answerWith = (status: number, headers: Readonly<Record<string, string>> = {}) => {
    next.answer = () => Response.json({}, { status, headers });
  };
  return { clock, account, get, answerWith };
};

describe("after a 429 [N4]", () => {
  const inMilliseconds = rateLimitHeaders({
    retryAfter: { header: "retry-after-ms", unit: "milliseconds" },
  });

  test("an operation waits after a 429 for the 300 ms that the provider reads from a header", async () => {
    const { clock, account, get, answerWith } = setUp({ rateLimit: inMilliseconds });
    answerWith(429, { "retry-after-ms": "300" });
    const error = await get();
    expect(account.budget.waitOf("Get")).toBe(milliseconds(300));
    expect(backoffAfter(error, 4, clock, seededRandom(1))).toBe(milliseconds(300));
    answerWith(200);
    await clock.advance(milliseconds(299));
    expect((await get())?.kind).toBe("rate-limited");
    await clock.advance(milliseconds(1));
    expect(await get()).toBeUndefined();
  });

  test("the wait that the provider reads from a response takes precedence over the usual headers", async () => {
    const { account, get, answerWith } = setUp({ rateLimit: inMilliseconds });
    answerWith(429, { "retry-after-ms": "300", "retry-after": "1" });
    expect((await get())?.detail.retryAfter).toEqual({ in: milliseconds(300) });
    expect(account.budget.waitOf("Get")).toBe(milliseconds(300));
  });

  test.each([
    ["5 s when no header names a time", {}, 5000],
    ["half a second when Retry-After does", { "retry-after": "0.5" }, 500],
    ["the usual headers when the provider reads nothing", { "ratelimit-reset": "2" }, 2000],
  ])("an operation waits after a 429 for %s", async (_, headers, wait) => {
    const { account, get, answerWith } = setUp({ rateLimit: () => undefined });
    answerWith(429, headers);
    await get();
    expect(account.budget.waitOf("Get")).toBe(milliseconds(wait));
  });

  test("an operation waits for the one second that the provider reads from the body, not for 5 s", async () => {
    const { account, answerWith } = setUp();
    answerWith(429);
    const request = { method: "GET", url: "https://cloud.example/x", operation: "Get", mutates: false };
    const refusal = new CloudError("rate-limited", "slow down", {
      operation: "Get",
      retryAfter: { in: seconds(1) },
    });
    const sent = account.transport(request, call, () => Promise.reject(refusal));
    expect(await sent.catch((error: unknown) => error)).toBe(refusal);
    expect(account.budget.waitOf("Get")).toBe(seconds(1));
  });

  test("an operation waits for 5 s after a 429 even if the provider accepts the response", async () => {
    const { account, answerWith } = setUp();
    answerWith(429);
    const request = { method: "GET", url: "https://cloud.example/x", operation: "Get", mutates: false };
    expect(await account.transport(request, call, async ({ status }) => status)).toBe(429);
    expect(account.budget.waitOf("Get")).toBe(seconds(5));
  });
});

describe("a rate limit from the provider's own headers or function [N4]", () => {
  test("without a reported limit, the largest remaining budget so far is the limit", async () => {
    const { account, get, answerWith } = setUp({
      rateLimit: rateLimitHeaders({
        remaining: "x-quota-left",
        resets: { header: "x-quota-reset", unit: "unix-milliseconds" },
      }),
    });
    answerWith(200, { "x-quota-left": "200" });
    await get();
    answerWith(200, { "x-quota-left": "150" });
    await get();
    expect(account.budget.level).toMatchObject({ limit: 200, remaining: 150 });
  });

  test("requests whose responses do not report the remaining budget consume it", async () => {
    const { account, get, answerWith } = setUp({
      rateLimit: rateLimitHeaders({ limit: "x-units", remaining: "x-units-left" }),
    });
    answerWith(200, { "x-units": "100", "x-units-left": "80" });
    await get();
    answerWith(200);
    await get();
    expect(account.budget.level.remaining).toBe(79);
  });

  test("ignores a rate limit that the provider computes as NaN", async () => {
    const { account, get } = setUp({
      rateLimit: () => ({ remaining: Number.NaN, retryAfter: { in: milliseconds(Number.NaN) } }),
    });
    await get();
    expect(account.budget.level).toMatchObject({ limit: undefined, closedOperations: {} });
  });
});

describe("a rate limit that refills evenly [N4]", () => {
  // Hetzner's limit is 3600 requests per hour and refills one each second; the header states when all are available again.
  const hetzner = rateLimitHeaders({
    limit: "ratelimit-limit",
    remaining: "ratelimit-remaining",
    full: { header: "ratelimit-reset", unit: "unix-seconds" },
  });
  const spent = (clock: VirtualClock, remaining: number) => ({
    "ratelimit-limit": "3600",
    "ratelimit-remaining": String(remaining),
    "ratelimit-reset": String(clock.now() / 1000 + 3600 - remaining),
  });

  test("the remaining requests grow with time, and a request waits until the reserve of its rank is available", async () => {
    const { clock, account, get, answerWith } = setUp({ rateLimit: hetzner });
    answerWith(200, spent(clock, 0));
    await get();
    expect(account.budget.waitFor(0)).toBe(seconds(1));
    const refresh = account.budget.waitFor(3);
    expect(refresh).toBeGreaterThan(seconds(60));
    await clock.advance(seconds(10));
    expect(account.budget.level.remaining).toBe(10);
    expect(account.budget.waitFor(0)).toBe(milliseconds(0));
    expect(account.budget.waitFor(3)).toBe(milliseconds(refresh - 10_000));
  });

  test("admits a waiting request as soon as the budget allows one request", async () => {
    const { clock, account, get, answerWith } = setUp({ rateLimit: hetzner });
    answerWith(200, spent(clock, 0));
    await get();
    const admitted: number[] = [];
    const start = clock.monotonic();
    for (let count = 0; count < 3; count++)
      void account.budget
        .enter({ rank: 0 }, call.signal)
        .then(() => admitted.push(clock.monotonic() - start));
    await clock.advance(seconds(5));
    expect(admitted).toEqual([1000, 2000, 3000]);
  });

  test("a 429 delays an operation for the time of one request", async () => {
    const { clock, account, get, answerWith } = setUp({ rateLimit: hetzner });
    answerWith(429, spent(clock, 0));
    await get();
    expect(account.budget.waitOf("Get")).toBe(seconds(1));
  });
});

test("a write limit does not delay reads of another account [N4]", async () => {
  const [reads, writes] = [setUp(), setUp()];
  writes.answerWith(429, { "retry-after": "60" });
  const transport: CloudTransport = (request, call, read) =>
    (request.mutates ? writes : reads).account.transport(request, call, read);
  const api = jsonApi({ base: "https://cloud.example", transport });
  const send = (method: "GET" | "PUT") =>
    api.call({ operation: "Things", method, path: "/x" }, call).then(
      () => "sent",
      (error: unknown) => (error as CloudError).kind,
    );
  expect([await send("PUT"), await send("PUT"), await send("GET")]).toEqual([
    "rate-limited",
    "rate-limited",
    "sent",
  ]);
});
