// Messages for cloud requests without a usable response: the endpoint, what happened, and what to check. They use the error's
// code, because the runtime's own messages name no endpoint. Pure.

import { codeOf, messageOf } from "../core/errors.ts";

/** Host and port of a URL, always with the port, because firewall rules use it. */
export function hostAndPort(url: string): string {
  const { protocol, hostname, port } = new URL(url);
  return `${hostname}:${port || (protocol === "http:" ? 80 : 443)}`;
}

const certificate = /TLS|SSL|CERT|X509|SELF_SIGNED|HOSTNAME|UNABLE_TO|CA$/;

/** For a request that got no response. */
export function describeUnreachable(error: unknown, url: string): string {
  const code = codeOf(error);
  const endpoint = hostAndPort(url);
  if (certificate.test(code)) {
    return `TLS connection to the cloud API at ${endpoint} failed (${code}). Check that its certificate is valid for this host name and signed by a CA that this machine trusts, and that this machine's clock is right. Fairlead will retry.`;
  }
  return `The cloud API at ${endpoint} cannot be reached (${code || messageOf(error)}). Check the endpoint setting, DNS, firewall and proxy. Fairlead will retry.`;
}

/** For a response that ended before it was complete. */
export function describeTruncated(error: unknown, url: string): string {
  return `The response of the cloud API at ${hostAndPort(url)} ended early (${codeOf(error) || messageOf(error)}). Fairlead will retry.`;
}
