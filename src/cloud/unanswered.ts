// Words for a request to a cloud that was not answered: who did not answer, by host and port, what it looked like, and what to
// check. By the error's code; the runtime's own words name no address. Pure.

import { codeOf } from "../core/code-of.ts";
import { messageOf } from "../core/message-of.ts";

/** With the port in any case: a firewall goes by it. */
export function addressOf(url: string): string {
  const { protocol, hostname, port } = new URL(url);
  return `${hostname}:${port || (protocol === "http:" ? 80 : 443)}`;
}

const certificate = /TLS|SSL|CERT|X509|SELF_SIGNED|HOSTNAME|UNABLE_TO|CA$/;

/** It never came to an answer. */
export function unreachable(error: unknown, url: string): string {
  const code = codeOf(error);
  const at = addressOf(url);
  if (certificate.test(code)) {
    return `No TLS connection to the cloud at ${at} could be made (${code}). Check that its certificate is valid for this name and signed by an authority that this machine trusts, and this machine's clock.`;
  }
  return `The cloud at ${at} cannot be reached (${code || messageOf(error)}). Expected it to answer; check that the endpoint in the settings, DNS, the network and the proxy are right. It is asked again.`;
}

/** It began, and the rest did not come. */
export function brokenOff(error: unknown, url: string): string {
  return `The answer of the cloud at ${addressOf(url)} broke off (${codeOf(error) || messageOf(error)}). It is asked again.`;
}
