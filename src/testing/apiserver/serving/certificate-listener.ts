// Serves clients that authenticate by certificate. It needs node:tls, because Bun.serve does not expose the client's certificate.

import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { createServer as createTlsServer, type TLSSocket, type Server as TlsServer } from "node:tls";
import { defined } from "../../../core/defined.ts";
import type { ApiServer } from "../api-server.ts";
import { answerError } from "../http/answer.ts";
import { unauthorized } from "../objects/api-error.ts";
import type { Identity } from "../objects/kube-object.ts";

export interface ListenerCredentials {
  readonly key: string;
  readonly cert: string;
  /** Client certificates must be issued by this authority. */
  readonly ca: string;
}

/** CN is the user, each O a group. The subject counts only when the certificate was verified. */
function identityOf(socket: TLSSocket): Identity | undefined {
  if (!socket.authorized) return undefined;
  const { CN, O } = socket.getPeerCertificate().subject as unknown as Record<
    string,
    string | string[] | undefined
  >;
  if (typeof CN !== "string") return undefined;
  const groups = O === undefined ? [] : Array.isArray(O) ? O : [O];
  return { username: CN, groups: [...groups, "system:authenticated"] };
}

async function readBody(message: IncomingMessage): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Buffer[] = [];
  for await (const chunk of message) chunks.push(chunk as Buffer);
  return Uint8Array.from(Buffer.concat(chunks));
}

async function send(response: Response, outgoing: ServerResponse): Promise<void> {
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  outgoing.flushHeaders();
  const reader = response.body?.getReader();
  for (let part = await reader?.read(); part !== undefined && !part.done; part = await reader?.read()) {
    if (!outgoing.write(part.value)) await once(outgoing, "drain");
  }
  outgoing.end();
}

async function serve(
  server: ApiServer,
  identity: Identity | undefined,
  message: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const stop = new AbortController();
  outgoing.once("close", () => stop.abort(new Error("The client disconnected.")));
  try {
    const body = await readBody(message);
    const headers: Record<string, string> = {};
    for (const [key, value] of Object.entries(message.headers)) headers[key] = String(value);
    const request = defined({
      method: message.method ?? "GET",
      url: `https://test-api-server${message.url ?? "/"}`,
      headers,
      body: body.length > 0 ? body : undefined,
    });
    const response =
      identity === undefined
        ? answerError(unauthorized())
        : await server.handle(request, identity, stop.signal);
    await send(response, outgoing);
  } catch {
    message.socket.destroy();
  }
}

export class CertificateListener {
  readonly port: number;
  readonly #listener: TlsServer;
  readonly #sockets: Set<Socket>;

  private constructor(port: number, listener: TlsServer, sockets: Set<Socket>) {
    this.port = port;
    this.#listener = listener;
    this.#sockets = sockets;
  }

  /** Listens on loopback; port 0 is any free port. */
  static async start(
    server: ApiServer,
    { key, cert, ca }: ListenerCredentials,
    port: number,
  ): Promise<CertificateListener> {
    const sockets = new Set<Socket>();
    const identities = new WeakMap<Socket, Identity>();
    const http = createServer((message, outgoing) => {
      void serve(server, identities.get(message.socket), message, outgoing);
    });
    const listener = createTlsServer(
      { key, cert, ca, requestCert: true, rejectUnauthorized: false },
      (socket) => {
        const identity = identityOf(socket);
        if (identity !== undefined) identities.set(socket, identity);
        sockets.add(socket);
        socket.once("close", () => sockets.delete(socket));
        socket.on("error", () => socket.destroy());
        http.emit("connection", socket);
      },
    );
    listener.listen(port, "127.0.0.1");
    await once(listener, "listening");
    const address = listener.address();
    const actualPort = typeof address === "object" && address !== null ? address.port : port;
    return new CertificateListener(actualPort, listener, sockets);
  }

  /** Breaks every connection. */
  stop(): Promise<void> {
    return new Promise((resolve) => {
      this.#listener.close(() => resolve());
      for (const socket of this.#sockets) socket.destroy();
    });
  }
}
