// WebSocket messages: signed like requests, within the rate limit, and a rejected credential is replaced.

import { expect, test } from "bun:test";
import { openAccount } from "../../src/cloud/account.ts";
import { seconds } from "../../src/core/brand.ts";
import { seededRandom } from "../../src/platform/random.ts";
import { type OpenSocket, SocketError } from "../../src/platform/socket.ts";
import { CloudError } from "../../src/provider/errors.ts";
import { VirtualClock } from "../../src/testing/virtual-time/virtual-clock.ts";

const request = {
  operation: "GET /events",
  method: "GET",
  url: "http://cloud.example/events",
  mutates: false,
};

function accountWith(openSocket: OpenSocket | undefined) {
  const clock = new VirtualClock();
  const controller = new AbortController();
  const reported: string[] = [];
  let fetched = 0;
  const account = openAccount<string>(
    {
      name: "main",
      fetch: async () => {
        fetched += 1;
        return { value: `key-${fetched}` };
      },
      sign: (unsigned, key) => ({ ...unsigned, headers: { authorization: key } }),
    },
    {
      transport: () => Promise.reject(new Error("Nothing is requested.")),
      openSocket,
      clock,
      random: seededRandom(1),
      mayMutate: () => true,
      report: ({ operation, status, failure }) => reported.push(`${operation} ${failure ?? status}`),
      signal: controller.signal,
    },
  );
  const read = async (): Promise<readonly string[]> => {
    const all: string[] = [];
    for await (const one of account.messages(request, { signal: controller.signal, urgency: "refresh" }))
      all.push(one);
    return all;
  };
  return { account, clock, controller, reported, read };
}

test("OpenAccount.messages signs the request, and reports it once when the socket opens", async () => {
  const seen: unknown[] = [];
  const { read, reported } = accountWith(async function* ({ headers }) {
    seen.push(headers);
    yield "";
    yield "one";
  });
  expect(await read()).toEqual(["", "one"]);
  expect([seen, reported]).toEqual([[{ authorization: "key-1" }], ["GET /events 101"]]);
});

test("OpenAccount.messages uses a new credential after a 401, and the same credential after other failures", async () => {
  const seen: unknown[] = [];
  const statuses = [503, 401, undefined];
  const { read, reported } = accountWith(async function* ({ headers }) {
    seen.push(headers?.["authorization"]);
    yield* [];
    throw new SocketError("No.", statuses.shift());
  });
  for (let attempt = 0; attempt < 3; attempt += 1) {
    const failure = await read().catch((error: unknown) => error);
    expect(CloudError.is(failure) && failure.message).toBe("GET /events failed: No.");
  }
  expect([seen, reported]).toEqual([["key-1", "key-1", "key-2"], []]);
});

test("OpenAccount.messages opens no socket while the account's rate limit is exhausted", async () => {
  let opened = 0;
  const { read, account, clock } = accountWith(async function* () {
    opened += 1;
    yield "";
  });
  account.budget.learn({ closedFor: seconds(60) });
  const reading = read();
  await clock.advance(seconds(59));
  expect(opened).toBe(0);
  await clock.advance(seconds(2));
  expect([await reading, opened]).toEqual([[""], 1]);
});

test("OpenAccount.messages fails if the process has no WebSockets", async () => {
  await expect(accountWith(undefined).read()).rejects.toThrow(
    "GET /events failed: this process has no WebSockets.",
  );
});
