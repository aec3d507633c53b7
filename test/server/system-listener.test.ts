// The HTTPS listener over real sockets on loopback: what the HTTPS server of the runtime must support.

import { afterEach, describe, expect, test } from "bun:test";
import { connect as connectHttp2 } from "node:http2";
import { request } from "node:https";
import { connect as connectTCP } from "node:net";
import { connect, type TLSSocket } from "node:tls";
import { createAuthority } from "../../src/pki/authority.ts";
import { systemClock } from "../../src/platform/clock.ts";
import type { Listener, ListenOptions, ServedRequest } from "../../src/platform/listener.ts";
import { systemRandom } from "../../src/platform/random.ts";
import { systemListen } from "../../src/platform/system-listener.ts";
import { systemTransport } from "../../src/platform/transport.ts";
import { runsAllTests } from "../../src/testing/breadth.ts";

const authority = createAuthority("test-ca", systemClock, systemRandom);
const server = (name: string, names = ["127.0.0.1", "localhost"]) => authority.issueServer(name, names);
const alice = authority.issueClient({ commonName: "alice", organizations: ["a", "b"] });

let listener: Listener | undefined;
afterEach(async () => {
  await listener?.close();
  listener = undefined;
});

const listen = async (changes: Partial<ListenOptions> = {}): Promise<Listener> => {
  listener = await systemListen({
    host: "127.0.0.1",
    port: 0,
    certificates: server("one"),
    minVersion: "TLSv1.2",
    http2: true,
    sharePort: false,
    asksForCertificate: true,
    handle: async ({ method, target, peer, body, client }) => {
      expect(client).toBe("127.0.0.1");
      const text = await body(1000);
      const seen = { method, target, certificates: peer?.chain.length ?? 0, body: text ?? "too long" };
      return { status: 200, headers: { "content-type": "application/json" }, body: JSON.stringify(seen) };
    },
    ...changes,
  });
  return listener;
};

const open = (options: object): Promise<TLSSocket> =>
  new Promise((resolve, reject) => {
    const socket = connect(
      { host: "127.0.0.1", port: listener?.port ?? 0, ca: authority.cert, ...options },
      () => resolve(socket),
    );
    socket.on("error", reject);
  });

/** Sends one request over a socket that stays open. */
const ask = (socket: TLSSocket, text: string): Promise<string> =>
  new Promise((resolve, reject) => {
    let got = "";
    const onData = (part: Buffer) => {
      got += part.toString();
      const length = /content-length: (\d+)/i.exec(got)?.[1];
      const body = got.split("\r\n\r\n")[1] ?? "";
      if (length === undefined || body.length < Number(length)) return;
      socket.off("data", onData);
      resolve(got);
    };
    socket.on("data", onData);
    socket.once("close", () => reject(new Error(`closed after ${JSON.stringify(got)}`)));
    socket.write(text);
  });
const get = (path: string, headers = ""): string =>
  `GET ${path} HTTP/1.1\r\nhost: localhost\r\n${headers}\r\n`;

const bodyOf = (reply: string): Record<string, unknown> => JSON.parse(reply.split("\r\n\r\n")[1] ?? "");

describe("HTTPS listener", () => {
  test("the HTTPS listener answers HTTP/1.1 and HTTP/2 on one port, and HEAD without a body", async () => {
    const { port } = await listen();
    const first = await fetch(`https://localhost:${port}/x?y=1`, { tls: { ca: authority.cert } });
    expect(await first.json()).toEqual({ method: "GET", target: "/x?y=1", certificates: 0, body: "" });
    const second = await fetch(`https://localhost:${port}/h2`, {
      method: "POST",
      body: "hello",
      protocol: "http2",
      tls: { ca: authority.cert },
    } as BunFetchRequestInit);
    expect(await second.json()).toEqual({ method: "POST", target: "/h2", certificates: 0, body: "hello" });
    const head = await fetch(`https://localhost:${port}/x`, { method: "HEAD", tls: { ca: authority.cert } });
    expect([head.status, await head.text()]).toEqual([200, ""]);
  });

  test("the HTTPS listener receives the client certificate that the transport of the process sends", async () => {
    const { port } = await listen({ http2: false });
    const send = (client: { key: string; cert: string } | object) =>
      systemTransport(
        { method: "GET", url: `https://localhost:${port}/x`, tls: { ca: authority.cert, ...client } },
        new AbortController().signal,
      ).then((response) => response.json() as Promise<Record<string, unknown>>);
    expect((await send(alice))["certificates"]).toBeGreaterThan(0);
    expect((await send({}))["certificates"]).toBe(0);
  });

  test("the HTTPS listener passes the client certificate to the handler, even in resumed TLS sessions", async () => {
    await listen();
    const first = await open({ cert: alice.cert, key: alice.key });
    const session = new Promise<Buffer>((resolve) => first.once("session", resolve));
    expect(bodyOf(await ask(first, get("/")))["certificates"]).toBeGreaterThan(0);
    const resumed = await open({ cert: alice.cert, key: alice.key, session: await session });
    expect(resumed.isSessionReused()).toBe(true);
    expect(bodyOf(await ask(resumed, get("/")))["certificates"]).toBeGreaterThan(0);
    first.destroy();
    resumed.destroy();
  });

  test("the HTTPS listener replaces its certificate without closing open connections, and uses it for new connections", async () => {
    const { renew } = await listen();
    const before = await open({});
    expect(before.getPeerCertificate().subject.CN).toBe("one");
    await ask(before, get("/1"));
    renew(server("two"));
    expect(bodyOf(await ask(before, get("/2")))["target"]).toBe("/2");
    const after = await open({ cert: alice.cert, key: alice.key });
    expect(after.getPeerCertificate().subject.CN).toBe("two");
    expect(bodyOf(await ask(after, get("/3")))["certificates"]).toBeGreaterThan(0);
    before.destroy();
    after.destroy();
  });

  test("the HTTPS listener serves the certificate for the requested server name, even after a renewal", async () => {
    const named = (name: string) => ({ ...server(name, ["foo.example"]), names: ["foo.example"] });
    const { renew } = await listen({ certificates: { ...server("one"), byName: [named("foo")] } });
    const first = await open({ servername: "foo.example" });
    expect(first.getPeerCertificate().subject.CN).toBe("foo");
    renew({ ...server("two"), byName: [named("newer")] });
    const second = await open({ servername: "foo.example" });
    expect(second.getPeerCertificate().subject.CN).toBe("newer");
    const other = await open({ servername: "localhost" });
    expect(other.getPeerCertificate().subject.CN).toBe("two");
    for (const socket of [first, second, other]) socket.destroy();
  });

  test("the HTTPS listener rejects TLS below its minimum version", async () => {
    await listen({ minVersion: "TLSv1.3" });
    const modern = await open({});
    expect(modern.getProtocol()).toBe("TLSv1.3");
    modern.destroy();
    await expect(open({ maxVersion: "TLSv1.2" })).rejects.toThrow();
  });

  test("the HTTPS listener supports only HTTP/1.1 when HTTP/2 is disabled", async () => {
    const { port } = await listen({ http2: false });
    const socket = await open({ ALPNProtocols: ["h2", "http/1.1"] });
    expect(socket.alpnProtocol).toBe("http/1.1");
    socket.destroy();
    const answer = await fetch(`https://localhost:${port}/`, { tls: { ca: authority.cert } });
    expect(answer.status).toBe(200);
  });

  test("the HTTPS listener responds with 431 to headers that are too long, and reports a body that is too long to the handler", async () => {
    const { port } = await listen();
    const status = await new Promise((resolve) => {
      const long = { "x-long": "a".repeat(40_000) };
      request({ host: "127.0.0.1", port, ca: authority.cert, headers: long }, (reply) =>
        resolve(reply.statusCode),
      )
        .on("error", (error: NodeJS.ErrnoException) => resolve(error.code))
        .end();
    });
    expect(status).toBe(431);
    const body = "b".repeat(100_000);
    const answer = await fetch(`https://localhost:${port}/`, {
      method: "POST",
      body,
      tls: { ca: authority.cert },
    });
    expect(((await answer.json()) as { body: string }).body).toBe("too long");
  });

  test("the HTTPS listener ends the connection of a client whose body it does not read [N25]", async () => {
    for (const http2 of [true, false]) {
      await listen({ http2, handle: async () => ({ status: 200, headers: {}, body: "unread" }) });
      const socket = await open({ ALPNProtocols: ["http/1.1"] });
      const closed = new Promise((resolve) => socket.once("close", resolve));
      const reply = await ask(
        socket,
        `POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1000000000\r\n\r\n`,
      );
      expect(reply).toMatch(/^HTTP\/1.1 200 [\s\S]*connection: close/i);
      await closed;
      await listener?.close();
    }
  });

  test("the HTTPS listener rejects a declared length above the limit before a byte of the body arrives [N25]", async () => {
    await listen();
    const socket = await open({ ALPNProtocols: ["http/1.1"] });
    const head = "POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1001\r\n\r\n";
    expect(bodyOf(await ask(socket, head))["body"]).toBe("too long");
    socket.destroy();
  });

  test("the HTTPS listener accepts 64 connections of one client, and another connection when one of them ends [N25]", async () => {
    await listen();
    const sockets: TLSSocket[] = [];
    const isServed = async (): Promise<boolean> => {
      const socket = await open({ ALPNProtocols: ["http/1.1"] }).catch(() => undefined);
      if (socket === undefined) return false;
      sockets.push(socket);
      return ask(socket, get("/")).then(
        () => true,
        () => false,
      );
    };
    for (let index = 0; index < 64; index++) expect(await isServed()).toBe(true);
    expect(await isServed()).toBe(false);
    const ended = new Promise((resolve) => sockets[0]?.once("close", resolve));
    sockets[0]?.end();
    await ended;
    const replaced = async (): Promise<boolean> => (await isServed()) || replaced();
    expect(await replaced()).toBe(true);
    for (const socket of sockets) socket.destroy();
  });

  test.each([true, false])(
    "the HTTPS listener counts connections before their TLS handshake, with http2 %p [N25]",
    async (http2) => {
      const { port } = await listen({ http2 });
      const sockets = Array.from({ length: 70 }, () =>
        connectTCP(port, "127.0.0.1").on("error", () => undefined),
      );
      const ends = sockets.map((socket) => new Promise((resolve) => socket.once("close", resolve)));
      await Promise.race(ends);
      await expect(open({})).rejects.toThrow();
      for (const socket of sockets) socket.destroy();
      await Promise.all(ends);
      const again = (): Promise<TLSSocket> => open({ ALPNProtocols: ["http/1.1"] }).catch(again);
      const socket = await again();
      expect(await ask(socket, get("/"))).toContain("200");
      socket.destroy();
    },
  );

  test.if(runsAllTests)(
    "the HTTPS listener ends a connection whose TLS handshake takes longer than 5 s [N25]",
    async () => {
      const { port } = await listen();
      const socket = connectTCP(port, "127.0.0.1");
      await new Promise((resolve) => socket.once("close", resolve));
      expect(socket.destroyed).toBe(true);
    },
  );

  test("the HTTPS listener keeps repeated header lines apart, in HTTP/1.1 and HTTP/2", async () => {
    let seen: ServedRequest["headers"] = [];
    const { port } = await listen({
      handle: async ({ headers }) => {
        seen = headers;
        return { status: 200, headers: {}, body: "ok" };
      },
    });
    const groups = () => seen.filter(([name]) => name === "x-remote-group").map(([, value]) => value);
    const socket = await open({});
    await ask(socket, get("/", "X-Remote-Group: a, b\r\nX-Remote-Group: c\r\n"));
    expect(groups()).toEqual(["a, b", "c"]);
    socket.destroy();
    const session = connectHttp2(`https://localhost:${port}`, { ca: authority.cert });
    await new Promise((resolve, reject) => {
      const stream = session.request({ ":path": "/", "x-remote-group": ["a", "b"] });
      stream.on("response", resolve).on("error", reject).end();
    });
    session.destroy();
    expect(groups()).toEqual(["a", "b"]);
  });

  test("the HTTPS listener fails with EADDRINUSE when the port is in use", async () => {
    const { port } = await listen();
    await expect(
      systemListen({
        host: "127.0.0.1",
        port,
        certificates: server("other"),
        minVersion: "TLSv1.2",
        http2: true,
        sharePort: false,
        asksForCertificate: false,
        handle: async () => ({ status: 200, headers: {}, body: "" }),
      }),
    ).rejects.toMatchObject({ code: "EADDRINUSE" });
  });

  test("the HTTPS listener closes open connections when it closes", async () => {
    const mine = await listen();
    const socket = await open({});
    await ask(socket, get("/"));
    const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
    await mine.close();
    await closed;
    await expect(open({})).rejects.toThrow();
  });
});
