// Who is let in on the secure port, put together from the flags: whom the cluster trusts, whose tokens it knows and what it
// lets them do, asked through the connection of whichever manager runs.

import type { KubeApi } from "../../kube/client/api.ts";
import { WatchedFile } from "../../kube/connection/watched-file.ts";
import type { ConfigMap } from "../../kube/objects.ts";
import { configMaps } from "../../kube/resources.ts";
import { Reflector } from "../../kube/watch/reflector.ts";
import type { WatchApi } from "../../kube/watch/watch-step.ts";
import type { Task } from "../../runtime/run-together.ts";
import { createAuthenticate } from "../../server/authenticate.ts";
import { createAuthorities, lookedUp } from "../../server/authorities.ts";
import { createAuthorize } from "../../server/authorize.ts";
import { createTokenAuthenticator } from "../../server/bearer-token.ts";
import { createReviews, type ReviewsOptions } from "../../server/reviews.ts";
import type { Log } from "../../telemetry/log.ts";
import type { Flags } from "../flags/table.ts";
import { connectKube } from "../kube-client.ts";
import type { Manager } from "../manager/manager.ts";
import type { ManagerPlatform } from "../system-platform.ts";
import { version } from "../version.ts";
import { describeLookupFailure } from "./describe-lookup-failure.ts";

export interface GateOptions {
  readonly flags: Flags;
  readonly platform: ManagerPlatform;
  readonly log: Log;
  readonly program: string;
  readonly manager: () => Manager;
  readonly onReview: ReviewsOptions["onReview"];
  readonly signal: AbortSignal;
}

/** The connection for reviews: another kubeconfig where one was given, else the manager's own. */
async function reviewer(
  kubeconfig: string | undefined,
  { flags, platform, program, manager, signal }: GateOptions,
): Promise<Pick<KubeApi, "request">> {
  if (kubeconfig === undefined) return { request: (raw, until) => manager().reserved.request(raw, until) };
  const { master: _, ...rest } = flags;
  const client = await connectKube(
    { ...rest, kubeconfig } as Flags,
    platform,
    {
      userAgent: `${program}/${version}`,
      mayWrite: () => true,
      onRequest: (request) => manager().onKubeRequest(request),
    },
    signal,
  );
  return client.reserved;
}

/** Forwards to the connection of the manager that runs now: a reload creates another, with its own limits and credentials. */
export function currentConnection(connection: () => WatchApi): WatchApi {
  return {
    get origin() {
      return connection().origin;
    },
    openWatch: (...query) => connection().openWatch(...query),
    listPage: (...query) => connection().listPage(...query),
    whenAnswered: (until) => connection().whenAnswered(until),
  };
}

/** The ConfigMap in which the cluster says whom it trusts, watched; what stands in the way is told. */
function lookUp({ flags, platform, log, manager }: GateOptions): {
  task: Task;
  get: () => ConfigMap | undefined;
} {
  const where = `${lookedUp.namespace}/${lookedUp.name}`;
  let reported = "";
  const reflector = new Reflector<ConfigMap>({
    api: currentConnection(() => manager().reserved),
    resource: configMaps,
    clock: platform.clock,
    random: platform.random,
    namespace: lookedUp.namespace,
    fieldSelector: `metadata.name=${lookedUp.name}`,
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
    task: { name: "authorities", run: (stop) => reflector.run(stop) },
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

export async function createGate(options: GateOptions) {
  const { flags, platform, log, onReview, signal } = options;
  const { clock, files } = platform;
  const reviews = async (kubeconfig: string | undefined) =>
    createReviews({ api: await reviewer(kubeconfig, options), clock, signal, onReview });
  const tokens = await reviews(flags["authentication-kubeconfig"]);
  const access = await reviews(flags["authorization-kubeconfig"]);
  const file = (path: string | undefined) =>
    path === undefined ? undefined : new WatchedFile(path, files, clock);
  const checked = flags["authentication-skip-lookup"] ? undefined : lookUp(options);
  return {
    tasks: checked === undefined ? [] : [checked.task],
    authenticate: createAuthenticate({
      authorities: createAuthorities({
        clientFile: file(flags["client-ca-file"]),
        proxyFile: file(flags["requestheader-client-ca-file"]),
        headers: headerNames(flags),
        configMap: () => checked?.get(),
        onProblem: (text) => log.warn(text),
      }),
      token: createTokenAuthenticator(tokens, {
        clock,
        lifetime: flags["authentication-token-webhook-cache-ttl"],
      }),
      now: () => clock.now(),
    }),
    authorize: createAuthorize({
      ask: access,
      clock,
      alwaysAllow: flags["authorization-always-allow-paths"],
      allowedFor: flags["authorization-webhook-cache-authorized-ttl"],
      deniedFor: flags["authorization-webhook-cache-unauthorized-ttl"],
    }),
  };
}
