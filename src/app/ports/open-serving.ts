// The secure port, put together: its certificate, who may ask, and its pages. There is one for each process; it shows
// whichever manager runs, also while another replica leads.

import type { ConfigMap } from "../../kube/objects.ts";
import { createReflector } from "../../kube/reflector.ts";
import { configMaps } from "../../kube/resources.ts";
import { watchedFile } from "../../kube/watched-file.ts";
import { runTogether, type Task } from "../../runtime/scope.ts";
import type { Listen } from "../../seams/listener.ts";
import type { RuntimeFigures } from "../../seams/runtime-figures.ts";
import { createAuthenticate } from "../../serving/authenticate.ts";
import { createAuthorities, lookedUp } from "../../serving/authorities.ts";
import { createAuthorize } from "../../serving/authorize.ts";
import { createTokenAuthenticator } from "../../serving/bearer-token.ts";
import { createHealth, type Health } from "../../serving/health.ts";
import { ownNames } from "../../serving/own-certificate.ts";
import { createReviews } from "../../serving/reviews.ts";
import { createSecurePort } from "../../serving/secure-port.ts";
import type { Log } from "../../telemetry/log.ts";
import type { AnyProvider } from "../connect-cloud.ts";
import type { Flags } from "../flags/read-flags.ts";
import { connectKube } from "../kube-client.ts";
import type { Manager, ManagerSeams } from "../manager.ts";
import { createHealthMetrics } from "../metrics/serving-metrics.ts";
import { version } from "../version.ts";
import { addChecks } from "./health-checks.ts";
import { listenOn, type PortFlags } from "./listen-on.ts";
import { openWebhook } from "./open-webhook.ts";
import { createPages } from "./secure-pages.ts";

export interface ServingOptions {
  readonly flags: Flags;
  readonly seams: ManagerSeams;
  readonly listen: Listen;
  readonly figures: RuntimeFigures;
  readonly log: Log;
  readonly program: string;
  readonly provider: AnyProvider;
  readonly setVerbosity: (level: number) => void;
}

export interface Serving {
  /** Undefined when there is no port. */
  readonly port: number | undefined;
  readonly health: Health;
  /** From now on the pages are about this one. */
  show(manager: Manager): void;
  close(): Promise<void>;
}

const portFlags = (flags: Flags): PortFlags => ({
  prefix: "",
  portFlag: "secure-port",
  port: flags["secure-port"],
  host: flags["bind-address"],
  http2: !flags["disable-http2-serving"],
  sharePort: flags["permit-port-sharing"],
  certFile: flags["tls-cert-file"],
  keyFile: flags["tls-private-key-file"],
  byName: flags["tls-sni-cert-key"] ?? [],
  folder: flags["cert-dir"],
  keptName: "cloud-controller-manager",
  minVersion: flags["tls-min-version"],
  ciphers: flags["tls-cipher-suites"] ?? [],
  curves: flags["tls-curve-preferences"] ?? [],
  names: ownNames(flags["bind-address"]),
});

/** The connection for reviews: another kubeconfig where one was given, else the manager's own. */
const reviewer = async (
  kubeconfig: string | undefined,
  options: ServingOptions,
  manager: Manager,
  signal: AbortSignal,
) => {
  if (kubeconfig === undefined) return manager.reserved;
  const { flags, seams, program } = options;
  const { master: _, ...rest } = flags;
  const client = await connectKube(
    { ...rest, kubeconfig } as Flags,
    seams,
    { userAgent: `${program}/${version}`, mayWrite: () => true, onRequest: manager.onKubeRequest },
    signal,
  );
  return client.reserved;
};

/** The ConfigMap in which the cluster says whom it trusts, watched; what stands in the way is told. */
const lookUp = (
  options: ServingOptions,
  manager: Manager,
): { task: Task; get: () => ConfigMap | undefined } => {
  const { flags, seams, log } = options;
  const where = `${lookedUp.namespace}/${lookedUp.name}`;
  let told = "";
  const reflector = createReflector<ConfigMap>({
    api: manager.reserved,
    resource: configMaps,
    clock: seams.clock,
    random: seams.random,
    namespace: lookedUp.namespace,
    fieldSelector: `metadata.name=${lookedUp.name}`,
    onProblem: ({ kind, message }) => {
      if (kind === told) return;
      told = kind;
      if (kind === "forbidden" && flags["authentication-tolerate-lookup-failure"]) return;
      log.warn(
        `The ConfigMap ${where} cannot be read, so client certificates of the cluster count for nothing on the secure port; give --client-ca-file, or bind the Role extension-apiserver-authentication-reader: ${message}`,
      );
    },
  });
  return {
    task: { name: "authorities", run: (stop) => reflector.run(stop) },
    get: () => reflector.store.get(where),
  };
};

const headerNames = (flags: Flags) => ({
  username: flags["requestheader-username-headers"],
  uid: flags["requestheader-uid-headers"] ?? [],
  group: flags["requestheader-group-headers"],
  extraPrefix: flags["requestheader-extra-headers-prefix"],
  allowedNames: flags["requestheader-allowed-names"] ?? [],
});

const gate = async (options: ServingOptions, manager: Manager, signal: AbortSignal) => {
  const { flags, seams, log } = options;
  const { clock, files } = seams;
  const onReview = manager.metrics.serving.review;
  const tokens = createReviews({
    api: await reviewer(flags["authentication-kubeconfig"], options, manager, signal),
    ...{ clock, signal, onReview },
  });
  const access = createReviews({
    api: await reviewer(flags["authorization-kubeconfig"], options, manager, signal),
    ...{ clock, signal, onReview },
  });
  const file = (path: string | undefined) =>
    path === undefined ? undefined : watchedFile(path, files, clock);
  const looked = flags["authentication-skip-lookup"] ? undefined : lookUp(options, manager);
  return {
    tasks: looked === undefined ? [] : [looked.task],
    authenticate: createAuthenticate({
      authorities: createAuthorities({
        clientFile: file(flags["client-ca-file"]),
        proxyFile: file(flags["requestheader-client-ca-file"]),
        headers: headerNames(flags),
        configMap: () => looked?.get(),
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
};

/** Throws a ConfigurationError for what the operator must mend, a port in use among it. */
export const openServing = async (options: ServingOptions, first: Manager): Promise<Serving> => {
  const { flags, seams, log, figures, program, provider, setVerbosity } = options;
  const { clock } = seams;
  const healthMetrics = createHealthMetrics();
  const health = createHealth(healthMetrics.result);
  const end = new AbortController();
  let manager = first;
  const show = (next: Manager): void => {
    manager = next;
    next.metrics.process.of(figures);
  };
  show(first);
  addChecks(health, () => manager, flags);
  const webhook = await openWebhook({ ...options, manager: () => manager });
  const followed: readonly Task[] =
    webhook === undefined ? [] : [{ name: "webhook certificates", run: webhook.follow }];
  const lookAfter = (tasks: readonly Task[]): Promise<void> =>
    runTogether(tasks, end.signal).catch((error: unknown) =>
      log.error(`The ports are no longer looked after: ${String(error)}`),
    );
  if (flags["secure-port"] === 0) {
    const running = lookAfter(followed);
    const close = async (): Promise<void> => {
      end.abort(new Error("the ports close"));
      await Promise.all([webhook?.close(), running]);
    };
    return { port: undefined, health, show, close };
  }

  const { tasks, authenticate, authorize } = await gate(options, first, end.signal);
  const pages = createPages({
    ...{ program, provider: provider.name, flags, clock, figures, health, healthMetrics, setVerbosity },
    manager: () => manager,
    signal: end.signal,
  });
  const port = await listenOn(portFlags(flags), {
    ...{ seams, log, listen: options.listen },
    asksForCertificate: true,
    handle: createSecurePort({
      authenticate,
      authorize,
      pages,
      onAccident: (path, error) => log.error(`The page ${path} failed: ${String(error)}`),
    }),
    onCertificate: (endsAt) => manager.metrics.serving.certificateEnds("secure", endsAt),
  }).catch(async (error: unknown) => {
    await webhook?.close();
    throw error;
  });
  log.info(`Health, metrics and state are served on ${flags["bind-address"]}:${port.number}`);
  const running = lookAfter([
    ...tasks,
    ...followed,
    { name: "certificates", run: port.follow },
    { name: "event loop", run: (stop) => first.metrics.process.measureLag(stop) },
  ]);
  return {
    port: port.number,
    health,
    show,
    close: async () => {
      end.abort(new Error("the ports close"));
      await Promise.all([port.close(), webhook?.close(), running]);
    },
  };
};
