// Flags about who may ask on the secure port: upstream's groups "authentication" and "authorization".

import { seconds } from "../../../core/brand.ts";
import { duration, flag, text } from "../../../core/fields.ts";
import { list } from "../../../core/list-fields.ts";
import type { Fields } from "../../../core/settings.ts";
import { type FlagGroup, needsRestart } from "../flag-notes.ts";

const authenticationFields = {
  "authentication-kubeconfig": needsRestart(
    text("Kubeconfig with which tokens are reviewed. Without it, our own connection to the API server."),
  ),
  "authentication-token-webhook-cache-ttl": needsRestart(
    duration("Time for which the review of a token counts.", {}, { fallback: seconds(10) }),
  ),
  "client-ca-file": needsRestart(
    text("Authorities of client certificates. Without it, those of the cluster are looked up."),
  ),
  "requestheader-client-ca-file": needsRestart(
    text("Authorities of front proxies, whose headers name the user."),
  ),
  "requestheader-username-headers": needsRestart(
    list("Headers with the name of the user.", { fallback: ["x-remote-user"] }),
  ),
  "requestheader-uid-headers": needsRestart(list("Headers with the uid of the user.")),
  "requestheader-group-headers": needsRestart(
    list("Headers with the groups of the user.", { fallback: ["x-remote-group"] }),
  ),
  "requestheader-extra-headers-prefix": needsRestart(
    list("Beginnings of headers with more about the user.", { fallback: ["x-remote-extra-"] }),
  ),
  "requestheader-allowed-names": needsRestart(
    list("Common names that a front proxy may have. Without it, any."),
  ),
  "authentication-skip-lookup": needsRestart(
    flag("Do not look up the cluster's authorities in kube-system/extension-apiserver-authentication.", {
      fallback: false,
    }),
  ),
  "authentication-tolerate-lookup-failure": needsRestart(
    flag("Start even if that cannot be looked up.", { fallback: false }),
  ),
} as const satisfies Fields;

const authorizationFields = {
  "authorization-kubeconfig": needsRestart(
    text("Kubeconfig with which access is reviewed. Without it, our own connection to the API server."),
  ),
  "authorization-webhook-cache-authorized-ttl": needsRestart(
    duration("Time for which a yes counts.", {}, { fallback: seconds(10) }),
  ),
  "authorization-webhook-cache-unauthorized-ttl": needsRestart(
    duration("Time for which a no counts.", {}, { fallback: seconds(10) }),
  ),
  "authorization-always-allow-paths": needsRestart(
    list("Paths that are open to all; * at the end for all that begin so.", {
      fallback: ["/healthz", "/readyz", "/livez"],
    }),
  ),
} as const satisfies Fields;

export const authenticationFlags = {
  title: "authentication",
  fields: authenticationFields,
} satisfies FlagGroup;
export const authorizationFlags = {
  title: "authorization",
  fields: authorizationFields,
} satisfies FlagGroup;
