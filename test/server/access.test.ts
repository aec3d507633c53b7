// Who is let in on the secure port and what they may see: all ways of proving who one is, right, wrong and missing, without
// sockets and in virtual time.

import { beforeEach, describe, expect, test } from "bun:test";
import { X509Certificate } from "node:crypto";
import { milliseconds, seconds } from "../../src/core/brand.ts";
import { createAuthority } from "../../src/pki/authority.ts";
import type { PeerCertificate, ServedRequest } from "../../src/platform/listener.ts";
import { seededRandom } from "../../src/platform/random.ts";
import { textAnswer } from "../../src/server/answers.ts";
import { createAuthenticate } from "../../src/server/authenticate.ts";
import { createAuthorize } from "../../src/server/authorize.ts";
import { createTokenAuthenticator } from "../../src/server/bearer-token.ts";
import { readBundle } from "../../src/server/client-certificate.ts";
import { type AskReview, type ReviewKind, TooManyReviews } from "../../src/server/reviews.ts";
import { createSecurePort, readOnly } from "../../src/server/secure-port.ts";
import { VirtualClock } from "../../src/testing/virtual-time/virtual-clock.ts";

const clock = new VirtualClock();
const random = seededRandom(1);
const clients = createAuthority("clients", clock, random);
const proxies = createAuthority("proxies", clock, random);
const strangers = createAuthority("clients", clock, random);

const peer = (pem: string): PeerCertificate => ({ chain: [Uint8Array.from(new X509Certificate(pem).raw)] });
const certificateOf = (commonName: string, groups: readonly string[] = [], by = clients) =>
  peer(by.issueClient({ commonName, organizations: groups }).cert);

const request = (target: string, changes: Partial<ServedRequest> = {}): ServedRequest => ({
  method: "GET",
  target,
  headers: [],
  peer: undefined,
  body: async () => "",
  ...changes,
});
const bearer = (token: string): Partial<ServedRequest> => ({
  headers: [["authorization", `Bearer ${token}`]],
});

let asked: { kind: ReviewKind; spec: Record<string, unknown> }[] = [];
let failure: Error | undefined;
const ask: AskReview = async (kind, spec) => {
  asked.push({ kind, spec: spec as Record<string, unknown> });
  if (failure !== undefined) throw failure;
  if (kind === "tokenreviews") {
    const { token } = spec as { token: string };
    if (token === "wrong") return { authenticated: false, error: "no" };
    return { authenticated: true, user: { username: token, groups: ["scrapers"], uid: "u1" } };
  }
  return { allowed: (spec as { user: string }).user === "prometheus" };
};

const portWith = (changes: { allowedNames?: readonly string[]; ask?: AskReview | undefined } = {}) => {
  const reviewer = "ask" in changes ? changes.ask : ask;
  return createSecurePort({
    authenticate: createAuthenticate({
      authorities: async () => ({
        clients: readBundle(clients.cert),
        proxies: readBundle(proxies.cert),
        headers: {
          username: ["X-Remote-User"],
          uid: [],
          group: ["X-Remote-Group"],
          extraPrefix: ["X-Remote-Extra-"],
          allowedNames: changes.allowedNames ?? [],
        },
      }),
      token: createTokenAuthenticator(ask, { clock, lifetime: seconds(10) }),
      now: () => clock.now(),
    }),
    authorize: createAuthorize({
      ask: reviewer,
      clock,
      alwaysAllow: ["/healthz", "/open/*"],
      allowedFor: seconds(10),
      deniedFor: seconds(5),
    }),
    pages: {
      "/metrics": readOnly(() => textAnswer("figures")),
      "/healthz": readOnly(() => textAnswer("ok")),
      "/open/": readOnly(() => textAnswer("open")),
      "/broken": () => {
        throw new Error("a secret stack");
      },
    },
    onAccident: () => undefined,
  });
};
let port = portWith();
beforeEach(() => {
  asked = [];
  failure = undefined;
  port = portWith();
});
const status = async (target: string, changes: Partial<ServedRequest> = {}): Promise<number> =>
  (await port(request(target, changes))).status;

describe("without credentials", () => {
  test("the open paths answer, nothing else does, and no token is asked about [F84]", async () => {
    expect(await status("/healthz")).toBe(200);
    expect(await status("/open/page")).toBe(200);
    expect(await status("/metrics")).toBe(403);
    expect(asked.map(({ kind }) => kind)).toEqual(["subjectaccessreviews"]);
    expect(asked[0]?.spec).toMatchObject({
      user: "system:anonymous",
      groups: ["system:unauthenticated"],
      nonResourceAttributes: { path: "/metrics", verb: "get" },
    });
  });

  test("a page that is not there is not told apart from one that is", async () => {
    expect(await status("/nowhere")).toBe(403);
  });

  test("a path that could mean another is refused before anybody is asked", async () => {
    for (const target of [
      "/open/../metrics",
      "//metrics",
      "/open/%2e%2e/metrics",
      "/open\\..",
      "metrics",
      "*",
    ]) {
      expect(await status(target)).toBe(400);
    }
    expect(asked).toEqual([]);
  });
});

describe("a bearer token", () => {
  test("that is good lets in whom the API server lets in, and nobody else [F84]", async () => {
    expect(await status("/metrics", bearer("prometheus"))).toBe(200);
    expect(await status("/metrics", bearer("somebody"))).toBe(403);
    expect(asked[1]?.spec).toMatchObject({
      user: "prometheus",
      groups: ["scrapers", "system:authenticated"],
    });
  });

  test("that is bad is refused and never becomes anonymous, on open paths neither", async () => {
    expect(await status("/metrics", bearer("wrong"))).toBe(401);
    expect(await status("/healthz", bearer("wrong"))).toBe(401);
  });

  test("is asked about once in ten seconds, bad ones too, however many ask at once", async () => {
    await Promise.all(Array.from({ length: 50 }, () => status("/metrics", bearer("prometheus"))));
    await Promise.all(Array.from({ length: 50 }, () => status("/metrics", bearer("wrong"))));
    expect(asked).toHaveLength(3);
    await clock.advance(seconds(10));
    await status("/metrics", bearer("prometheus"));
    expect(asked).toHaveLength(5);
  });

  test("whose review fails is an error that is not remembered", async () => {
    failure = new Error("away");
    expect(await status("/metrics", bearer("prometheus"))).toBe(500);
    failure = new TooManyReviews();
    expect(await status("/metrics", bearer("prometheus"))).toBe(429);
    failure = undefined;
    expect(await status("/metrics", bearer("prometheus"))).toBe(200);
  });
});

describe("a client certificate", () => {
  test("of our authority names its user and groups; administrators are asked about nowhere [F84]", async () => {
    expect(await status("/metrics", { peer: certificateOf("prometheus") })).toBe(200);
    expect(await status("/metrics", { peer: certificateOf("low", ["developers"]) })).toBe(403);
    expect(asked.at(-1)?.spec).toMatchObject({ user: "low", groups: ["developers", "system:authenticated"] });
    asked = [];
    expect(await status("/metrics", { peer: certificateOf("root", ["system:masters"]) })).toBe(200);
    expect(asked).toEqual([]);
  });

  test("of a stranger is refused, whatever it says and although its authority has the same name", async () => {
    const forged = certificateOf("root", ["system:masters"], strangers);
    expect(await status("/metrics", { peer: forged })).toBe(401);
    expect(await status("/healthz", { peer: forged })).toBe(401);
  });

  test("that is a server's, expired, or unreadable is refused", async () => {
    const server = peer(clients.issueServer("prometheus", ["localhost"]).cert);
    const expired = peer(clients.issueClient({ commonName: "prometheus" }, milliseconds(-1000)).cert);
    for (const each of [server, expired, { chain: [Uint8Array.of(1, 2, 3)] }]) {
      expect(await status("/metrics", { peer: each })).toBe(401);
    }
  });

  test("whose name holds a line of its own gets no group from it", async () => {
    await status("/metrics", { peer: certificateOf("x\nO=system:masters") });
    expect(asked.at(-1)?.spec).toMatchObject({
      user: "x\nO=system:masters",
      groups: ["system:authenticated"],
    });
  });

  test("counts before a token", async () => {
    expect(await status("/metrics", { peer: certificateOf("low"), ...bearer("prometheus") })).toBe(403);
  });
});

describe("a front proxy", () => {
  const headers: ServedRequest["headers"] = [
    ["x-remote-user", "jane"],
    ["x-remote-group", "a, b"],
    ["x-remote-group", "c"],
    ["x-remote-extra-example.com%2fscope", "s"],
  ];

  test("with a certificate of its own authority speaks for others", async () => {
    await status("/metrics", { peer: certificateOf("front", [], proxies), headers });
    expect(asked.at(-1)?.spec).toMatchObject({
      user: "jane",
      groups: ["a, b", "c", "system:authenticated"],
      extra: { "example.com/scope": ["s"] },
    });
  });

  test("must be among those allowed, and headers of anybody else say nothing", async () => {
    port = portWith({ allowedNames: ["front"] });
    expect(await status("/metrics", { peer: certificateOf("back", [], proxies), headers })).toBe(401);
    await status("/metrics", { headers });
    expect(asked.at(-1)?.spec).toMatchObject({ user: "system:anonymous" });
    await status("/metrics", { peer: certificateOf("low"), headers });
    expect(asked.at(-1)?.spec).toMatchObject({ user: "low" });
  });
});

test("where nobody can be asked, only open paths and administrators remain", async () => {
  port = portWith({ ask: undefined });
  expect(await status("/healthz")).toBe(200);
  expect(await status("/metrics", bearer("prometheus"))).toBe(403);
  expect(await status("/metrics", { peer: certificateOf("root", ["system:masters"]) })).toBe(200);
});

test("a no is forgotten after its own time", async () => {
  await status("/metrics");
  await clock.advance(seconds(4));
  await status("/metrics");
  expect(asked).toHaveLength(1);
  await clock.advance(seconds(1));
  await status("/metrics");
  expect(asked).toHaveLength(2);
});

test("what goes wrong in a page is not shown, and nothing but reading is done to a page", async () => {
  const admin = { peer: certificateOf("root", ["system:masters"]) };
  const broken = await port(request("/broken", admin));
  expect([broken.status, broken.body.includes("secret")]).toEqual([500, false]);
  expect(await status("/metrics", { ...admin, method: "DELETE" })).toBe(405);
});
