// Chooses the proxy for the API server from the kubeconfig and the values of HTTPS_PROXY, HTTP_PROXY and NO_PROXY; also used for
// WebSockets. Loopback addresses never use a proxy, as in Go and unlike in Bun. Pure.

import { isIP } from "node:net";
import { cidrContains, parseCidr } from "../../core/cidr.ts";
import { defined } from "../../core/defined.ts";
import type { Environment } from "../../platform/environment.ts";

/** The values of HTTPS_PROXY, HTTP_PROXY and NO_PROXY. */
export interface ProxySettings {
  readonly https?: string;
  readonly http?: string;
  readonly no?: string;
}

export const proxySettingsOf = (environment: Environment): ProxySettings =>
  defined({
    https: environment["HTTPS_PROXY"] ?? environment["https_proxy"],
    http: environment["HTTP_PROXY"] ?? environment["http_proxy"],
    no: environment["NO_PROXY"] ?? environment["no_proxy"],
  });

const withoutBrackets = (host: string): string => host.replace(/^\[|\]$/g, "");

function isLoopback(host: string): boolean {
  const name = withoutBrackets(host).toLowerCase();
  return (
    name === "localhost" || name.endsWith(".localhost") || name === "::1" || /^127\.\d+\.\d+\.\d+$/.test(name)
  );
}

function isInRange(host: string, text: string): boolean {
  const range = parseCidr(text);
  return range !== undefined && cidrContains(range, host);
}

function isExcepted(entry: string, host: string, port: string): boolean {
  if (entry === "*") return true;
  if (entry.includes("/")) return isInRange(host, entry);
  const withPort = /^(.*[^:]):(\d+)$/.exec(entry);
  if (withPort?.[2] !== undefined && isIP(entry) === 0) {
    return withPort[2] === port && isExcepted(withoutBrackets(withPort[1] ?? ""), host, port);
  }
  const name = withoutBrackets(entry);
  if (isIP(name) !== 0) return name === host;
  if (name.startsWith(".")) return host.endsWith(name);
  if (name.startsWith("*.")) return host.endsWith(name.slice(1));
  return host === name || host.endsWith(`.${name}`);
}

export function chooseProxy(
  server: string,
  kubeconfigProxy: string | undefined,
  settings: ProxySettings = {},
): string | undefined {
  const { protocol, hostname, port } = new URL(server);
  if (isLoopback(hostname)) return undefined;
  if (kubeconfigProxy !== undefined && kubeconfigProxy !== "") return kubeconfigProxy;
  const isSecure = protocol === "https:" || protocol === "wss:";
  const proxy = isSecure ? settings.https : settings.http;
  if (proxy === undefined || proxy === "") return undefined;
  const host = withoutBrackets(hostname).toLowerCase();
  const effectivePort = port === "" ? (isSecure ? "443" : "80") : port;
  const exceptions = (settings.no ?? "").split(",").map((entry) => entry.trim().toLowerCase());
  if (exceptions.some((entry) => entry !== "" && isExcepted(entry, host, effectivePort))) return undefined;
  return proxy.includes("://") ? proxy : `http://${proxy}`;
}
