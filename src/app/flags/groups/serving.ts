// Flags of the two HTTPS servers: the secure port, with health checks, metrics and debugging pages, and the admission
// webhook. Both servers have the same flags; webhook flags have a prefix. Only clients of the secure port are authenticated
// and authorized.

import { seconds } from "../../../core/brand.ts";
import { address, duration, flag, oneOf, text } from "../../../core/fields.ts";
import { ipAddress } from "../../../core/ip.ts";
import { list, repeated } from "../../../core/list-fields.ts";
import type { Fields } from "../../../core/settings.ts";
import { noEffect } from "../flag-notes.ts";
import { goInteger } from "../pflag.ts";

const tlsVersions = ["VersionTLS10", "VersionTLS11", "VersionTLS12", "VersionTLS13"] as const;

function fieldsOfPort(port: "secure" | "webhook", number: number, use: string) {
  return {
    "bind-address": address(`IP address to listen on for the ${port} port.`, {
      fallback: ipAddress("0.0.0.0"),
    }),
    "secure-port": goInteger(use, { min: 0, max: 65535 }, { fallback: number }),
    "disable-http2-serving": flag("Do not serve HTTP/2.", { fallback: false }),
    "cert-dir": text(
      "Directory of the serving certificate; one is generated there if none exists. If unset, one is generated in memory.",
    ),
    "tls-cert-file": text(`Certificate file of the ${port} port; reloaded when it changes.`),
    "tls-private-key-file": text(
      `Private key file for --${port === "secure" ? "" : "webhook-"}tls-cert-file.`,
    ),
    "tls-cipher-suites": list(
      "Cipher suites for TLS 1.2, by their Go names. If unset, the runtime's defaults are used.",
    ),
    "tls-curve-preferences": list("Key exchange mechanisms in order of preference, by their Go numbers."),
    "tls-min-version": oneOf(
      "Minimum TLS version. Versions below VersionTLS12 are raised to it.",
      tlsVersions,
      {
        fallback: "VersionTLS12",
      },
    ),
    "tls-sni-cert-key": repeated(
      "An additional certificate, for the names that it contains or for the names after the colon.",
      "a certificate and a key, such as cert.pem,key.pem or cert.pem,key.pem:*.example.com",
    ),
  } as const satisfies Fields;
}

export type PortFields = ReturnType<typeof fieldsOfPort>;

function withPrefix<F extends Fields>(fields: F) {
  const renamed = Object.entries(fields).map(([name, field]) => [`webhook-${name}`, field]);
  return Object.fromEntries(renamed) as { readonly [N in keyof F & string as `webhook-${N}`]: F[N] };
}

const securePort = fieldsOfPort(
  "secure",
  10258,
  "HTTPS port for health checks, metrics and debugging pages; 0 disables it.",
);
export const portFieldNames = Object.keys(securePort) as readonly (keyof PortFields)[];

export const secureServingFields = {
  ...securePort,
  "permit-port-sharing": flag("Allow other processes to listen on the same port (SO_REUSEPORT).", {
    fallback: false,
  }),
  ...noEffect("a connection always allows up to 100 streams", {
    "http2-max-streams-per-connection": goInteger(
      "Maximum number of streams per HTTP/2 connection.",
      { min: 0 },
      { fallback: 0 },
    ),
  }),
  ...noEffect("the runtime always sets SO_REUSEADDR", {
    "permit-address-sharing": flag("Listen on a port with connections in TIME_WAIT (SO_REUSEADDR).", {
      fallback: false,
    }),
  }),
} as const satisfies Fields;

export const webhookFields = {
  webhooks: list(
    "Admission webhooks to serve: * enables all, a name enables one, -name disables one. If unset, none.",
  ),
} as const satisfies Fields;

export const webhookServingFields = withPrefix(
  fieldsOfPort(
    "webhook",
    10260,
    "HTTPS port of the admission webhooks; 0 disables it. It is opened only if --webhooks enables a webhook.",
  ),
);

export const authenticationFields = {
  "authentication-kubeconfig": text(
    "Kubeconfig file for TokenReviews. If unset, the manager's own connection to the API server is used.",
  ),
  "authentication-token-webhook-cache-ttl": duration(
    "How long to cache responses to TokenReviews.",
    {},
    { fallback: seconds(10) },
  ),
  "client-ca-file": text(
    "File with CA certificates for client certificates. If unset, the CA of the cluster is looked up.",
  ),
  "requestheader-client-ca-file": text(
    "File with CA certificates for front proxies, whose request headers name the user.",
  ),
  "requestheader-username-headers": list("Request headers to inspect for the user name.", {
    fallback: ["x-remote-user"],
  }),
  "requestheader-uid-headers": list("Request headers to inspect for the user's UID."),
  "requestheader-group-headers": list("Request headers to inspect for the user's groups.", {
    fallback: ["x-remote-group"],
  }),
  "requestheader-extra-headers-prefix": list(
    "Prefixes of request headers with extra information about the user.",
    {
      fallback: ["x-remote-extra-"],
    },
  ),
  "requestheader-allowed-names": list(
    "Common names that client certificates of front proxies may have. If unset, any name is allowed.",
  ),
  "authentication-skip-lookup": flag(
    "Do not look up missing authentication configuration in the ConfigMap kube-system/extension-apiserver-authentication.",
    {
      fallback: false,
    },
  ),
  "authentication-tolerate-lookup-failure": flag(
    "Continue to start if the authentication configuration cannot be looked up.",
    { fallback: false },
  ),
} as const satisfies Fields;

export const authorizationFields = {
  "authorization-kubeconfig": text(
    "Kubeconfig file for SubjectAccessReviews. If unset, the manager's own connection to the API server is used.",
  ),
  "authorization-webhook-cache-authorized-ttl": duration(
    "How long to cache 'authorized' responses to SubjectAccessReviews.",
    {},
    { fallback: seconds(10) },
  ),
  "authorization-webhook-cache-unauthorized-ttl": duration(
    "How long to cache 'unauthorized' responses to SubjectAccessReviews.",
    {},
    { fallback: seconds(10) },
  ),
  "authorization-always-allow-paths": list(
    "Paths that need no authorization; a trailing * matches any path with that prefix.",
    {
      fallback: ["/healthz", "/readyz", "/livez"],
    },
  ),
} as const satisfies Fields;
