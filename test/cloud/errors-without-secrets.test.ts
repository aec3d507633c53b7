// A cloud that repeats a credential in its responses: no error contains any part of it, whatever the provider does with the text.

import { expect, test } from "bun:test";
import { openAccount } from "../../src/cloud/account.ts";
import { messageOf } from "../../src/core/error-message.ts";
import { Redaction } from "../../src/core/redaction.ts";
import { Secret } from "../../src/core/secret.ts";
import { seededRandom } from "../../src/platform/random.ts";
import { CloudError } from "../../src/provider/errors.ts";
import { VirtualClock } from "../../src/testing/virtual-time/virtual-clock.ts";

const token = "tok-9f8e7d6c5b4a39281706f5e4d3c2b1a0";
const request = { method: "GET", url: "https://cloud.example/x", operation: "GET /x", mutates: false };
const call = { signal: new AbortController().signal, urgency: "refresh" } as const;

/** A provider that keeps the first 60 characters of a response, and passes no secret on. */
async function failureOf(
  answer: () => Response,
  fetchCredential = async () => ({ value: new Secret(token) }),
) {
  const messages: (string | undefined)[] = [];
  const account = openAccount<Secret>(
    {
      name: "main",
      fetch: fetchCredential,
      sign: (each, value) => ({ ...each, headers: { "x-key": value.reveal() } }),
    },
    {
      transport: async () => answer(),
      clock: new VirtualClock(),
      random: seededRandom(1),
      mayMutate: () => true,
      report: ({ message }) => messages.push(message),
      signal: call.signal,
      redaction: new Redaction(),
    },
  );
  let given = "";
  const read = async (response: Response): Promise<never> => {
    given = await response.text();
    const message = given.slice(0, 60);
    throw new CloudError("invalid", message, { operation: "GET /x", cause: new Error(message) });
  };
  const failure = await account.transport(request, call, read).catch((error: unknown) => error);
  return { given, failure: failure as Error, messages };
}

test("removes a credential from an error body before a provider reads it", async () => {
  const body = `a long sentence before the rejected key ${token}, and more`;
  const { given, failure } = await failureOf(() => new Response(body, { status: 400 }));
  expect(given).toBe("a long sentence before the rejected key [secret], and more");
  expect(failure.message).toBe(given);
});

test("removes a part of a credential in a successful response from the error, its causes and the report", async () => {
  const { given, failure, messages } = await failureOf(
    () => new Response(`the action failed with the key ${token} and more`),
  );
  expect(given).toContain(token);
  expect(failure.message).toBe("the action failed with the key [secret]");
  expect([(failure.cause as Error).message, messages[0]]).toEqual([failure.message, failure.message]);
  expect(Bun.inspect(failure)).not.toContain("9f8e7d6c");
});

test("an error body that the cloud truncated contains no part of a credential", async () => {
  const { failure } = await failureOf(() => new Response(`wrong key ${token.slice(0, 30)}`, { status: 400 }));
  expect(failure.message).toBe("wrong key [secret]");
});

test.each([
  ["with its length", () => new Response("x", { headers: { "content-length": "99999999" } })],
  ["without its length", () => new Response(new Blob(["x".repeat(33 * 1024 * 1024)]).stream())],
])("a response of more than 32 MiB is not read, %s [N25]", async (_, answer) => {
  const { given, failure } = await failureOf(answer);
  expect(given).toBe("");
  expect(messageOf(failure)).toBe(
    "GET /x failed: The response from the cloud API at cloud.example:443 was not read, because it has more than 32 MiB. Check for a proxy. Fairlead will retry.",
  );
});
