// The only way in from the network: an HTTPS server as a value. A test hands in one without sockets and calls the handler itself.

/** What a client proved to be at the TLS handshake: it holds the key. Who signed the certificate is for others to check. */
export interface PeerCertificate {
  /** DER; the client's own first, then what it sent along. The same array for all requests of one connection. */
  readonly chain: readonly Uint8Array[];
}

export interface ServedRequest {
  readonly method: string;
  /** Path and query as they were sent. */
  readonly target: string;
  /** Names in lower case; one entry for each header line. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly peer: PeerCertificate | undefined;
  /** Undefined when it is longer than that. */
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
  /** Served to clients that ask for one of these names. */
  readonly byName?: readonly (KeyPair & { readonly names: readonly string[] })[];
}

export interface ListenOptions {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  readonly certificates: ServedCertificates;
  readonly minVersion: "TLSv1.2" | "TLSv1.3";
  /** OpenSSL's names, for TLS 1.2. */
  readonly ciphers?: string;
  readonly curves?: string;
  readonly http2: boolean;
  readonly sharePort: boolean;
  /** Ask clients for a certificate; none is needed, and any is let in. */
  readonly asksForCertificate: boolean;
  readonly handle: ServedHandler;
}

export interface Listener {
  readonly port: number;
  /** For the handshakes from now on; connections that are open stay. */
  renew(certificates: ServedCertificates): void;
  /** Takes no more connections and ends those that are open. */
  close(): Promise<void>;
}

/** Rejects with an error whose `code` is the system's (`EADDRINUSE`, `EACCES`, …). */
export type Listen = (options: ListenOptions) => Promise<Listener>;
