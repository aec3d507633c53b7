// The only way to the network, for Kubernetes and for clouds: one function from a request to a response.

import { defined } from "../core/defined.ts";
import { pinnedRequest } from "./pinned-request.ts";

/** CA, client certificate and server name of a TLS connection. */
export interface TlsMaterial {
  /** PEM, which replaces the system's roots if set. */
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly serverName?: string;
  /** The SHA-1 or SHA-256 fingerprint of the server's certificate, which then needs no further verification. */
  readonly fingerprint?: string | undefined;
  /** Set only for a user's explicit `insecure-skip-tls-verify`. */
  readonly skipVerification?: boolean;
}

/** A plain HTTP request. */
export interface TransportRequest {
  readonly method: string;
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array<ArrayBuffer> | undefined;
  readonly tls?: TlsMaterial | undefined;
  /** `http://host:port` of a proxy; the proxy variables of the environment are resolved by the caller. */
  readonly proxy?: string | undefined;
  /**
   * Sends the request only once. Otherwise Bun repeats a PUT or DELETE if its kept-alive connection is closed without a response.
   */
  readonly once?: boolean;
  /** True if the request fetches a credential. It then changes nothing, whatever its method is. */
  readonly isSignIn?: boolean;
}

/** Sends a request. Rejects without a complete response head (refused, reset, TLS, aborted); a status of 500 is a response. */
export type Transport = (request: TransportRequest, signal: AbortSignal) => Promise<Response>;

export function toBunTls({ ca, cert, key, serverName, skipVerification }: TlsMaterial) {
  const rejectUnauthorized = skipVerification === true ? false : undefined;
  return defined({ ca, cert, key, serverName, rejectUnauthorized });
}

/** Bun repeats only these methods, and only over kept-alive connections. */
const repeatedByBun = ["PUT", "DELETE"];

export const systemTransport: Transport = (request, signal) => {
  const { url, method, headers, body, proxy, tls, once } = request;
  if (tls?.fingerprint !== undefined) return pinnedRequest(request, tls.fingerprint, signal);
  return fetch(url, {
    method,
    signal,
    redirect: "manual",
    // Watches may be silent for minutes; every caller sets its own deadline.
    timeout: false,
    keepalive: !(once === true && repeatedByBun.includes(method)),
    headers,
    body,
    proxy,
    tls: tls === undefined ? undefined : toBunTls(tls),
  } as BunFetchRequestInit);
};
