// The certificate authorities of clients and front proxies, from files or from the ConfigMap
// kube-system/extension-apiserver-authentication, always current. If the content cannot be parsed, the previous
// authorities stay in use.

import type { X509Certificate } from "node:crypto";
import type { WatchedFile } from "../kube/connection/watched-file.ts";
import type { ConfigMap } from "../kube/objects.ts";
import { type RequestHeaderNames, readBundle } from "./identity.ts";

export const authenticationConfigMap = {
  namespace: "kube-system",
  name: "extension-apiserver-authentication",
} as const;

export interface Authorities {
  readonly clients: readonly X509Certificate[];
  readonly proxies: readonly X509Certificate[];
  readonly headers: RequestHeaderNames;
}

export interface AuthoritiesOptions {
  readonly clientFile: WatchedFile | undefined;
  readonly proxyFile: WatchedFile | undefined;
  /** Set by flags, and used only together with `proxyFile`. */
  readonly headers: RequestHeaderNames;
  /** Undefined until the ConfigMap has been read, or if it is not used. */
  readonly configMap: () => ConfigMap | undefined;
  readonly onProblem: (text: string) => void;
}

function listIn(text: string | undefined): readonly string[] {
  try {
    const value: unknown = JSON.parse(text ?? "[]");
    return Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
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

/** The parsed certificates of a bundle, which are parsed again only when the text changes. */
class Bundle {
  readonly #description: string;
  #text = "";
  #certificates: readonly X509Certificate[] = [];

  constructor(description: string) {
    this.#description = description;
  }

  parse(pem: string, onProblem: (text: string) => void): readonly X509Certificate[] {
    if (pem === this.#text) return this.#certificates;
    this.#text = pem;
    try {
      this.#certificates = readBundle(pem);
    } catch {
      onProblem(`Cannot parse the ${this.#description}; the previous ones stay in use.`);
    }
    return this.#certificates;
  }
}

export class AuthoritySource {
  readonly #options: AuthoritiesOptions;
  readonly #clients = new Bundle("certificate authorities of clients");
  readonly #proxies = new Bundle("certificate authorities of front proxies");
  readonly #reported = new Set<string>();

  constructor(options: AuthoritiesOptions) {
    this.#options = options;
  }

  async current(): Promise<Authorities> {
    const { clientFile, proxyFile, configMap, headers } = this.#options;
    const data = configMap()?.data ?? {};
    const clients = clientFile === undefined ? data["client-ca-file"] : await this.#read(clientFile);
    const proxies =
      proxyFile === undefined ? data["requestheader-client-ca-file"] : await this.#read(proxyFile);
    return {
      clients: this.#clients.parse(clients ?? "", this.#report),
      proxies: this.#proxies.parse(proxies ?? "", this.#report),
      headers: proxyFile === undefined ? headersIn(data) : headers,
    };
  }

  async #read(file: WatchedFile): Promise<string | undefined> {
    try {
      return await file.content();
    } catch {
      this.#report(`Cannot read ${file.path}; client certificates of its authorities are rejected.`);
      return undefined;
    }
  }

  readonly #report = (text: string): void => {
    if (this.#reported.has(text)) return;
    this.#reported.add(text);
    this.#options.onProblem(text);
  };
}
