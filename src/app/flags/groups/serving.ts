// Flags of the two HTTPS servers: the secure port for health, metrics and state, and the admission webhook.

import { address, flag, integer, oneOf, text } from "../../../core/fields.ts";
import { ipAddress } from "../../../core/ip.ts";
import { list, repeated } from "../../../core/list-fields.ts";
import type { Fields } from "../../../core/settings.ts";
import { type FlagGroup, needsRestart, noEffect } from "../flag-notes.ts";

const everywhere = ipAddress("0.0.0.0");
const tlsVersions = ["VersionTLS10", "VersionTLS11", "VersionTLS12", "VersionTLS13"] as const;
const sniExpects = "a certificate and a key, such as cert.pem,key.pem or cert.pem,key.pem:*.example.com";
const streams = "a connection has 100 streams at the most";

const secureFields = {
  "bind-address": needsRestart(address("Address that the secure port listens on.", { fallback: everywhere })),
  "secure-port": needsRestart(
    integer(
      "Port for health, metrics and state, by HTTPS; 0 for none.",
      { min: 0, max: 65535 },
      { fallback: 10258 },
    ),
  ),
  "disable-http2-serving": needsRestart(flag("Speak HTTP/1.1 alone.", { fallback: false })),
  "cert-dir": needsRestart(
    text("Folder of the certificate; one is made there if there is none. Without it, in memory."),
  ),
  "tls-cert-file": needsRestart(text("Certificate of the secure port; read again when it changes.")),
  "tls-private-key-file": needsRestart(text("Key to --tls-cert-file.")),
  "tls-cipher-suites": needsRestart(
    list("Cipher suites of TLS 1.2, by Go's names; without it, the runtime's."),
  ),
  "tls-curve-preferences": needsRestart(list("Key exchanges in order of preference, by Go's numbers.")),
  "tls-min-version": needsRestart(
    oneOf("Lowest version of TLS. Below VersionTLS12, that counts.", tlsVersions, {
      fallback: "VersionTLS12",
    }),
  ),
  "tls-sni-cert-key": needsRestart(
    repeated("A further certificate, for the names in it or those behind the colon.", sniExpects),
  ),
  "http2-max-streams-per-connection": noEffect(
    integer("Streams of one HTTP/2 connection.", { min: 0 }, { fallback: 0 }),
    streams,
  ),
  "permit-port-sharing": needsRestart(
    flag("Let other processes listen on the same port (SO_REUSEPORT).", { fallback: false }),
  ),
  "permit-address-sharing": noEffect(
    flag("Listen on a port whose former connections are not over yet (SO_REUSEADDR).", { fallback: false }),
    "the runtime always listens in this way",
  ),
} as const satisfies Fields;

const webhookFields = {
  webhooks: needsRestart(list("Admission webhooks to serve: *, a name, or -name. Without it, none.")),
} as const satisfies Fields;

const webhookServingFields = {
  "webhook-bind-address": needsRestart(
    address("Address that the webhook port listens on.", { fallback: everywhere }),
  ),
  "webhook-secure-port": needsRestart(
    integer(
      "Port of the admission webhooks; 0 for none. Listened on only when there is a webhook to serve.",
      { min: 0, max: 65535 },
      { fallback: 10260 },
    ),
  ),
  "webhook-disable-http2-serving": needsRestart(flag("Speak HTTP/1.1 alone.", { fallback: false })),
  "webhook-cert-dir": needsRestart(
    text("Folder of the certificate; one is made there if there is none. Without it, in memory."),
  ),
  "webhook-tls-cert-file": needsRestart(text("Certificate of the webhook port; read again when it changes.")),
  "webhook-tls-private-key-file": needsRestart(text("Key to --webhook-tls-cert-file.")),
  "webhook-tls-cipher-suites": needsRestart(
    list("Cipher suites of TLS 1.2, by Go's names; without it, the runtime's."),
  ),
  "webhook-tls-curve-preferences": needsRestart(
    list("Key exchanges in order of preference, by Go's numbers."),
  ),
  "webhook-tls-min-version": needsRestart(
    oneOf("Lowest version of TLS. Below VersionTLS12, that counts.", tlsVersions, {
      fallback: "VersionTLS12",
    }),
  ),
  "webhook-tls-sni-cert-key": needsRestart(
    repeated("A further certificate, for the names in it or those behind the colon.", sniExpects),
  ),
} as const satisfies Fields;

export const secureServingFlags = { title: "secure serving", fields: secureFields } satisfies FlagGroup;
export const webhookFlags = { title: "webhook", fields: webhookFields } satisfies FlagGroup;
export const webhookServingFlags = {
  title: "webhook serving",
  fields: webhookServingFields,
} satisfies FlagGroup;
