// The real HTTPS server, with HTTP/1.1 and HTTP/2 on one port. Only Node's http2 server can read client certificates and
// replace its own certificate while connections are open (decision 0003).

import type { Http2Server, Http2ServerRequest, Http2ServerResponse, ServerHttp2Session } from "node:http2";
import type { AddressInfo } from "node:net";
import type { DetailedPeerCertificate, TLSSocket } from "node:tls";
import { defined } from "../core/defined.ts";
import type {
  Listen,
  ListenOptions,
  PeerCertificate,
  ServedCertificates,
  ServedHandler,
  ServedRequest,
  ServedResponse,
} from "./listener.ts";

const limits = {
  headerBytes: 32 * 1024,
  handshakeWithin: 5000,
  headersWithin: 32_000,
  requestWithin: 60_000,
  idle: 90_000,
  unreadWithin: 1000,
  streams: 100,
  connections: 512,
  /** A single client must not exhaust the slots of the API server and of probes. */
  connectionsOfClient: 64,
  chain: 5,
} as const;

/** Methods that Bun has but its types lack. */
interface SwappableServer extends Http2Server {
  setSecureContext(options: object): void;
  addContext(name: string, options: object): void;
}

const tooLarge =
  "HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
const malformed = "HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";

function peerOf(socket: TLSSocket): PeerCertificate | undefined {
  const chain: Uint8Array[] = [];
  let next: Partial<DetailedPeerCertificate> | undefined = socket.getPeerCertificate(true);
  while (next?.raw !== undefined && chain.length < limits.chain) {
    chain.push(Uint8Array.from(next.raw));
    // A root certificate is its own issuer.
    next = next.issuerCertificate === next ? undefined : next.issuerCertificate;
  }
  return chain.length === 0 ? undefined : { chain };
}

function headersOf(request: Http2ServerRequest): readonly (readonly [string, string])[] {
  const { rawHeaders } = request;
  const headers: [string, string][] = [];
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    headers.push([String(rawHeaders[index]).toLowerCase(), String(rawHeaders[index + 1])]);
  }
  return headers;
}

/** A declared length above the limit is rejected before anything is read. */
async function readBody(request: Http2ServerRequest, limit: number): Promise<string | undefined> {
  if (Number(request.headers["content-length"] ?? 0) > limit) return undefined;
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request) {
    size += (chunk as Buffer).length;
    if (size > limit) return undefined;
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function hasBody({ headers }: Http2ServerRequest): boolean {
  return Number(headers["content-length"] ?? 0) > 0 || headers["transfer-encoding"] !== undefined;
}

/** `isUnread`: part of the request was not read, so the connection cannot be reused. */
function send(
  { status, headers, body }: ServedResponse,
  { isHead, isUnread }: { readonly isHead: boolean; readonly isUnread: boolean },
  out: Http2ServerResponse,
): void {
  const length = { "content-length": String(Buffer.byteLength(body)) };
  const stream = out.stream as Http2ServerResponse["stream"] | undefined;
  const ending = isUnread && stream === undefined ? { connection: "close" } : {};
  out.writeHead(status, { ...headers, ...length, ...ending });
  const end = (): void => {
    if (!isUnread) return;
    // A client that is still sending must be able to read the response first.
    if (stream === undefined) setTimeout(() => out.socket?.destroy(), limits.unreadWithin).unref();
    else stream.close();
  };
  if (isHead) out.end(end);
  else out.end(body, end);
}

async function answer(
  handle: ServedHandler,
  request: Http2ServerRequest,
  response: Http2ServerResponse,
  from: Pick<ServedRequest, "peer" | "client">,
): Promise<void> {
  const method = request.method ?? "GET";
  let isUnread = hasBody(request);
  const served: ServedRequest = {
    method,
    target: request.url ?? "/",
    headers: headersOf(request),
    ...from,
    body: async (limit) => {
      const text = await readBody(request, limit);
      isUnread &&= text === undefined;
      return text;
    },
  };
  try {
    const answered = await handle(served);
    send(answered, { isHead: method === "HEAD", isUnread }, response);
  } catch {
    // The client disconnected during its request.
    response.destroy();
  }
}

function tlsOf({ certificates, minVersion, ciphers, curves, asksForCertificate }: ListenOptions) {
  return {
    cert: certificates.cert,
    key: certificates.key,
    minVersion,
    ...defined({ ciphers, ecdhCurve: curves }),
    requestCert: asksForCertificate,
    rejectUnauthorized: false,
  };
}

function nameContexts(server: SwappableServer, { byName = [] }: ServedCertificates): void {
  for (const { cert, key, names } of byName) {
    for (const name of names) server.addContext(name, { cert, key });
  }
}

type OnRequest = (request: Http2ServerRequest, response: Http2ServerResponse) => void;

/** An error closes only its connection, with a response if the client can still read it. */
function onBroken(error: NodeJS.ErrnoException, socket: TLSSocket): void {
  if (socket.writable && error.code?.startsWith("HPE_") === true) {
    socket.end(error.code === "HPE_HEADER_OVERFLOW" ? tooLarge : malformed);
  } else socket.destroy();
}

const timeouts = {
  headersTimeout: limits.headersWithin,
  requestTimeout: limits.requestWithin,
  keepAliveTimeout: limits.idle,
} as const;

/** The modules are imported when a port is opened, because `--version` and help start in half the time without them. */
async function bothProtocols(
  options: ListenOptions,
  onRequest: OnRequest,
  onSession: (session: ServerHttp2Session) => void,
) {
  const { createSecureServer } = await import("node:http2");
  const server = createSecureServer({
    allowHTTP1: true,
    maxHeaderSize: limits.headerBytes,
    settings: { maxConcurrentStreams: limits.streams, maxHeaderListSize: limits.headerBytes },
    ...tlsOf(options),
  } as Parameters<typeof createSecureServer>[0]);
  Object.assign(server, timeouts);
  server.on("session", onSession);
  server.on("sessionError", () => undefined);
  server.on("clientError", onBroken as () => void);
  server.on("request", onRequest);
  return server as unknown as SwappableServer;
}

/** Bun's http2 server always offers h2, so HTTP/1.1 uses a separate TLS server. */
async function onlyHttp1(options: ListenOptions, onRequest: OnRequest) {
  const [{ createServer: createHttpServer }, { createServer: createTlsServer }] = await Promise.all([
    import("node:http"),
    import("node:tls"),
  ]);
  const http = createHttpServer({ maxHeaderSize: limits.headerBytes }, (request, response) =>
    onRequest(request as unknown as Http2ServerRequest, response as unknown as Http2ServerResponse),
  );
  Object.assign(http, timeouts);
  http.on("clientError", onBroken as () => void);
  const server = createTlsServer({ ...tlsOf(options), ALPNProtocols: ["http/1.1"] }, (socket) =>
    http.emit("connection", socket),
  );
  return server as unknown as SwappableServer;
}

/** The open connections of a listener, which are limited and closed together. They count from before the TLS handshake. */
class Connections {
  readonly #sockets = new Set<TLSSocket>();
  readonly #secure = new WeakSet<TLSSocket>();
  readonly #byClient = new Map<string, number>();
  readonly #sessions = new Set<ServerHttp2Session>();
  readonly #peers = new WeakMap<TLSSocket, { readonly peer: PeerCertificate | undefined }>();

  addSocket(socket: TLSSocket): void {
    const client = socket.remoteAddress ?? "";
    const open = this.#byClient.get(client) ?? 0;
    if (this.#sockets.size >= limits.connections || open >= limits.connectionsOfClient)
      return void socket.destroy();
    this.#sockets.add(socket);
    this.#byClient.set(client, open + 1);
    socket.once("close", () => this.#removeSocket(socket, client));
    socket.on("error", () => socket.destroy());
    const handshake = setTimeout(() => {
      if (!this.#secure.has(socket)) socket.destroy();
    }, limits.handshakeWithin);
    socket.once("close", () => clearTimeout(handshake));
  }

  /** Called after a successful TLS handshake. */
  secured(socket: TLSSocket): void {
    this.#secure.add(socket);
  }

  #removeSocket(socket: TLSSocket, client: string): void {
    this.#sockets.delete(socket);
    const left = (this.#byClient.get(client) ?? 1) - 1;
    if (left === 0) this.#byClient.delete(client);
    else this.#byClient.set(client, left);
  }

  addSession(session: ServerHttp2Session): void {
    this.#sessions.add(session);
    session.once("close", () => this.#sessions.delete(session));
    session.setTimeout(limits.idle, () => session.close());
    session.on("error", () => session.destroy());
  }

  /** The client certificate, read once per connection. */
  peerOf(socket: TLSSocket): PeerCertificate | undefined {
    const known = this.#peers.get(socket) ?? { peer: peerOf(socket) };
    this.#peers.set(socket, known);
    return known.peer;
  }

  destroyAll(): void {
    for (const session of this.#sessions) session.destroy();
    for (const socket of this.#sockets) socket.destroy();
  }
}

export const systemListen: Listen = async (options) => {
  const { host, port, sharePort, asksForCertificate, handle } = options;
  const connections = new Connections();
  const onRequest: OnRequest = (request, response) => {
    const socket = (request.stream?.session?.socket ?? request.socket) as TLSSocket;
    const peer = asksForCertificate ? connections.peerOf(socket) : undefined;
    void answer(handle, request, response, { peer, client: socket.remoteAddress ?? "" });
  };
  const server = options.http2
    ? await bothProtocols(options, onRequest, (session) => connections.addSession(session))
    : await onlyHttp1(options, onRequest);
  nameContexts(server, options.certificates);
  server.on("connection", (socket) => connections.addSocket(socket as TLSSocket));
  server.on("secureConnection", (socket: TLSSocket) => connections.secured(socket));
  server.on("tlsClientError", (_: unknown, socket: TLSSocket) => socket.destroy());
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host, port, ...defined({ reusePort: sharePort || undefined }) }, () => {
      server.removeListener("error", reject);
      server.on("error", () => undefined);
      resolve({
        port: (server.address() as AddressInfo).port,
        renew: (certificates) => {
          server.setSecureContext(tlsOf({ ...options, certificates }));
          nameContexts(server, certificates);
        },
        close: () =>
          new Promise((closed) => {
            server.close(() => closed());
            connections.destroyAll();
          }),
      });
    });
  });
};
