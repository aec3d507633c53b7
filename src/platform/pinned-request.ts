// Sends a request to a server whose certificate is known by its fingerprint, whatever authority signed it. The runtime's `fetch`
// would send the request before the fingerprint can be checked. Each request opens a new connection, and uses no proxy.

import type { IncomingMessage } from "node:http";
import type { TLSSocket } from "node:tls";

export interface PinnedRequest {
  readonly method: string;
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array<ArrayBuffer> | undefined;
}

/** The server's certificate does not match. */
class FingerprintError extends Error {
  readonly code = "CERT_FINGERPRINT_DIFFERS";
}

/** Hexadecimal digits without colons: 40 of SHA-1, or 64 of SHA-256. */
const plain = (fingerprint: string): string => fingerprint.replaceAll(/[^0-9a-f]/gi, "").toLowerCase();

async function verifiedSocket(url: URL, wanted: string, signal: AbortSignal): Promise<TLSSocket> {
  const { connect } = await import("node:tls");
  signal.throwIfAborted();
  const host = url.hostname.replace(/^\[|\]$/g, "");
  return new Promise((resolve, reject) => {
    const options = { host, port: Number(url.port || 443), rejectUnauthorized: false };
    const fail = (error: unknown): void => {
      signal.removeEventListener("abort", onAbort);
      socket.destroy();
      reject(error);
    };
    const onAbort = (): void => fail(signal.reason);
    const socket = connect(options, () => {
      signal.removeEventListener("abort", onAbort);
      const { fingerprint = "", fingerprint256 = "" } = socket.getPeerCertificate();
      const isIt = [fingerprint, fingerprint256].some((one) => one !== "" && plain(one) === plain(wanted));
      if (isIt) resolve(socket);
      else
        fail(new FingerprintError(`The certificate of ${url.host} has the fingerprint ${fingerprint256}.`));
    });
    signal.addEventListener("abort", onAbort, { once: true });
    socket.on("error", fail);
  });
}

function headersOf({ headers }: IncomingMessage): Headers {
  const all = new Headers();
  for (const [name, value] of Object.entries(headers))
    for (const one of Array.isArray(value) ? value : [value ?? ""]) all.append(name, one);
  return all;
}

/** Responses with these statuses have no body, and the constructor rejects a body. */
const bodiless: readonly number[] = [204, 205, 304];

/** Streams the body, so that its reader can limit the size. The end of the body closes the connection. */
function bodyOf(message: IncomingMessage, socket: TLSSocket): ReadableStream<Uint8Array> {
  const chunks = message[Symbol.asyncIterator]();
  return new ReadableStream({
    pull: async (controller) => {
      const { done, value } = await chunks.next();
      if (done !== true) return controller.enqueue(new Uint8Array(value));
      socket.destroy();
      controller.close();
    },
    cancel: () => void socket.destroy(),
  });
}

function responseOf(message: IncomingMessage, socket: TLSSocket): Response {
  const { statusCode: status = 0 } = message;
  const init = { status, headers: headersOf(message) };
  if (!bodiless.includes(status)) return new Response(bodyOf(message, socket), init);
  socket.destroy();
  return new Response(null, init);
}

/** `fingerprint` is a SHA-1 or SHA-256 fingerprint, with or without colons. */
export async function pinnedRequest(
  { method, url, headers, body }: PinnedRequest,
  fingerprint: string,
  signal: AbortSignal,
): Promise<Response> {
  const target = new URL(url);
  const [{ request }, socket] = await Promise.all([
    import("node:http"),
    verifiedSocket(target, fingerprint, signal),
  ]);
  try {
    const sent = typeof body === "string" ? new TextEncoder().encode(body) : body;
    const message = await new Promise<IncomingMessage>((resolve, reject) => {
      const outgoing = request(
        {
          method,
          path: target.pathname + target.search,
          signal,
          headers: {
            ...headers,
            host: target.host,
            connection: "close",
            "content-length": String(sent?.length ?? 0),
          },
          createConnection: () => socket,
        },
        resolve,
      );
      outgoing.on("error", reject);
      outgoing.end(sent);
    });
    return responseOf(message, socket);
  } catch (error) {
    socket.destroy();
    signal.throwIfAborted();
    throw error;
  }
}
