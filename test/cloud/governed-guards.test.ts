import { expect, test } from "bun:test";
import { openAccount } from "../../src/cloud/account.ts";
import { seconds } from "../../src/core/brand.ts";
import { seededRandom } from "../../src/platform/random.ts";
import type { Transport } from "../../src/platform/transport.ts";
import type { CloudRequest } from "../../src/provider/call.ts";
import { CloudError } from "../../src/provider/errors.ts";
import { VirtualClock } from "../../src/testing/virtual-time/virtual-clock.ts";

const operation = "GET /x";
const request: CloudRequest = { method: "GET", url: "https://cloud/x", operation, mutates: false };

const setUp = (transport: Transport) => {
  const clock = new VirtualClock();
  const account = openAccount<string>(
    { name: "main", fetch: async () => ({ value: "token" }), sign: (each) => each },
    {
      transport,
      clock,
      random: { ...seededRandom(1), fraction: () => 1 },
      mayMutate: () => true,
      report: () => undefined,
      signal: new AbortController().signal,
    },
  );
  const send = (signal = new AbortController().signal): Promise<unknown> =>
    account
      .transport(request, { signal, urgency: "refresh" }, async (response) => {
        const text = await response.text();
        if (response.ok) return text;
        const kind = response.status === 429 ? "rate-limited" : "unavailable";
        const detail = text === "" ? {} : { retryAfter: { in: seconds(Number(text)) } };
        throw new CloudError(kind, text, { operation, status: response.status, ...detail });
      })
      .catch((error: unknown) => error);
  return { clock, send };
};

test("the circuit breaker closes again after its probe was aborted", async () => {
  let answer: Transport = () => Promise.reject(new Error("ECONNREFUSED"));
  const { clock, send } = setUp((request, signal) => answer(request, signal));
  for (let count = 0; count < 5; count += 1) await send();
  expect(String(await send())).toContain("was not sent");
  await clock.advance(seconds(60));
  answer = (_, signal) =>
    new Promise((__, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  const hasty = new AbortController();
  const checks = send(hasty.signal);
  await clock.advance(seconds(1));
  hasty.abort(new Error("never mind"));
  expect(String(await checks)).toContain("never mind");
  answer = async () => new Response("here");
  await clock.advance(seconds(60));
  expect(await send()).toBe("here");
});

test("a retry time in the body of a 429 delays the next request", async () => {
  let answer = new Response("90", { status: 429 });
  const { clock, send } = setUp(async () => answer);
  await send();
  answer = new Response("here");
  const since = clock.monotonic();
  const requeue = send().then(() => clock.monotonic() - since);
  await clock.advance(seconds(120));
  expect(await requeue).toBeGreaterThanOrEqual(seconds(90));
});
