// WebSockets over the loopback interface: certificates, rejections, limits, and how a connection ends.

import { afterEach, expect, test } from "bun:test";
import { type AddressInfo, connect, createServer } from "node:net";
import { createAuthority } from "../../src/pki/authority.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { systemRandom } from "../../src/platform/random.ts";
import {
  type OpenSocket,
  openSocketWith,
  type SocketRequest,
  systemSocket,
} from "../../src/platform/socket.ts";
import { VirtualClock } from "../../src/testing/virtual-time/virtual-clock.ts";

type Sent = Bun.ServerWebSocket<undefined>;
let stop: (() => Promise<void>) | undefined;
afterEach(() => stop?.());

const authority = createAuthority("sockets", systemClock, systemRandom);

/** A server that calls `onOpen` with each connection, and rejects `/refuse`. */
function serve(onOpen: (socket: Sent) => void, { isSecure = false } = {}) {
  const received: (string | null)[] = [];
  const server = Bun.serve<undefined>({
    hostname: "127.0.0.1",
    port: 0,
    ...(isSecure && { tls: authority.issueServer("server", ["127.0.0.1"]) }),
    fetch: (request, serving) => {
      received.push(request.headers.get("authorization"));
      if (request.url.endsWith("/refuse")) return new Response("no", { status: 401 });
      return serving.upgrade(request, { data: undefined }) ? undefined : new Response("?", { status: 400 });
    },
    websocket: { open: onOpen, message: () => undefined },
  });
  stop = () => server.stop(true);
  return { url: server.url.origin, received };
}

/** Reads at most this number of messages. */
async function read(
  request: SocketRequest,
  count: number,
  {
    open = systemSocket,
    signal = new AbortController().signal,
  }: { open?: OpenSocket; signal?: AbortSignal } = {},
): Promise<readonly string[]> {
  const messages: string[] = [];
  for await (const message of open(request, signal)) {
    messages.push(message);
    if (messages.length === count) break;
  }
  return messages;
}

test("openSocket yields an empty text when the socket is open, then each message, and ends when the server closes the socket", async () => {
  const { url, received } = serve((socket) => {
    socket.send("one");
    socket.send("two");
    socket.close();
  });
  const headers = { authorization: "Basic abc" };
  expect(await read({ url, headers }, 10)).toEqual(["", "one", "two"]);
  expect(received).toEqual(["Basic abc"]);
});

test("openSocket accepts only a certificate of the given authority, unless verification is disabled", async () => {
  const { url } = serve((socket) => void socket.send("one"), { isSecure: true });
  const other = createAuthority("other", systemClock, systemRandom);
  await expect(read({ url }, 1)).rejects.toThrow(/^The WebSocket failed: .*(certificate|handshake)/i);
  await expect(read({ url, tls: { ca: other.cert } }, 1)).rejects.toThrow(/^The WebSocket failed: /);
  expect(await read({ url, tls: { ca: authority.cert } }, 2)).toEqual(["", "one"]);
  expect(await read({ url, tls: { skipVerification: true } }, 2)).toEqual(["", "one"]);
});

test("openSocket connects through a proxy, with the server's certificate", async () => {
  const { url } = serve((socket) => void socket.send("one"), { isSecure: true });
  const asked: string[] = [];
  const proxy = createServer((client) => {
    client.once("data", (head) => {
      asked.push(String(head).split(" HTTP")[0] ?? "");
      const server = connect(Number(new URL(url).port), "127.0.0.1", () => {
        client.write("HTTP/1.1 200 Connection established\r\n\r\n");
        client.pipe(server).pipe(client);
      });
      server.on("error", () => client.destroy());
    });
    client.on("error", () => undefined);
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  const { port } = proxy.address() as AddressInfo;
  const request = { url, tls: { ca: authority.cert }, proxy: `http://127.0.0.1:${port}` };
  expect(await read(request, 2)).toEqual(["", "one"]);
  expect(asked).toEqual([`CONNECT ${new URL(url).host}`]);
  proxy.close();
});

test("openSocket reports the status of a rejection, and neither the URL nor the credential", async () => {
  const { url } = serve(() => undefined);
  const failure = read({ url: `${url}/refuse`, headers: { authorization: "Basic c2VjcmV0" } }, 1);
  await expect(failure).rejects.toMatchObject({
    status: 401,
    message: "The server refused the WebSocket (401).",
  });
});

test("openSocket reports that no server listens, and that the connection was lost", async () => {
  await expect(read({ url: "http://127.0.0.1:1" }, 1)).rejects.toThrow(/^The WebSocket failed/);
  const { url } = serve((socket) => {
    socket.send("one");
    setTimeout(() => socket.terminate(), 1);
  });
  await expect(read({ url }, 10)).rejects.toThrow("The connection broke.");
});

test("openSocket ends with the reason when its signal is aborted, and closes the connection", async () => {
  const closed = Promise.withResolvers<void>();
  const server = Bun.serve<undefined>({
    hostname: "127.0.0.1",
    port: 0,
    fetch: (request, serving) => (serving.upgrade(request, { data: undefined }) ? undefined : new Response()),
    websocket: { message: () => undefined, close: () => closed.resolve() },
  });
  stop = () => server.stop(true);
  const controller = new AbortController();
  const reading = async (): Promise<void> => {
    for await (const _ of systemSocket({ url: server.url.origin }, controller.signal))
      controller.abort(new Error("It is over."));
  };
  await expect(reading()).rejects.toThrow("It is over.");
  await closed.promise;
});

test("openSocket closes a connection whose messages are larger than its limit, or arrive faster than they are read", async () => {
  const large = serve((socket) => void socket.send("x".repeat(2000)));
  const clock = new VirtualClock();
  const open = openSocketWith({ unread: 1000, perTenSeconds: 5000 }, clock);
  await expect(read({ url: large.url }, 10, { open })).rejects.toThrow(
    "The server sends more than Fairlead reads.",
  );
  await stop?.();
  const fast = serve((socket) => {
    const send = (): void => {
      if (socket.send("y".repeat(500)) > 0) setTimeout(send, 0);
    };
    send();
  });
  let received = 0;
  const reading = async (): Promise<void> => {
    for await (const message of open({ url: fast.url }, new AbortController().signal))
      received += message.length;
  };
  await expect(reading()).rejects.toThrow("The server sends more than Fairlead reads.");
  expect(received).toBe(5000);
});

test("openSocket rejects a binary message", async () => {
  const { url } = serve((socket) => void socket.send(new Uint8Array(3)));
  await expect(read({ url }, 10)).rejects.toThrow("The server sent a binary message.");
});
