// Whom the cluster trusts: the authorities of client certificates and of front proxies, from files or from the ConfigMap
// kube-system/extension-apiserver-authentication. Always as they are now; what cannot be read leaves what was there before.

import type { X509Certificate } from "node:crypto";
import type { WatchedFile } from "../kube/connection/watched-file.ts";
import type { ConfigMap } from "../kube/objects.ts";
import { readBundle } from "./client-certificate.ts";
import type { RequestHeaderNames } from "./request-header.ts";

export const lookedUp = { namespace: "kube-system", name: "extension-apiserver-authentication" } as const;

export interface Authorities {
  readonly clients: readonly X509Certificate[];
  readonly proxies: readonly X509Certificate[];
  readonly headers: RequestHeaderNames;
}

export interface AuthoritiesOptions {
  readonly clientFile: WatchedFile | undefined;
  readonly proxyFile: WatchedFile | undefined;
  /** From flags; they count when the file of the proxies' authorities was given too. */
  readonly headers: RequestHeaderNames;
  /** Undefined while it was never read, or is not looked up. */
  readonly configMap: () => ConfigMap | undefined;
  readonly onProblem: (text: string) => void;
}

function listIn(text: string | undefined): readonly string[] {
  try {
    const value: unknown = JSON.parse(text ?? "[]");
    return Array.isArray(value) ? value.filter((each) => typeof each === "string") : [];
  } catch {
    return [];
  }
}

function headersIn(data: Readonly<Record<string, string>>): RequestHeaderNames {
  return {
    username: listIn(data["requestheader-username-headers"]),
    uid: listIn(data["requestheader-uid-headers"]),
    group: listIn(data["requestheader-group-headers"]),
    extraPrefix: listIn(data["requestheader-extra-headers-prefix"]),
    allowedNames: listIn(data["requestheader-allowed-names"]),
  };
}

/** Parses a bundle when it changes, and keeps the last good one. */
function bundleReader(what: string, onProblem: (text: string) => void) {
  let text = "";
  let certificates: readonly X509Certificate[] = [];
  return (pem: string): readonly X509Certificate[] => {
    if (pem === text) return certificates;
    text = pem;
    try {
      certificates = readBundle(pem);
    } catch {
      onProblem(`The ${what} cannot be read; those from before count on.`);
    }
    return certificates;
  };
}

async function contentOf(file: WatchedFile, onProblem: (text: string) => void): Promise<string | undefined> {
  try {
    return await file.content();
  } catch {
    onProblem(`The file ${file.path} cannot be read, so no certificate that it would vouch for is good.`);
    return undefined;
  }
}

export function createAuthorities(options: AuthoritiesOptions): () => Promise<Authorities> {
  const reported = new Set<string>();
  const report = (text: string): void => {
    if (reported.has(text)) return;
    reported.add(text);
    options.onProblem(text);
  };
  const readClients = bundleReader("authorities of client certificates", report);
  const readProxies = bundleReader("authorities of front proxies", report);
  const { clientFile, proxyFile } = options;
  return async () => {
    const data = options.configMap()?.data ?? {};
    const clients = clientFile === undefined ? data["client-ca-file"] : await contentOf(clientFile, report);
    const proxies =
      proxyFile === undefined ? data["requestheader-client-ca-file"] : await contentOf(proxyFile, report);
    return {
      clients: readClients(clients ?? ""),
      proxies: readProxies(proxies ?? ""),
      headers: proxyFile === undefined ? headersIn(data) : options.headers,
    };
  };
}
