// Flags for authentication and authorization on the secure port: upstream's groups "authentication" and "authorization".

import { seconds } from "../../../core/brand.ts";
import { duration, flag, text } from "../../../core/fields.ts";
import { list } from "../../../core/list-fields.ts";
import type { Fields } from "../../../core/settings.ts";

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
