import { describe, expect, test } from "bun:test";
import { type GovernedAccount, openAccount } from "../../src/cloud/account.ts";
import { maxWaitInWorker } from "../../src/cloud/urgency.ts";
import { milliseconds, seconds } from "../../src/core/brand.ts";
import { messageOf } from "../../src/core/error-message.ts";
import { jsonApi } from "../../src/kit/json-api.ts";
import { seededRandom } from "../../src/platform/random.ts";
import type { Transport } from "../../src/platform/transport.ts";
import type { Call, Urgency } from "../../src/provider/call.ts";
import { VirtualClock } from "../../src/testing/virtual-time/virtual-clock.ts";

// How far a failure of one operation extends: to that operation, to the endpoint, or to the whole account.

/** An account whose cloud has machines and load balancers; `answers` replaces the response to a method. */
const setUp = (answers: Partial<Record<string, Transport>>, scope?: "account") => {
  const clock = new VirtualClock();
  const sent: string[] = [];
  const account: GovernedAccount<string> = openAccount<string>(
    { name: "main", fetch: async () => ({ value: "token" }), sign: (request) => request },
    {
      transport: async (request, signal) => {
        sent.push(`${request.method} ${new URL(request.url).pathname}`);
        return answers[request.method]?.(request, signal) ?? new Response("{}");
      },
      clock,
      random: { ...seededRandom(1), fraction: () => 1 },
      mayMutate: () => true,
      report: () => undefined,
      signal: new AbortController().signal,
    },
  );
  const api = jsonApi({
    base: "https://cloud",
    transport: account.transport,
    ...(scope !== undefined && { readError: () => ({ scope }) }),
  });
  const send = (
    method: "GET" | "POST" | "DELETE",
    path: string,
    urgency: Urgency = "user-change",
    limits: Pick<Call, "maxWait"> = {},
  ) => {
    const call: Call = { signal: new AbortController().signal, urgency, ...limits };
    const operation = `${method} ${path.replace(/\d+$/, "{id}")}`;
    return api.call({ operation, method, path }, call).then(
      () => "fine",
      (error: unknown) => messageOf(error),
    );
  };
  const lookUp = () => send("GET", "/machines", "new-node");
  /** "waiting" if there is no result yet. */
  const resultNow = async (result: Promise<string>) => {
    let ended = "waiting";
    void result.then((text) => {
      ended = text;
    });
    await clock.advance(milliseconds(0));
    return ended;
  };
  return { clock, account, sent, send, lookUp, resultNow };
};

const answering =
  (status: number, headers: Record<string, string> = {}): Transport =>
  async () =>
    new Response('{"message":"no"}', { status, headers });

const refusing: Transport = () => Promise.reject(new Error("ECONNREFUSED"));
const hanging: Transport = (_, signal) =>
  new Promise((__, reject) => signal.addEventListener("abort", () => reject(signal.reason)));

const numbers = (count: number) => Array.from({ length: count }, (_, index) => index);

describe("a failing operation", () => {
  test("an operation that returns 500 stops neither lookups of Nodes nor the same operation on other objects", async () => {
    const { send, lookUp, sent } = setUp({
      DELETE: async ({ url }) =>
        new Response("{}", { status: Number(url.split("/").at(-1)) < 20 ? 500 : 200 }),
    });
    const deletions = await Promise.all(numbers(40).map((id) => send("DELETE", `/balancers/${id}`)));
    expect(deletions.filter((result) => result === "fine")).toHaveLength(20);
    const lookups = await Promise.all(numbers(60).map(lookUp));
    expect(lookups.filter((result) => result === "fine")).toHaveLength(60);
    expect(sent).toHaveLength(100);
  });

  test("an operation with a truncated response does not stop other operations", async () => {
    const cutOff = () =>
      new ReadableStream({
        pull: (to) => to.error(new Error("ECONNRESET")),
      });
    const { send, lookUp } = setUp({ POST: async () => new Response(cutOff()) });
    for (const _ of numbers(10)) expect(await send("POST", "/balancers")).toContain("failed");
    expect(await lookUp()).toBe("fine");
  });

  test("an operation that hangs does not stop operations that succeed", async () => {
    const { clock, send, lookUp } = setUp({ POST: hanging });
    const creations = numbers(10).map(() => send("POST", "/balancers"));
    await clock.advance(seconds(10));
    expect(await lookUp()).toBe("fine");
    await clock.advance(seconds(20));
    for (const creation of creations) expect(await creation).toContain("failed");
    expect(await lookUp()).toBe("fine");
  });

  test.each([
    ["refuses connections", refusing, 0],
    ["does not respond", hanging, 30],
  ])("stops all operations of an endpoint that %s", async (_, answer, lasts) => {
    const { clock, send, lookUp, sent } = setUp({ POST: answer });
    const creations = numbers(5).map(() => send("POST", "/balancers"));
    await clock.advance(seconds(lasts));
    await Promise.all(creations);
    expect(await lookUp()).toContain("failed to respond several times in a row");
    expect(sent).toHaveLength(5);
    await clock.advance(seconds(2));
    expect(await lookUp()).toBe("fine");
  });
});

describe("a 429", () => {
  const retryAfter = { "retry-after": "900" };

  test("a 429 stops only its own operation until its Retry-After has passed", async () => {
    const { clock, account, send, lookUp, resultNow, sent } = setUp({ POST: answering(429, retryAfter) });
    await send("POST", "/balancers");
    expect(await resultNow(lookUp())).toBe("fine");
    expect(await resultNow(send("DELETE", "/balancers/1"))).toBe("fine");
    expect(await send("POST", "/balancers")).toContain(
      "the rate limit of this operation is used up for 900s",
    );
    expect(sent).toHaveLength(3);
    expect(account.budget.level).toMatchObject({
      closedFor: 0,
      closedOperations: { "POST /balancers": 900_000 },
    });
    await clock.advance(seconds(900));
    await send("POST", "/balancers");
    expect(sent).toHaveLength(4);
  });

  test("a 429 does not delay other operations behind calls that wait for it", async () => {
    const { clock, send, lookUp, resultNow, sent } = setUp({ POST: answering(429, { "retry-after": "2" }) });
    await send("POST", "/balancers");
    const waiting = send("POST", "/balancers");
    expect(await resultNow(waiting)).toBe("waiting");
    expect(await resultNow(lookUp())).toBe("fine");
    await clock.advance(seconds(2));
    expect(sent).toEqual(["POST /balancers", "GET /machines", "POST /balancers"]);
    await waiting;
  });

  test("a 429 fails a read that would block a worker, and lets other reads wait", async () => {
    const { clock, send, resultNow } = setUp({ GET: answering(429, { "retry-after": "60" }) });
    await send("GET", "/balancers");
    const observation = send("GET", "/balancers", "user-change", { maxWait: maxWaitInWorker });
    expect(await resultNow(observation)).toContain("this operation is used up for 60s. Fairlead will retry");
    const listing = send("GET", "/balancers");
    expect(await resultNow(listing)).toBe("waiting");
    await clock.advance(seconds(60));
    expect(await listing).toContain("429");
  });

  test("a long 429 for the account fails a change instead of blocking its worker", async () => {
    const { clock, send, resultNow } = setUp({ POST: answering(429, { "retry-after": "60" }) }, "account");
    await send("POST", "/balancers");
    expect(await resultNow(send("DELETE", "/balancers/1"))).toContain("used up for 60s");
    await clock.advance(seconds(59));
    const late = send("DELETE", "/balancers/1");
    expect(await resultNow(late)).toBe("waiting");
    await clock.advance(seconds(1));
    expect(await late).toBe("fine");
  });

  test("a 429 stops all operations when the provider reports an account-wide limit", async () => {
    const { clock, send, lookUp } = setUp({ POST: answering(429, retryAfter) }, "account");
    await send("POST", "/balancers");
    expect(await lookUp()).toContain("the rate limit of the cloud API is used up for 900s");
    await clock.advance(seconds(900));
    expect(await lookUp()).toBe("fine");
  });

  test("a 429 stops all operations when its headers report that the account has no requests left", async () => {
    const headers = { ...retryAfter, "ratelimit-limit": "100", "ratelimit-remaining": "0" };
    const { clock, send, lookUp } = setUp({ POST: answering(429, headers) });
    await send("POST", "/balancers");
    expect(await lookUp()).toContain("the rate limit of the cloud API is used up for 900s");
    await clock.advance(seconds(900));
    expect(await lookUp()).toBe("fine");
  });
});

test("an account with no remaining requests and no reset time still sends changes made by users", async () => {
  const headers = { "ratelimit-limit": "100", "ratelimit-remaining": "0" };
  const { clock, send, lookUp, resultNow } = setUp({ DELETE: answering(200, headers) });
  await send("DELETE", "/balancers/1");
  expect(await resultNow(send("POST", "/balancers"))).toBe("fine");
  const lookup = lookUp();
  expect(await resultNow(lookup)).toBe("waiting");
  await clock.advance(seconds(60));
  expect(await lookup).toBe("fine");
});
