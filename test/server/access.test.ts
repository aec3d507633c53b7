// Access to the secure port: every kind of credential, valid, invalid and missing, without sockets and in
// virtual time.

import { beforeEach, describe, expect, test } from "bun:test";
import { X509Certificate } from "node:crypto";
import { milliseconds, seconds } from "../../src/core/brand.ts";
import { createAuthority } from "../../src/pki/authority.ts";
import type { PeerCertificate, ServedRequest } from "../../src/platform/listener.ts";
import { seededRandom } from "../../src/platform/random.ts";
import { textAnswer } from "../../src/server/answers.ts";
import { type AuthenticationDeps, authenticate } from "../../src/server/authenticate.ts";
import { Authorizer } from "../../src/server/authorizer.ts";
import { readBundle } from "../../src/server/identity.ts";
import { type AskReview, type ReviewKind, TooManyReviews } from "../../src/server/reviews.ts";
import { readOnly, SecurePort } from "../../src/server/secure-port.ts";
import { TokenAuthenticator } from "../../src/server/token-authenticator.ts";
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
  client: "10.0.0.1",
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
  const tokens = new TokenAuthenticator(ask, { clock, lifetime: seconds(10) });
  const authentication: AuthenticationDeps = {
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
    checkToken: (headers) => tokens.check(headers),
    now: () => clock.now(),
  };
  const authorizer = new Authorizer({
    ask: reviewer,
    clock,
    alwaysAllow: ["/healthz", "/open/*"],
    allowedFor: seconds(10),
    deniedFor: seconds(5),
  });
  return new SecurePort({
    clock,
    redact: (text) => text,
    authenticate: (received) => authenticate(authentication, received),
    authorize: (user, verb, path) => authorizer.authorize(user, verb, path),
    pages: {
      "/metrics": readOnly(() => textAnswer("figures")),
      "/healthz": readOnly(() => textAnswer("ok")),
      "/open/": readOnly(() => textAnswer("open")),
      "/broken": () => {
        throw new Error("a secret stack");
      },
    },
    onInternalError: () => undefined,
  });
};
let port = portWith();
beforeEach(() => {
  asked = [];
  failure = undefined;
  port = portWith();
});
const status = async (target: string, changes: Partial<ServedRequest> = {}): Promise<number> =>
  (await port.handle(request(target, changes))).status;

describe("request without credentials", () => {
  test("a request without credentials reaches only the open paths and causes no TokenReview [F84]", async () => {
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

  test("a request without credentials gets 403 for unknown pages as well as for existing pages", async () => {
    expect(await status("/nowhere")).toBe(403);
  });

  test("a request without credentials gets 400 without any review when its path is ambiguous", async () => {
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

describe("bearer token", () => {
  test("a bearer token gives access when it is valid and the API server authorizes its user [F84]", async () => {
    expect(await status("/metrics", bearer("prometheus"))).toBe(200);
    expect(await status("/metrics", bearer("somebody"))).toBe(403);
    expect(asked[1]?.spec).toMatchObject({
      user: "prometheus",
      groups: ["scrapers", "system:authenticated"],
    });
  });

  test("an invalid bearer token gets 401, even on open paths", async () => {
    expect(await status("/metrics", bearer("wrong"))).toBe(401);
    expect(await status("/healthz", bearer("wrong"))).toBe(401);
  });

  test("a bearer token is reviewed once in ten seconds, valid or not, however many requests arrive together", async () => {
    await Promise.all(Array.from({ length: 50 }, () => status("/metrics", bearer("prometheus"))));
    await Promise.all(Array.from({ length: 50 }, () => status("/metrics", bearer("wrong"))));
    expect(asked).toHaveLength(3);
    await clock.advance(seconds(10));
    await status("/metrics", bearer("prometheus"));
    expect(asked).toHaveLength(5);
  });

  test("a bearer token gets an error that is not cached when its review fails", async () => {
    failure = new Error("away");
    expect(await status("/metrics", bearer("prometheus"))).toBe(500);
    failure = new TooManyReviews();
    expect(await status("/metrics", bearer("prometheus"))).toBe(429);
    failure = undefined;
    expect(await status("/metrics", bearer("prometheus"))).toBe(200);
  });
});

describe("client certificate", () => {
  test("a client certificate names its user and groups, and administrators need no authorization review [F84]", async () => {
    expect(await status("/metrics", { peer: certificateOf("prometheus") })).toBe(200);
    expect(await status("/metrics", { peer: certificateOf("low", ["developers"]) })).toBe(403);
    expect(asked.at(-1)?.spec).toMatchObject({ user: "low", groups: ["developers", "system:authenticated"] });
    asked = [];
    expect(await status("/metrics", { peer: certificateOf("root", ["system:masters"]) })).toBe(200);
    expect(asked).toEqual([]);
  });

  test("a client certificate gets 401 when another authority with the same name issued it", async () => {
    const forged = certificateOf("root", ["system:masters"], strangers);
    expect(await status("/metrics", { peer: forged })).toBe(401);
    expect(await status("/healthz", { peer: forged })).toBe(401);
  });

  test("a client certificate gets 401 when it is a server certificate, expired, or unreadable", async () => {
    const server = peer(clients.issueServer("prometheus", ["localhost"]).cert);
    const expired = peer(clients.issueClient({ commonName: "prometheus" }, milliseconds(-1000)).cert);
    for (const each of [server, expired, { chain: [Uint8Array.of(1, 2, 3)] }]) {
      expect(await status("/metrics", { peer: each })).toBe(401);
    }
  });

  test("a client certificate gets no group from a line break in its common name", async () => {
    await status("/metrics", { peer: certificateOf("x\nO=system:masters") });
    expect(asked.at(-1)?.spec).toMatchObject({
      user: "x\nO=system:masters",
      groups: ["system:authenticated"],
    });
  });

  test("a client certificate takes precedence over a bearer token", async () => {
    expect(await status("/metrics", { peer: certificateOf("low"), ...bearer("prometheus") })).toBe(403);
  });
});

describe("front proxy", () => {
  const headers: ServedRequest["headers"] = [
    ["x-remote-user", "jane"],
    ["x-remote-group", "a, b"],
    ["x-remote-group", "c"],
    ["x-remote-extra-example.com%2fscope", "s"],
    ["x-remote-extra-constructor", "t"],
  ];

  test("a front proxy acts for other users when its certificate comes from the proxies' authority", async () => {
    await status("/metrics", { peer: certificateOf("front", [], proxies), headers });
    expect(asked.at(-1)?.spec).toMatchObject({
      user: "jane",
      groups: ["a, b", "c", "system:authenticated"],
      extra: { "example.com/scope": ["s"], constructor: ["t"] },
    });
  });

  test("a front proxy gets 401 when its name is not allowed, and its headers are ignored from any other client", async () => {
    port = portWith({ allowedNames: ["front"] });
    expect(await status("/metrics", { peer: certificateOf("back", [], proxies), headers })).toBe(401);
    await status("/metrics", { headers });
    expect(asked.at(-1)?.spec).toMatchObject({ user: "system:anonymous" });
    await status("/metrics", { peer: certificateOf("low"), headers });
    expect(asked.at(-1)?.spec).toMatchObject({ user: "low" });
  });
});

test("the secure port serves only open paths and administrators without an API server", async () => {
  port = portWith({ ask: undefined });
  expect(await status("/healthz")).toBe(200);
  expect(await status("/metrics", bearer("prometheus"))).toBe(403);
  expect(await status("/metrics", { peer: certificateOf("root", ["system:masters"]) })).toBe(200);
});

test("one client cannot occupy all slots for token reviews [N25]", async () => {
  const silent = Promise.withResolvers<void>();
  const slow = new SecurePort({
    clock,
    redact: (text) => text,
    authenticate: async ({ client }) => {
      if (client === "10.0.0.1") await silent.promise;
      return { kind: "rejected", reason: "" };
    },
    authorize: async () => ({ allowed: false, reason: "" }),
    pages: {},
    onInternalError: () => undefined,
  });
  const ofOne = Array.from({ length: 20 }, () => slow.handle(request("/metrics")));
  const refused = await Promise.all(ofOne.slice(16));
  expect(refused.map((answer) => answer.status)).toEqual([429, 429, 429, 429]);
  expect((await slow.handle(request("/metrics", { client: "10.0.0.2" }))).status).toBe(401);
  silent.resolve();
  expect((await Promise.all(ofOne.slice(0, 16))).every((answer) => answer.status === 401)).toBe(true);
  expect((await slow.handle(request("/metrics"))).status).toBe(401);
});

test("a denied authorization expires after its own lifetime", async () => {
  await status("/metrics");
  await clock.advance(seconds(4));
  await status("/metrics");
  expect(asked).toHaveLength(1);
  await clock.advance(seconds(1));
  await status("/metrics");
  expect(asked).toHaveLength(2);
});

test("the secure port hides a page's internal errors and returns 405 for everything except reads", async () => {
  const admin = { peer: certificateOf("root", ["system:masters"]) };
  const broken = await port.handle(request("/broken", admin));
  expect([broken.status, broken.body.includes("secret")]).toEqual([500, false]);
  expect(await status("/metrics", { ...admin, method: "DELETE" })).toBe(405);
});
