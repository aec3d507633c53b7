// HTTP/2 without TLS on a Unix socket, which gRPC uses between programs on one machine.

import type { ServerHttp2Session, ServerHttp2Stream } from "node:http2";

export interface StreamRequest {
  readonly method: string;
  readonly path: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** Undefined if the body exceeds the limit; the rest is not read. */
  readonly body: (limit: number) => Promise<Uint8Array | undefined>;
  /** Aborted when the client has cancelled the request or is gone. */
  readonly cancelled: AbortSignal;
}

export interface StreamResponse {
  readonly headers: Readonly<Record<string, string>>;
  /** Without a body, the trailers are sent with the headers. */
  readonly body?: Uint8Array | undefined;
  readonly trailers: Readonly<Record<string, string>>;
}

export type HandleStream = (request: StreamRequest) => Promise<StreamResponse>;

export interface SocketListener {
  /** Refuses new connections, closes open connections, and removes the socket. */
  close(): Promise<void>;
}

/**
 * Listens on the path and removes a socket that an earlier process left there; only this user can connect. Rejects with an error
 * that has the system's `code`: `EADDRINUSE` if another process listens there, `EEXIST` if the file is not a socket.
 */
export type ListenOnSocket = (path: string, handle: HandleStream) => Promise<SocketListener>;

/** An iterator would destroy the stream at the limit, before the client has its response. */
function readBody(stream: ServerHttp2Stream, limit: number): Promise<Uint8Array | undefined> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    stream.on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (size <= limit) chunks.push(chunk);
      else resolve(undefined);
    });
    stream.on("end", () => resolve(Buffer.concat(chunks)));
    stream.on("close", () => reject(new Error("the client has ended the call")));
  });
}

function send(stream: ServerHttp2Stream, { headers, body, trailers }: StreamResponse): void {
  if (stream.destroyed || stream.closed) return;
  if (body === undefined) {
    stream.respond({ ":status": 200, ...headers, ...trailers }, { endStream: true });
    return;
  }
  stream.respond({ ":status": 200, ...headers }, { waitForTrailers: true });
  stream.on("wantTrailers", () => stream.sendTrailers({ ...trailers }));
  stream.end(body);
}

function textsOf(headers: Readonly<Record<string, unknown>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
}

async function serve(stream: ServerHttp2Stream, raw: object, handle: HandleStream): Promise<void> {
  const headers = textsOf(raw as Readonly<Record<string, unknown>>);
  const controller = new AbortController();
  stream.once("close", () => controller.abort(new Error("the client has ended the call")));
  stream.on("error", () => undefined);
  const response = await handle({
    method: headers[":method"] ?? "",
    path: headers[":path"] ?? "",
    headers,
    body: (limit) => readBody(stream, limit),
    cancelled: controller.signal,
  });
  send(stream, response);
}

/** A socket of a process that has ended rejects connections. Files that are not sockets stay. */
async function removeAbandoned(path: string): Promise<void> {
  const [{ connect }, { lstat, rm }] = await Promise.all([import("node:net"), import("node:fs/promises")]);
  const found = await lstat(path).catch(() => undefined);
  if (found === undefined) return;
  if (!found.isSocket())
    throw Object.assign(new Error("it is not a socket, so it stays"), { code: "EEXIST" });
  const isServed = await new Promise<boolean>((resolve) => {
    const socket = connect(path, () => {
      socket.destroy();
      resolve(true);
    });
    socket.on("error", () => resolve(false));
  });
  if (isServed) throw Object.assign(new Error("another process listens on it"), { code: "EADDRINUSE" });
  await rm(path, { force: true });
}

export const listenOnSocket: ListenOnSocket = async (path, handle) => {
  const [{ createServer }, { chmod, rm }] = await Promise.all([
    import("node:http2"),
    import("node:fs/promises"),
  ]);
  await removeAbandoned(path);
  const server = createServer({ settings: { maxConcurrentStreams: 1000 } });
  const sessions = new Set<ServerHttp2Session>();
  server.on("session", (session) => {
    sessions.add(session);
    session.once("close", () => sessions.delete(session));
    session.on("error", () => session.destroy());
  });
  server.on("sessionError", () => undefined);
  server.on("stream", (stream, headers) => {
    // A handler that throws has no response for the client.
    serve(stream as ServerHttp2Stream, headers, handle).catch(() => stream.destroy());
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(path, () => {
      server.removeListener("error", reject);
      resolve();
    });
  });
  await chmod(path, 0o600);
  return {
    close: async () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const session of sessions) session.destroy();
      await closed;
      await rm(path, { force: true });
    },
  };
};
