// Finds the API server and our credentials: from a kubeconfig, from --master, or from the pod we run in.
// It makes no request; every failure says what was expected, what came and what to do.

import { codeOf } from "../../core/errors.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Files } from "../../platform/files.ts";
import { KubeError } from "../errors/kube-error.ts";
import { type Access, type Credentials, createCredentials } from "./credentials.ts";
import { type KubeconfigCluster, type KubeconfigUser, readKubeconfig } from "./kubeconfig.ts";
import { chooseProxy, type ProxySettings } from "./proxy.ts";

export interface ConnectionSource {
  /** Path of --kubeconfig. */
  readonly kubeconfig?: string;
  /** Overrides current-context. */
  readonly context?: string;
  /** --master: overrides the server's address. */
  readonly master?: string;
  /** KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT, when they are set. */
  readonly inCluster?: { readonly host?: string; readonly port?: string };
  readonly proxy?: ProxySettings;
}

export interface Connection {
  /** Without a slash at its end. */
  readonly server: string;
  /** For messages: never holds a password. */
  readonly origin: string;
  readonly proxy: string | undefined;
  /** Of the context, or of the service account. */
  readonly namespace: string | undefined;
  access(signal: AbortSignal): Promise<Access>;
  /** Call after a 401. */
  refresh(): void;
  suspicion(): string | undefined;
}

const serviceAccount = "/var/run/secrets/kubernetes.io/serviceaccount";
const operation = "find the API server";

function wrong(message: string, cause?: unknown): KubeError {
  return new KubeError("configuration", message, { operation, ...(cause !== undefined && { cause }) });
}

interface Target {
  readonly cluster: KubeconfigCluster;
  readonly user: KubeconfigUser;
  readonly path: string;
  readonly namespace?: string;
}

async function fromKubeconfig(path: string, source: ConnectionSource, files: Files): Promise<Target> {
  let text: string;
  try {
    text = await files.read(path);
  } catch (cause) {
    throw wrong(
      `The kubeconfig ${path} cannot be read (${codeOf(cause) || "unknown error"}). Check --kubeconfig.`,
      cause,
    );
  }
  const { config, problems } = readKubeconfig(text);
  if (config === undefined) throw wrong(`The kubeconfig ${path} is wrong: ${problems.join(" ")}`);
  const name = source.context ?? config.currentContext;
  const known = [...config.contexts.keys()].join(", ") || "none";
  if (name === undefined)
    throw wrong(`The kubeconfig ${path} has no current-context; choose one of: ${known}.`);
  const context = config.contexts.get(name);
  if (context === undefined)
    throw wrong(`The kubeconfig ${path} has no context ${JSON.stringify(name)}; it has: ${known}.`);
  const cluster = config.clusters.get(context.cluster);
  if (cluster === undefined) {
    throw wrong(
      `Context ${JSON.stringify(name)} in ${path} names the cluster ${JSON.stringify(context.cluster)}, which is not there.`,
    );
  }
  const user = context.user === undefined ? {} : config.users.get(context.user);
  if (user === undefined) {
    throw wrong(
      `Context ${JSON.stringify(name)} in ${path} names the user ${JSON.stringify(context.user)}, which is not there.`,
    );
  }
  return { cluster, user, path, ...(context.namespace !== undefined && { namespace: context.namespace }) };
}

async function fromPod(
  { host, port }: { readonly host?: string; readonly port?: string },
  files: Files,
): Promise<Target> {
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
    ...(namespace !== undefined && { namespace: namespace.trim() }),
  };
}

function findTarget(source: ConnectionSource, files: Files): Promise<Target> {
  if (source.kubeconfig !== undefined && source.kubeconfig !== "")
    return fromKubeconfig(source.kubeconfig, source, files);
  if (source.master !== undefined && source.master !== "") {
    return Promise.resolve({
      cluster: { server: source.master, skipVerification: false },
      user: {},
      path: "/",
    });
  }
  const host = source.inCluster?.host;
  if (source.inCluster !== undefined && host !== undefined && host !== "")
    return fromPod(source.inCluster, files);
  return Promise.reject(
    wrong(
      "There is no --kubeconfig, no --master, and KUBERNETES_SERVICE_HOST is not set, so we are not in a pod. Give one of them.",
    ),
  );
}

function normalized(address: string): string {
  const url = URL.parse(address.includes("://") ? address : `http://${address}`);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw wrong(
      `The address of the API server must look like https://host:6443, got ${JSON.stringify(address)}.`,
    );
  }
  return `${url.origin}${url.pathname}`.replace(/\/+$/, "");
}

/** Reads everything once, so that what waiting cannot mend is found at the start. */
export async function openConnection(
  source: ConnectionSource,
  platform: { readonly files: Files; readonly clock: Clock },
  signal: AbortSignal,
): Promise<Connection> {
  const target = await findTarget(source, platform.files);
  const hasMaster = source.master !== undefined && source.master !== "";
  const server = normalized(hasMaster && source.master !== undefined ? source.master : target.cluster.server);
  const credentials: Credentials = createCredentials(
    { ...target.cluster, server },
    target.user,
    target.path,
    platform,
  );
  try {
    await credentials.current(signal);
  } catch (error) {
    // A plugin that fails today may work in a minute; anything wrong with files is fatal and was said so.
    if (!(error instanceof KubeError) || error.fatal) throw error;
  }
  return {
    server,
    origin: new URL(server).origin,
    proxy: chooseProxy(server, target.cluster.proxy, source.proxy),
    namespace: target.namespace,
    access: credentials.current,
    refresh: credentials.invalidate,
    suspicion: credentials.suspicion,
  };
}
