// The interface of an HTTPS server. Tests provide one without sockets and call the handler themselves.

/** A client certificate. The client proved in the TLS handshake that it holds the key; the issuer has not been verified. */
export interface PeerCertificate {
  /**
   * DER: the client's certificate, then the intermediates that it sent. All requests of a connection share the array.
   */
  readonly chain: readonly Uint8Array[];
}

export interface ServedRequest {
  readonly method: string;
  /** Path and query as sent. */
  readonly target: string;
  /** Names in lower case; one entry per header line. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly peer: PeerCertificate | undefined;
  /** The IP address of the client, or of the proxy before it. */
  readonly client: string;
  /** Undefined if the body exceeds the limit. If a body is not read completely, the connection is closed. */
  readonly body: (limit: number) => Promise<string | undefined>;
}

export interface ServedResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export type ServedHandler = (request: ServedRequest) => Promise<ServedResponse>;

export interface KeyPair {
  /** PEM. */
  readonly cert: string;
  readonly key: string;
}

export interface ServedCertificates extends KeyPair {
  /** Served to clients that request one of these names (SNI). */
  readonly byName?: readonly (KeyPair & { readonly names: readonly string[] })[];
}

export interface ListenOptions {
  readonly host: string;
  /** 0 selects a free port. */
  readonly port: number;
  readonly certificates: ServedCertificates;
  readonly minVersion: "TLSv1.2" | "TLSv1.3";
  /** OpenSSL names, for TLS 1.2. */
  readonly ciphers?: string;
  readonly curves?: string;
  readonly http2: boolean;
  readonly sharePort: boolean;
  /** Requests a client certificate, but does not require one and accepts any. */
  readonly asksForCertificate: boolean;
  readonly handle: ServedHandler;
}

export interface Listener {
  readonly port: number;
  /** Applies to new handshakes; open connections stay. */
  renew(certificates: ServedCertificates): void;
  /** Refuses new connections and closes open connections. */
  close(): Promise<void>;
}

/** Rejects with an error that has the system's `code` (`EADDRINUSE`, `EACCES`, …). */
export type Listen = (options: ListenOptions) => Promise<Listener>;

export interface PlainListener {
  readonly port: number;
  close(): Promise<void>;
}

interface PlainOptions {
  /** The address to listen on; empty for all addresses. */
  readonly host: string;
  /** 0 selects a free port. */
  readonly port: number;
  /** Undefined if the page does not exist. */
  readonly answer: (path: string) => ServedResponse | Promise<ServedResponse> | undefined;
}

/** No page reads a body. */
const maxBody = 1024;

/**
 * Serves HTTP without TLS, for probes and scrapers on the same machine or pod network. Rejects with an error that has
 * the system's `code`, such as `EADDRINUSE`.
 */
export async function listenPlain({ host, port, answer }: PlainOptions): Promise<PlainListener> {
  const server = Bun.serve({
    ...(host !== "" && { hostname: host }),
    port,
    maxRequestBodySize: maxBody,
    development: false,
    fetch: async (request) => {
      if (request.method !== "GET" && request.method !== "HEAD")
        return new Response("Only GET is allowed.\n", { status: 405 });
      const page = await answer(new URL(request.url).pathname);
      if (page === undefined) return new Response("Page not found.\n", { status: 404 });
      return new Response(page.body, { status: page.status, headers: page.headers });
    },
  });
  return { port: server.port ?? port, close: () => server.stop(true) };
}
