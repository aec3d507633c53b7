// Serves the test API server on loopback, for clients with a bearer token.

import { defined } from "../../../core/defined.ts";
import type { Authority } from "../../../pki/authority.ts";
import type { Files } from "../../../platform/files.ts";
import type { ApiServer } from "../api-server.ts";
import { administrator, bearerToken } from "../as-transport.ts";
import { answerError } from "../http/answer.ts";
import { unauthorized } from "../objects/api-error.ts";
import type { JsonObject } from "../objects/json.ts";
import type { Identity } from "../objects/kube-object.ts";

interface HttpsServerOptions {
  readonly server: ApiServer;
  readonly authority: Authority;
  /** 0 or unset selects any free port. */
  readonly port?: number;
  /** The administrator's token. */
  readonly token: string;
}

const names = ["localhost", "127.0.0.1", "::1", "kubernetes.default.svc"];

const isWatch = /[?&]watch=(1|true)(&|$)/;

/** A response whose connection breaks. The error has no reason, because Bun would print it. */
function brokenResponse(): Response {
  return new Response(new ReadableStream({ start: (controller) => controller.error() }));
}

async function answer(
  server: ApiServer,
  request: Request,
  identity: Identity | undefined,
): Promise<Response> {
  if (identity === undefined) return answerError(unauthorized());
  const body = request.body === null ? undefined : Uint8Array.from(await request.bytes());
  const { method, url, headers, signal } = request;
  const plain = defined({ method, url, headers: Object.fromEntries(headers), body });
  try {
    const response = await server.handle(plain, identity, signal);
    if (response.body === null || !isWatch.test(url)) return response;
    return new Response(openedStream(response.body), { status: response.status, headers: response.headers });
  } catch {
    return brokenResponse();
  }
}

/** The socket of a test API server. It can be stopped and restarted; the objects stay with the ApiServer. */
export class HttpsServer {
  readonly url: string;
  readonly ca: string;
  /** The context `token` is an administrator. */
  readonly kubeconfig: string;
  readonly #options: HttpsServerOptions;
  readonly #port: number;
  readonly #certificate: { readonly cert: string; readonly key: string };
  #listener: Bun.Server<undefined>;

  private constructor(options: HttpsServerOptions) {
    const { authority, token } = options;
    this.#options = options;
    this.#certificate = authority.issueServer("test-api-server", names);
    this.#listener = this.#listen(options.port ?? 0);
    this.#port = this.#listener.port ?? 0;
    this.url = `https://127.0.0.1:${this.#port}`;
    this.ca = authority.cert;
    this.kubeconfig = writeKubeconfig(authority.cert, [{ name: "token", server: this.url, token }]);
  }

  static async start(options: HttpsServerOptions): Promise<HttpsServer> {
    return new HttpsServer(options);
  }

  /** Breaks every connection. */
  async stop(): Promise<void> {
    await this.#listener.stop(true);
  }

  /** Listens on the same port again. */
  async restart(): Promise<void> {
    this.#listener = this.#listen(this.#port);
  }

  #listen(port: number): Bun.Server<undefined> {
    const { server, token: adminToken } = this.#options;
    const identify = (request: Request): Identity | undefined => {
      const token = bearerToken(request.headers.get("authorization"));
      if (token === undefined) return undefined;
      return token === adminToken ? administrator : server.identityOf(token);
    };
    return Bun.serve({
      hostname: "127.0.0.1",
      port,
      // Watches may be silent for a long time.
      idleTimeout: 0,
      development: false,
      // Outside development mode, Bun would share the port with other processes.
      reusePort: false,
      tls: this.#certificate,
      fetch: (request) => answer(server, request, identify(request)),
    });
  }
}

/** Readable only by the owner, because it contains credentials. */
export function saveKubeconfig(https: HttpsServer, files: Files, path: string): Promise<void> {
  return files.write(path, https.kubeconfig, 0o600);
}

export interface KubeconfigUser {
  readonly name: string;
  readonly server: string;
  readonly token?: string;
  readonly cert?: string;
  readonly key?: string;
}

const base64 = (text: string): string => Buffer.from(text).toString("base64");

function credentialsOf({ token, cert, key }: KubeconfigUser): JsonObject {
  return defined({
    token,
    "client-certificate-data": cert && base64(cert),
    "client-key-data": key && base64(key),
  });
}

/**
 * The text of a kubeconfig with embedded credentials, as JSON, which is valid YAML. Each user has a context
 * with the same name; the first one is current.
 */
export function writeKubeconfig(ca: string, users: readonly KubeconfigUser[]): string {
  return `${JSON.stringify(
    {
      apiVersion: "v1",
      kind: "Config",
      "current-context": users[0]?.name ?? "",
      clusters: users.map(({ name, server }) => ({
        name,
        cluster: { server, "certificate-authority-data": base64(ca) },
      })),
      users: users.map((user) => ({ name: user.name, user: credentialsOf(user) })),
      contexts: users.map(({ name }) => ({ name, context: { cluster: name, user: name } })),
    },
    null,
    2,
  )}\n`;
}

const blankLine = Uint8Array.of(0x0a);

/**
 * Lets a client see that its watch is open before the first event. Bun.serve delays a response's headers
 * until the first byte of the body, so an empty line is sent first. Readers of JSON lines skip it.
 */
function openedStream(
  stream: ReadableStream<Uint8Array<ArrayBuffer>>,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  return stream.pipeThrough(new TransformStream({ start: (controller) => controller.enqueue(blankLine) }));
}
