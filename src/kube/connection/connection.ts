// Finds the API server and its credentials: from a kubeconfig, from --master, or from the service account of the pod. Makes
// no request.

import { defined } from "../../core/defined.ts";
import { runtimeCodeOf } from "../../core/error-message.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Files } from "../../platform/files.ts";
import { KubeError } from "../errors/kube-error.ts";
import { chooseContext, type KubeconfigContext } from "./choose-context.ts";
import { type Access, Credentials } from "./credentials.ts";
import { chooseProxy, type ProxySettings } from "./proxy.ts";

export interface ConnectionSource {
  /** The path of --kubeconfig, or the files that kubectl would merge. */
  readonly kubeconfigs?: readonly string[];
  /** The context to use instead of current-context. */
  readonly context?: string;
  /** --master: overrides the server's address. */
  readonly master?: string;
  /** KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT, if set. */
  readonly inCluster?: { readonly host?: string; readonly port?: string };
  readonly proxy?: ProxySettings;
}

export interface Connection {
  /** The URL of the server without a trailing slash. */
  readonly server: string;
  /** The server for messages; never contains a password. */
  readonly origin: string;
  readonly proxy: string | undefined;
  /** The namespace of the context, or of the service account. */
  readonly namespace: string | undefined;
  access(signal: AbortSignal): Promise<Access>;
  /** Reloads the credentials for the next request. Called after a 401. */
  refresh(): void;
  /** The likely cause of a 401, if it can be derived from the credentials. */
  explainRefusal(): string | undefined;
}

const serviceAccount = "/var/run/secrets/kubernetes.io/serviceaccount";
const operation = "find the API server";

function invalid(message: string, cause?: unknown): KubeError {
  return new KubeError("configuration", message, { operation, cause });
}

async function fromKubeconfigs(
  paths: readonly string[],
  context: string | undefined,
  files: Files,
): Promise<KubeconfigContext> {
  const read = async (path: string) => {
    try {
      return { path, text: await files.read(path) };
    } catch (cause) {
      throw invalid(
        `Cannot read the kubeconfig ${path} (${runtimeCodeOf(cause) || "unknown error"}). Check that the file exists and is readable.`,
        cause,
      );
    }
  };
  const { context: chosen, problem } = chooseContext(await Promise.all(paths.map(read)), context);
  if (chosen === undefined) throw invalid(problem);
  return chosen;
}

async function fromPod(
  { host, port }: { readonly host?: string; readonly port?: string },
  files: Files,
): Promise<KubeconfigContext> {
  const name = host?.includes(":") === true && !host.startsWith("[") ? `[${host}]` : host;
  const namespace = await files.read(`${serviceAccount}/namespace`).catch(() => undefined);
  return {
    cluster: {
      server: `https://${name}:${port === undefined || port === "" ? "443" : port}`,
      caFile: `${serviceAccount}/ca.crt`,
      skipVerification: false,
    },
    user: { tokenFile: `${serviceAccount}/token` },
    path: `${serviceAccount}/kubeconfig`,
    ...defined({ namespace: namespace?.trim() }),
  };
}

function findEndpoint(source: ConnectionSource, files: Files): Promise<KubeconfigContext> {
  const { kubeconfigs = [], context } = source;
  if (kubeconfigs.length > 0) return fromKubeconfigs(kubeconfigs, context, files);
  if (source.master) {
    return Promise.resolve({
      cluster: { server: source.master, skipVerification: false },
      user: {},
      path: "/",
    });
  }
  if (source.inCluster?.host) return fromPod(source.inCluster, files);
  return Promise.reject(
    invalid(
      "No API server is configured: --kubeconfig and --master are empty, and KUBERNETES_SERVICE_HOST is not set, as it would be in a pod. Set --kubeconfig.",
    ),
  );
}

function normalized(address: string): string {
  const url = URL.parse(address.includes("://") ? address : `http://${address}`);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw invalid(
      `The address of the API server must look like https://host:6443, got ${JSON.stringify(address)}.`,
    );
  }
  return `${url.origin}${url.pathname}`.replace(/\/+$/, "");
}

/** Reads all credentials once, so that errors that retrying cannot fix are reported at startup. */
export async function openConnection(
  source: ConnectionSource,
  platform: { readonly files: Files; readonly clock: Clock },
  signal: AbortSignal,
): Promise<Connection> {
  const { cluster, user, path, namespace } = await findEndpoint(source, platform.files);
  const server = normalized(source.master || cluster.server);
  const credentials = new Credentials({ ...cluster, server }, user, path, platform);
  try {
    await credentials.current(signal);
  } catch (error) {
    // A plugin that fails now may succeed later. Problems with files are fatal.
    if (!(error instanceof KubeError) || error.fatal) throw error;
  }
  return {
    server,
    origin: new URL(server).origin,
    proxy: chooseProxy(server, cluster.proxy, source.proxy),
    namespace,
    access: (forSignal) => credentials.current(forSignal),
    refresh: () => credentials.invalidate(),
    explainRefusal: () => credentials.explainRefusal(),
  };
}
