import { describe, expect, test } from "bun:test";
import { openAccount } from "../../src/cloud/account.ts";
import type { CredentialHint } from "../../src/cloud/credential-hint.ts";
import type { CloudCallReport } from "../../src/cloud/governed-transport.ts";
import { milliseconds, seconds } from "../../src/core/brand.ts";
import { seededRandom } from "../../src/platform/random.ts";
import type { Transport } from "../../src/platform/transport.ts";
import type { Call, CloudRequest } from "../../src/provider/call.ts";
import { CloudError, type CloudErrorKind } from "../../src/provider/errors.ts";
import type { Fetched } from "../../src/provider/provider.ts";
import type { WriteGate } from "../../src/runtime/write-gate.ts";
import { VirtualClock } from "../../src/testing/virtual-time/virtual-clock.ts";

const call: Call = { signal: new AbortController().signal, urgency: "refresh" };
const read: CloudRequest = { method: "GET", url: "https://cloud/x", operation: "GET /x", mutates: false };
const write: CloudRequest = { ...read, method: "POST", operation: "POST /x", mutates: true };

const kinds: Readonly<Record<number, CloudErrorKind>> = {
  401: "unauthorized",
  404: "not-found",
  429: "rate-limited",
  500: "unavailable",
};
/** Reads a response like a provider. */
const text = async (response: Response): Promise<string> => {
  const body = await response.text();
  if (response.ok) return body;
  const kind = kinds[response.status] ?? "invalid";
  throw new CloudError(kind, `GET /x: ${response.status}`, { operation: "GET /x", status: response.status });
};

const setUp = (
  answer: Transport,
  options: {
    deadline?: number;
    mayMutate?: WriteGate;
    credentialHint?: CredentialHint;
    fetch?: () => Promise<Fetched<string>>;
  } = {},
) => {
  const clock = new VirtualClock();
  const reports: CloudCallReport[] = [];
  const stop = new AbortController();
  let fetched = 0;
  const sent: string[] = [];
  const account = openAccount<string>(
    {
      name: "main",
      fetch: options.fetch ?? (async () => ({ value: `token-${++fetched}` })),
      sign: (request, token) => ({ ...request, headers: { authorization: token } }),
    },
    {
      transport: (request, signal) => {
        sent.push(`${request.method} ${request.headers?.["authorization"]}`);
        return answer(request, signal);
      },
      clock,
      random: { ...seededRandom(1), fraction: () => 1 },
      mayMutate: options.mayMutate ?? (() => true),
      report: (report) => reports.push(report),
      signal: stop.signal,
      credentialHint: options.credentialHint,
      ...(options.deadline !== undefined && { deadline: milliseconds(options.deadline) }),
    },
  );
  const send = (request = read, how = call) =>
    account.transport({ ...request }, how, text).catch((error: unknown) => error);
  return { clock, account, reports, sent, send, fetches: () => fetched };
};

describe("the governed transport", () => {
  test("lets the network layer repeat only reads", async () => {
    const once: unknown[] = [];
    const { send } = setUp(async (request) => {
      once.push(request.once);
      return new Response("fine");
    });
    for (const request of [read, write]) await send(request);
    expect(once).toEqual([undefined, true]);
  });

  test("signs and sends a request, and reports it by its operation", async () => {
    const { send, sent, reports } = setUp(async () => new Response("fine"));
    expect(await send()).toBe("fine");
    expect(sent).toEqual(["GET token-1"]);
    expect(reports).toEqual([
      { account: "main", operation: "GET /x", mutates: false, durationMs: 0, size: 4, status: 200 },
    ]);
  });

  test("checks the write fence after signing, immediately before a change is sent [N14]", async () => {
    const order: string[] = [];
    const clock = new VirtualClock();
    const { transport } = openAccount<string>(
      {
        name: "main",
        fetch: async () => ({ value: "t" }),
        sign: async (request) => {
          await new Promise<void>((resolve) => clock.after(seconds(5), resolve));
          order.push("signed");
          return request;
        },
      },
      {
        transport: async () => {
          order.push("sent");
          return new Response("");
        },
        clock,
        random: seededRandom(1),
        mayMutate: () => {
          order.push("asked");
          return clock.monotonic() < 7000 ? true : { reason: "no lease." };
        },
        report: () => undefined,
        signal: call.signal,
      },
    );
    const first = transport(write, call, text);
    await clock.advance(seconds(5));
    expect(await first).toBe("");
    const second = transport(write, call, text).catch((error: Error) => error.message);
    await clock.advance(seconds(5));
    expect(await second).toBe("POST /x was not sent: no lease.");
    expect(order).toEqual(["signed", "asked", "sent", "signed", "asked"]);
  });

  test("sends reads while the write fence is closed, and a closed fence does not open the breaker [N14]", async () => {
    const { send, sent, reports } = setUp(async () => new Response("fine"), {
      mayMutate: () => ({ reason: "observing." }),
    });
    for (let index = 0; index < 10; index += 1) await send(write);
    expect(await send()).toBe("fine");
    expect(sent).toEqual(["GET token-1"]);
    expect(reports[0]).toMatchObject({ failure: "fenced" });
  });

  test("repeats an unauthorized request once with a new credential [F70]", async () => {
    const { send, sent } = setUp(async () => new Response("", { status: 401 }));
    expect(await send()).toMatchObject({ kind: "unauthorized" });
    expect(sent).toEqual(["GET token-1", "GET token-2"]);
  });

  test("retries a rejected credential at growing intervals, and a new credential immediately [F70]", async () => {
    let token = "wrong";
    const { clock, send, sent } = setUp(
      async ({ headers }) =>
        new Response("fine", { status: headers?.["authorization"] === "right" ? 200 : 401 }),
      { fetch: async () => ({ value: token }) },
    );
    for (let index = 0; index < 3600; index += 1) {
      expect(await send()).toMatchObject({ kind: "unauthorized" });
      await clock.advance(seconds(1));
    }
    // At 0 (twice), 10, 30, 70, 150 and 310 seconds, and then every 5 minutes.
    expect(sent).toHaveLength(17);
    token = "right";
    expect(await send()).toBe("fine");
    expect(await send()).toBe("fine");
    expect(sent.slice(17)).toEqual(["GET right", "GET right"]);
  });

  test("reads with a credential that is rejected only for changes", async () => {
    const { send, sent } = setUp(
      async ({ method }) => new Response("fine", { status: method === "GET" ? 200 : 401 }),
      { fetch: async () => ({ value: "reader" }) },
    );
    for (let index = 0; index < 5; index += 1) {
      expect(await send(write)).toMatchObject({ kind: "unauthorized" });
      expect(await send()).toBe("fine");
    }
    expect(sent.filter((each) => each.startsWith("POST"))).toHaveLength(2);
  });

  test("removes the credential from an error whose response repeats it", async () => {
    const { account, reports } = setUp(async () => new Response("the key Bearer token-1 is wrong: token-1"), {
      fetch: async () => ({ value: "token-1" }),
    });
    const quoting = async (response: Response): Promise<never> => {
      throw new CloudError("invalid", await response.text(), { operation: "GET /x" });
    };
    const failure = await account.transport({ ...read }, call, quoting).catch((error: unknown) => error);
    expect(String(failure)).toBe("CloudError: the key Bearer [secret] is wrong: [secret]");
    expect(String((failure as Error).stack)).not.toContain("token-1");
    expect(reports[0]?.message).toBe("the key Bearer [secret] is wrong: [secret]");
  });

  test("names the settings to check when the credentials are rejected", async () => {
    const { send } = setUp(async () => new Response("", { status: 401 }), {
      credentialHint: ({ kind }) => (kind === "unauthorized" ? "Check token." : undefined),
    });
    expect(String(await send())).toBe("CloudError: GET /x: 401 Check token.");
  });

  test("fetches one new credential for all requests that were rejected together [F70]", async () => {
    let staggered = 0;
    const { clock, send, fetches } = setUp(async ({ headers }) => {
      const late = headers?.["authorization"] === "token-1";
      await new Promise<void>((resolve) => clock.after(milliseconds(10 * ++staggered), resolve));
      return new Response("fine", { status: late ? 401 : 200 });
    });
    const all = Promise.all(Array.from({ length: 10 }, () => send()));
    await clock.advance(seconds(1));
    expect(await all).toEqual(Array.from({ length: 10 }, () => "fine"));
    expect(fetches()).toBe(2);
  });

  test("fails a request at the deadline when its body stalls [F72]", async () => {
    const stalled = new ReadableStream({ start: (to) => to.enqueue(new TextEncoder().encode("{")) });
    const { clock, send, reports } = setUp(async () => new Response(stalled), { deadline: 5000 });
    const sending = send();
    await clock.advance(seconds(5));
    expect(await sending).toMatchObject({ kind: "unavailable" });
    expect(reports).toMatchObject([{ failure: "deadline", durationMs: 5000 }]);
  });

  test("rejects requests to a host after five failed connections in a row, and probes it once after the backoff", async () => {
    let isDown = true;
    const { clock, send, sent, reports } = setUp(async () => {
      if (isDown) throw new Error("ECONNREFUSED");
      return new Response("");
    });
    for (let index = 0; index < 7; index += 1) await send();
    expect(sent).toHaveLength(5);
    expect(reports.at(-1)).toMatchObject({ failure: "breaker" });
    expect(await send()).toMatchObject({ detail: { retryAfter: { in: 2000 } } });
    await clock.advance(seconds(2));
    isDown = false;
    expect(await send()).toBe("");
    expect(await send()).toBe("");
  });

  test("keeps the breaker closed for any response", async () => {
    const statuses = [500, 500, 500, 500, 404, 500, 500, 500, 500, 500];
    const { send, sent } = setUp(async () => new Response("", { status: statuses.shift() ?? 200 }));
    for (let index = 0; index < 10; index += 1) await send();
    expect(sent).toHaveLength(10);
  });

  test("learns the rate limit from headers, and reserves a part for more urgent requests [N4 F87]", async () => {
    const headers = { "ratelimit-limit": "100", "ratelimit-remaining": "20", "ratelimit-reset": "60" };
    const { clock, account, send, sent } = setUp(async () => new Response("", { headers }));
    await send();
    expect(account.budget.level).toMatchObject({ limit: 100, remaining: 20 });
    void send();
    await send(read, { ...call, urgency: "user-change" });
    expect(sent).toHaveLength(2);
    await clock.advance(seconds(60));
    expect(sent).toHaveLength(3);
  });

  test("fails with the remaining time instead of waiting long for the rate limit [F71]", async () => {
    let answer = new Response("", { status: 429, headers: { "retry-after": "3600" } });
    const { send, sent } = setUp(async () => answer);
    await send();
    answer = new Response("fine");
    const refused = await send(read, { ...call, urgency: "user-change" }).catch((error: unknown) => error);
    expect(refused).toMatchObject({ kind: "rate-limited", detail: { retryAfter: { in: 900_000 } } });
    expect(String(refused)).toContain("used up for 900s");
    expect(sent).toHaveLength(1);
  });

  test("holds requests of every urgency until the Retry-After has passed [N4 F71]", async () => {
    let answer = new Response("", { status: 429, headers: { "retry-after": "7" } });
    const { clock, send, sent } = setUp(async () => answer);
    await send();
    answer = new Response("fine");
    const urgent = send(read, { ...call, urgency: "user-change" });
    await clock.advance(milliseconds(6999));
    expect(sent).toHaveLength(1);
    await clock.advance(milliseconds(1));
    expect(await urgent).toBe("fine");
  });

  test.each([
    ["with its time", { in: seconds(9) }, 9],
    ["without a time", undefined, 5],
  ])(
    "delays requests after a rejection that only the response body reports, %s [F71]",
    async (_, retryAfter, expected) => {
      const { account } = setUp(async () => new Response("slow down"));
      const detail = { operation: "GET /x", ...(retryAfter !== undefined && { retryAfter }) };
      const refusing = async () => {
        throw new CloudError("rate-limited", "slow down", detail);
      };
      await account.transport(read, call, refusing).catch(() => undefined);
      expect(account.budget.level.closedOperations).toEqual({ "GET /x": seconds(expected) });
    },
  );
});
