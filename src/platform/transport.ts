// The only way to the network, for Kubernetes and for clouds: one function from a request to a response.

/** CA, client certificate and server name of a TLS connection. */
export interface TlsMaterial {
  /** PEM; replaces the system's roots when given. */
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly serverName?: string;
  /** Only ever set by a user's explicit `insecure-skip-tls-verify`. */
  readonly skipVerification?: boolean;
}

/** A plain HTTP request. */
export interface TransportRequest {
  readonly method: string;
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array<ArrayBuffer>;
  readonly tls?: TlsMaterial;
  /** `http://host:port` of a proxy; the proxy variables of the environment are resolved by the caller. */
  readonly proxy?: string;
}

/** Sends a request. Rejects without a complete response head (refused, reset, TLS, aborted); a status of 500 is a response. */
export type Transport = (request: TransportRequest, signal: AbortSignal) => Promise<Response>;

function toBunTls(tls: TlsMaterial) {
  return {
    ...(tls.ca !== undefined && { ca: tls.ca }),
    ...(tls.cert !== undefined && { cert: tls.cert }),
    ...(tls.key !== undefined && { key: tls.key }),
    ...(tls.serverName !== undefined && { serverName: tls.serverName }),
    ...(tls.skipVerification === true && { rejectUnauthorized: false }),
  };
}

export const systemTransport: Transport = (request, signal) =>
  fetch(request.url, {
    method: request.method,
    signal,
    redirect: "manual",
    // Watches may be silent for minutes; every caller brings a deadline of its own.
    timeout: false,
    ...(request.headers !== undefined && { headers: request.headers }),
    ...(request.body !== undefined && { body: request.body }),
    ...(request.tls !== undefined && { tls: toBunTls(request.tls) }),
    ...(request.proxy !== undefined && { proxy: request.proxy }),
  } as BunFetchRequestInit);
