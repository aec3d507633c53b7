// Requests to a server of which only the fingerprint of its certificate is known.

import { afterAll, expect, test } from "bun:test";
import { X509Certificate } from "node:crypto";
import { createAuthority } from "../../src/pki/authority.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { systemRandom } from "../../src/platform/random.ts";
import { systemTransport } from "../../src/platform/transport.ts";
import { failureOf } from "../../src/testing/conformance/lab.ts";

// No client trusts the signer of this certificate, and it is for a different name.
const { cert, key } = createAuthority("test", systemClock, systemRandom).issueServer("vc", ["vc.example"]);
const certificate = new X509Certificate(cert);
const received: string[] = [];

const server = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  tls: { cert, key },
  fetch: async (request) => {
    const { pathname, search } = new URL(request.url);
    received.push(`${request.method} ${pathname}${search} ${await request.text()}`);
    if (pathname === "/hang") return new Promise<Response>(() => undefined);
    if (pathname === "/empty") return new Response(null, { status: 204 });
    return new Response("ä".repeat(70_000), { status: 500, headers: { "set-cookie": "a=b; HttpOnly" } });
  },
});
afterAll(() => server.stop(true));

const url = `https://127.0.0.1:${server.port}`;
const { signal } = new AbortController();
const send = (fingerprint: string, path: string, own: AbortSignal = signal) =>
  systemTransport(
    {
      method: "POST",
      url: url + path,
      headers: { "content-type": "text/xml" },
      body: "ü",
      tls: { fingerprint },
    },
    own,
  );

test.each([
  ["SHA-1", certificate.fingerprint],
  ["SHA-256", certificate.fingerprint256],
  ["SHA-256 in lower case without colons", certificate.fingerprint256.replaceAll(":", "").toLowerCase()],
])(
  "a pinned request reaches the server with the %s fingerprint, and returns its response",
  async (_, fingerprint) => {
    received.length = 0;
    const response = await send(fingerprint, "/sdk?a=1");
    expect([response.status, response.headers.getSetCookie(), received]).toEqual([
      500,
      ["a=b; HttpOnly"],
      ["POST /sdk?a=1 ü"],
    ]);
    expect(await response.text()).toBe("ä".repeat(70_000));
    expect((await send(fingerprint, "/empty")).status).toBe(204);
  },
);

test("a pinned request sends nothing to a server with another certificate", async () => {
  received.length = 0;
  const other = certificate.fingerprint256.replace(/../, (byte) => (byte === "00" ? "11" : "00"));
  expect(await failureOf(send(other, "/sdk"))).toMatchObject({ code: "CERT_FINGERPRINT_DIFFERS" });
  expect(await failureOf(send("", "/sdk"))).toMatchObject({ code: "CERT_FINGERPRINT_DIFFERS" });
  expect(received).toEqual([]);
});

test("a pinned request ends when its signal is aborted", async () => {
  const controller = new AbortController();
  const sent = failureOf(send(certificate.fingerprint, "/hang", controller.signal));
  while (!received.includes("POST /hang ü")) await Bun.sleep(1);
  controller.abort(new Error("stopped"));
  expect(await sent).toMatchObject({ message: "stopped" });
  expect(await failureOf(send(certificate.fingerprint, "/sdk", controller.signal))).toMatchObject({
    message: "stopped",
  });
});
