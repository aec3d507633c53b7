// Composes the Kubernetes client: one connection with one request limit and one limit of concurrent writes.

import type { Announcement } from "../core/announcements.ts";
import { defined } from "../core/defined.ts";
import type { KubeApi } from "../kube/client/api.ts";
import { HttpKubeApi } from "../kube/client/http-api.ts";
import { type Connection, type ConnectionSource, openConnection } from "../kube/connection/connection.ts";
import { proxySettingsOf } from "../kube/connection/proxy.ts";
import type { HowToGrant } from "../kube/errors/status-error.ts";
import type { RequestObservation } from "../kube/requests/request.ts";
import { placesWithin, RequestLimit, TokenBucket } from "../kube/requests/request-limit.ts";
import { Requests } from "../kube/requests/requests.ts";
import { WriteConcurrency } from "../kube/requests/write-concurrency.ts";
import type { Clock } from "../platform/clock.ts";
import { type Environment, pathSeparator } from "../platform/environment.ts";
import type { Files } from "../platform/files.ts";
import type { Transport } from "../platform/transport.ts";
import type { WriteGate } from "../runtime/write-gate.ts";
import type { Flags } from "./flags/flag-table.ts";

export interface KubePlatform {
  readonly clock: Clock;
  readonly files: Files;
  readonly transport: Transport;
  readonly environment: Environment;
}

export interface KubeClient {
  /** Allows writes only while the gate is open. */
  readonly api: KubeApi;
  /** The client for leader election, which uses the reserved lane and has no write gate. */
  readonly reserved: KubeApi;
  /** The same server, limits and gate, with a bearer token instead of the process's identity. */
  withToken(token: TokenSource): KubeApi;
}

export interface TokenSource {
  current(signal: AbortSignal): Promise<string>;
  /** Called when the API server rejected the token. */
  invalidate(): void;
}

function connectionWith(token: TokenSource, connection: Connection): Connection {
  return {
    ...connection,
    access: async (signal) => {
      const { tls } = await connection.access(signal);
      const { cert: _, key: __, ...server } = tls ?? {};
      const headers = { authorization: `Bearer ${await token.current(signal)}` };
      return { headers, tls: tls === undefined ? undefined : server };
    },
    refresh: () => {
      connection.refresh();
      token.invalidate();
    },
    explainRefusal: () => undefined,
  };
}

/** The flags of a command that a person runs. */
type CommandFlags = Flags & {
  /** The files that kubectl would merge; used instead of --kubeconfig. */
  readonly kubeconfigs?: readonly string[];
};

export function connectionSource(flags: CommandFlags, environment: Environment): ConnectionSource {
  return defined({
    kubeconfigs: flags.kubeconfig ? [flags.kubeconfig] : flags.kubeconfigs,
    context: flags.context,
    master: flags.master,
    inCluster: defined({
      host: environment["KUBERNETES_SERVICE_HOST"],
      port: environment["KUBERNETES_SERVICE_PORT"],
    }),
    proxy: proxySettingsOf(environment),
  });
}

/** Redacts secrets only from texts for people. Names, labels and identifiers stay unchanged. */
function withoutSecretMessages(transport: Transport, redact: (text: string) => string): Transport {
  const message = /"message":"((?:[^"\\]|\\.)*)"/g;
  return (request, signal) => {
    const { body } = request;
    if (typeof body !== "string" || !body.includes('"message":"')) return transport(request, signal);
    const clean = body.replace(message, (_, text: string) => `"message":"${redact(text)}"`);
    return transport({ ...request, body: clean }, signal);
  };
}

/**
 * Uses the kubeconfig of the person who runs a command, as kubectl does: --kubeconfig, then the files of
 * KUBECONFIG, then ~/.kube/config. In a pod, the service account replaces ~/.kube/config.
 */
export async function withUserKubeconfig(
  flags: Flags,
  { environment, files }: { readonly environment: Environment; readonly files: Pick<Files, "version"> },
): Promise<CommandFlags> {
  const { KUBECONFIG = "", HOME = "", KUBERNETES_SERVICE_HOST: pod } = environment;
  if (flags.kubeconfig !== undefined || flags.master !== undefined) return flags;
  const isInPod = pod !== undefined && pod !== "";
  const listed = KUBECONFIG.split(pathSeparator).filter((path) => path !== "");
  const candidates = listed.length > 0 || isInPod || HOME === "" ? listed : [`${HOME}/.kube/config`];
  const versions = await Promise.all(candidates.map((path) => files.version(path)));
  const existing = candidates.filter((_, index) => versions[index] !== undefined);
  // If no file exists, the error names the paths. A pod needs no kubeconfig.
  return { ...flags, kubeconfigs: existing.length > 0 || isInPod ? existing : listed };
}

/** The number of file descriptors that this process may have. */
async function openFiles(files: Pick<Files, "read">): Promise<number> {
  const limits = await files.read("/proc/self/limits").catch(() => "");
  return Number(/^Max open files +(\d+)/m.exec(limits)?.[1] ?? Number.POSITIVE_INFINITY);
}

export async function connectKube(
  flags: Flags,
  platform: KubePlatform,
  hooks: {
    readonly userAgent: string;
    readonly mayWrite: WriteGate;
    readonly onRequest: (observation: RequestObservation) => void;
    readonly onDecoded?: (bytes: number) => void;
    readonly onAnnounced?: (found: Announcement) => void;
    readonly traceparent?: (() => string | undefined) | undefined;
    /** Removes secrets from the messages of events and conditions. Unset for clients that write none. */
    readonly redact?: (text: string) => string;
    /** If unset, messages give general advice. */
    readonly howToGrant?: HowToGrant;
  },
  signal: AbortSignal,
): Promise<KubeClient> {
  const { clock } = platform;
  const connection = await openConnection(connectionSource(flags, platform.environment), platform, signal);
  const qps = flags["kube-api-qps"];
  const rate =
    qps === undefined || qps <= 0
      ? undefined
      : new TokenBucket({ ratePerSecond: qps, burst: Math.max(1, flags["kube-api-burst"] || qps) }, clock);
  const places = placesWithin(await openFiles(platform.files));
  const limits = defined({
    transport:
      hooks.redact === undefined
        ? platform.transport
        : withoutSecretMessages(platform.transport, hooks.redact),
    clock,
    requestLimit: new RequestLimit({ limit: places.requests }),
    writes: new WriteConcurrency(clock, { start: Math.min(16, places.writes), max: places.writes }),
    onRequest: hooks.onRequest,
    onDecoded: hooks.onDecoded,
    onAnnounced: hooks.onAnnounced,
    traceparent: hooks.traceparent,
    howToGrant: hooks.howToGrant,
    rate,
  });
  const requests = new Requests({ ...limits, connection });
  const client = { userAgent: hooks.userAgent };
  return {
    api: new HttpKubeApi(requests, { ...client, mayWrite: hooks.mayWrite }),
    reserved: new HttpKubeApi(requests, { ...client, lane: "reserved" }),
    withToken: (token) =>
      new HttpKubeApi(new Requests({ ...limits, connection: connectionWith(token, connection) }), {
        ...client,
        mayWrite: hooks.mayWrite,
      }),
  };
}
