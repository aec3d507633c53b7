// Composes authentication and authorization of the secure port: client certificates, front proxies, TokenReviews and
// SubjectAccessReviews, through the connection of the running manager.

import type { KubeApi } from "../../kube/client/api.ts";
import { WatchedFile } from "../../kube/connection/watched-file.ts";
import type { KubeError } from "../../kube/errors/kube-error.ts";
import type { ConfigMap } from "../../kube/objects.ts";
import { configMaps } from "../../kube/resources.ts";
import { Reflector } from "../../kube/watch/reflector.ts";
import type { Task } from "../../runtime/run-together.ts";
import { type AuthenticationDeps, authenticate } from "../../server/authenticate.ts";
import { AuthoritySource, authenticationConfigMap } from "../../server/authorities.ts";
import { Authorizer } from "../../server/authorizer.ts";
import { type AskReview, Reviews, retryReview } from "../../server/reviews.ts";
import type { SecurePortOptions } from "../../server/secure-port.ts";
import { TokenAuthenticator } from "../../server/token-authenticator.ts";
import { version } from "../build-info.ts";
import type { Flags } from "../flags/flag-table.ts";
import { connectKube } from "../kube-client.ts";
import type { PortContext } from "./port-context.ts";

/** The connection for reviews: from the given kubeconfig, or the manager's connection. */
async function reviewer(
  kubeconfig: string | undefined,
  { flags, platform, program, manager, signal }: PortContext,
): Promise<Pick<KubeApi, "request">> {
  if (kubeconfig === undefined) return manager.reserved;
  const { master: _, ...rest } = flags;
  const client = await connectKube(
    { ...rest, kubeconfig } as Flags,
    platform,
    {
      userAgent: `${program}/${version}`,
      mayWrite: () => true,
      onRequest: manager.onKubeRequest,
    },
    signal,
  );
  return client.reserved;
}

export interface AccessControl extends Pick<SecurePortOptions, "authenticate" | "authorize"> {
  readonly tasks: readonly Task[];
}

/** Watches the ConfigMap with the CAs that the cluster trusts, and logs why it cannot be read. */
function watchConfigMap({ flags, platform, log, manager }: PortContext) {
  const where = `${authenticationConfigMap.namespace}/${authenticationConfigMap.name}`;
  let reported = "";
  const reflector = new Reflector<ConfigMap>({
    api: manager.reserved,
    resource: configMaps,
    clock: platform.clock,
    random: platform.random,
    namespace: authenticationConfigMap.namespace,
    fieldSelector: `metadata.name=${authenticationConfigMap.name}`,
    onProblem: (problem) => {
      const text = describeLookupFailure(problem, {
        where,
        isKnown: reflector.store.get(where) !== undefined,
        isTolerated: flags["authentication-tolerate-lookup-failure"],
      });
      if (text === undefined || problem.kind === reported) return;
      reported = problem.kind;
      log.warn(text);
    },
  });
  return {
    task: { name: "authorities", run: (stop: AbortSignal) => reflector.run(stop) },
    get: () => reflector.store.get(where),
  };
}

function headerNames(flags: Flags) {
  return {
    username: flags["requestheader-username-headers"],
    uid: flags["requestheader-uid-headers"] ?? [],
    group: flags["requestheader-group-headers"],
    extraPrefix: flags["requestheader-extra-headers-prefix"],
    allowedNames: flags["requestheader-allowed-names"] ?? [],
  };
}

export async function createAccessControl(context: PortContext): Promise<AccessControl> {
  const { flags, platform, log, metrics, signal } = context;
  const { clock, random, files } = platform;
  const { review: onReview } = metrics;
  const reviewsBy = async (kubeconfig: string | undefined): Promise<AskReview> => {
    const reviews = new Reviews({ api: await reviewer(kubeconfig, context), clock, signal, onReview });
    return retryReview((kind, spec) => reviews.ask(kind, spec), { clock, random, signal });
  };
  const tokenReviews = await reviewsBy(flags["authentication-kubeconfig"]);
  const accessReviews = await reviewsBy(flags["authorization-kubeconfig"]);
  const file = (path: string | undefined) =>
    path === undefined ? undefined : new WatchedFile(path, files, clock);
  const lookup = flags["authentication-skip-lookup"] ? undefined : watchConfigMap(context);
  const authorities = new AuthoritySource({
    clientFile: file(flags["client-ca-file"]),
    proxyFile: file(flags["requestheader-client-ca-file"]),
    headers: headerNames(flags),
    configMap: () => lookup?.get(),
    onProblem: (text) => log.warn(text),
  });
  const tokens = new TokenAuthenticator(tokenReviews, {
    clock,
    lifetime: flags["authentication-token-webhook-cache-ttl"],
  });
  const authorizer = new Authorizer({
    ask: accessReviews,
    clock,
    alwaysAllow: flags["authorization-always-allow-paths"],
    allowedFor: flags["authorization-webhook-cache-authorized-ttl"],
    deniedFor: flags["authorization-webhook-cache-unauthorized-ttl"],
  });
  const authentication: AuthenticationDeps = {
    authorities: () => authorities.current(),
    checkToken: (headers) => tokens.check(headers),
    now: () => clock.now(),
  };
  return {
    tasks: lookup === undefined ? [] : [lookup.task],
    authenticate: (request) => authenticate(authentication, request),
    authorize: (user, verb, path) => authorizer.authorize(user, verb, path),
  };
}

export interface LookupSituation {
  /** The ConfigMap, as namespace/name. */
  readonly where: string;
  /** True if the ConfigMap was read earlier, and its content still applies. */
  readonly isKnown: boolean;
  /** `--authentication-tolerate-lookup-failure` */
  readonly isTolerated: boolean;
}

const whatToDo = "Set --client-ca-file, or bind the Role extension-apiserver-authentication-reader. ";

export function describeLookupFailure(
  { kind, message }: Pick<KubeError, "kind" | "message">,
  { where, isKnown, isTolerated }: LookupSituation,
): string | undefined {
  if (kind === "forbidden" && isTolerated) return undefined;
  // An unreachable API server is reported once for all watches.
  if (isKnown && kind !== "forbidden") return undefined;
  const effect = isKnown
    ? "its last content still applies"
    : "client certificates of the cluster are not accepted";
  // Other requests fail for the same reason.
  const ownRemedy = kind === "unauthorized" ? "" : whatToDo;
  return `Cannot read the ConfigMap ${where}, so ${effect} on the secure port. ${ownRemedy}${message}`;
}
