// Flags of the two HTTPS servers: the secure port, with health checks, metrics and debugging pages, and the admission webhook.

import { address, flag, integer, oneOf, text } from "../../../core/fields.ts";
import { ipAddress } from "../../../core/ip.ts";
import { list, repeated } from "../../../core/list-fields.ts";
import type { Fields } from "../../../core/settings.ts";
import { type FlagGroup, needsRestart, noEffect } from "../flag-notes.ts";

const everywhere = ipAddress("0.0.0.0");
const tlsVersions = ["VersionTLS10", "VersionTLS11", "VersionTLS12", "VersionTLS13"] as const;
const sniExpects = "a certificate and a key, such as cert.pem,key.pem or cert.pem,key.pem:*.example.com";
const streams = "a connection always allows up to 100 streams";

const secureFields = {
  "bind-address": needsRestart(
    address("IP address to listen on for the secure port.", { fallback: everywhere }),
  ),
  "secure-port": needsRestart(
    integer(
      "HTTPS port for health checks, metrics and debugging pages; 0 disables it.",
      { min: 0, max: 65535 },
      { fallback: 10258 },
    ),
  ),
  "disable-http2-serving": needsRestart(flag("Do not serve HTTP/2.", { fallback: false })),
  "cert-dir": needsRestart(
    text(
      "Directory of the serving certificate; one is generated there if none exists. If unset, one is generated in memory.",
    ),
  ),
  "tls-cert-file": needsRestart(text("Certificate file of the secure port; reloaded when it changes.")),
  "tls-private-key-file": needsRestart(text("Private key file for --tls-cert-file.")),
  "tls-cipher-suites": needsRestart(
    list("Cipher suites for TLS 1.2, by their Go names. If unset, the runtime's defaults are used."),
  ),
  "tls-curve-preferences": needsRestart(
    list("Key exchange mechanisms in order of preference, by their Go numbers."),
  ),
  "tls-min-version": needsRestart(
    oneOf("Minimum TLS version. Versions below VersionTLS12 are raised to it.", tlsVersions, {
      fallback: "VersionTLS12",
    }),
  ),
  "tls-sni-cert-key": needsRestart(
    repeated(
      "An additional certificate, for the names that it contains or for the names after the colon.",
      sniExpects,
    ),
  ),
  "http2-max-streams-per-connection": noEffect(
    integer("Maximum number of streams per HTTP/2 connection.", { min: 0 }, { fallback: 0 }),
    streams,
  ),
  "permit-port-sharing": needsRestart(
    flag("Allow other processes to listen on the same port (SO_REUSEPORT).", { fallback: false }),
  ),
  "permit-address-sharing": noEffect(
    flag("Listen on a port with connections in TIME_WAIT (SO_REUSEADDR).", { fallback: false }),
    "the runtime always sets SO_REUSEADDR",
  ),
} as const satisfies Fields;

const webhookFields = {
  webhooks: needsRestart(
    list(
      "Admission webhooks to serve: * enables all, a name enables one, -name disables one. If unset, none.",
    ),
  ),
} as const satisfies Fields;

const webhookServingFields = {
  "webhook-bind-address": needsRestart(
    address("IP address to listen on for the webhook port.", { fallback: everywhere }),
  ),
  "webhook-secure-port": needsRestart(
    integer(
      "HTTPS port of the admission webhooks; 0 disables it. It is opened only if --webhooks enables a webhook.",
      { min: 0, max: 65535 },
      { fallback: 10260 },
    ),
  ),
  "webhook-disable-http2-serving": needsRestart(flag("Do not serve HTTP/2.", { fallback: false })),
  "webhook-cert-dir": needsRestart(
    text(
      "Directory of the serving certificate; one is generated there if none exists. If unset, one is generated in memory.",
    ),
  ),
  "webhook-tls-cert-file": needsRestart(
    text("Certificate file of the webhook port; reloaded when it changes."),
  ),
  "webhook-tls-private-key-file": needsRestart(text("Private key file for --webhook-tls-cert-file.")),
  "webhook-tls-cipher-suites": needsRestart(
    list("Cipher suites for TLS 1.2, by their Go names. If unset, the runtime's defaults are used."),
  ),
  "webhook-tls-curve-preferences": needsRestart(
    list("Key exchange mechanisms in order of preference, by their Go numbers."),
  ),
  "webhook-tls-min-version": needsRestart(
    oneOf("Minimum TLS version. Versions below VersionTLS12 are raised to it.", tlsVersions, {
      fallback: "VersionTLS12",
    }),
  ),
  "webhook-tls-sni-cert-key": needsRestart(
    repeated(
      "An additional certificate, for the names that it contains or for the names after the colon.",
      sniExpects,
    ),
  ),
} as const satisfies Fields;

export const secureServingFlags = { title: "secure serving", fields: secureFields } satisfies FlagGroup;
export const webhookFlags = { title: "webhook", fields: webhookFields } satisfies FlagGroup;
export const webhookServingFlags = {
  title: "webhook serving",
  fields: webhookServingFields,
} satisfies FlagGroup;
