// Runs an exec credential plugin (ExecCredential v1 and v1beta1) and caches its credential until it expires or the API
// server rejects it. One run at a time, never interactive.

import { minutes } from "../../core/brand.ts";
import { defined } from "../../core/defined.ts";
import { runtimeCodeOf } from "../../core/error-message.ts";
import { willRetry } from "../../core/retry-promise.ts";
import { Secret } from "../../core/secret.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Files } from "../../platform/files.ts";
import { abortable } from "../../runtime/abortable.ts";
import { KubeError, type KubeErrorFacts } from "../errors/kube-error.ts";
import type { ExecPlugin, KubeconfigCluster } from "./kubeconfig.ts";

export interface PluginCredential {
  readonly token?: Secret;
  readonly cert?: string;
  readonly key?: Secret;
}

interface ExpiringCredential {
  readonly credential: PluginCredential;
  readonly expires: number;
}

const operation = "run the credential plugin";

function fail(
  kind: "configuration" | "unauthorized",
  plugin: ExecPlugin,
  text: string,
  more: Pick<KubeErrorFacts, "cause" | "promise"> = {},
): KubeError {
  return new KubeError(kind, `The credential plugin ${JSON.stringify(plugin.command)} ${text}`, {
    operation,
    ...more,
  });
}

interface PluginOutput {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly status?: {
    readonly token?: string;
    readonly clientCertificateData?: string;
    readonly clientKeyData?: string;
    readonly expirationTimestamp?: string;
  };
}

function readOutput(plugin: ExecPlugin, stdout: string): ExpiringCredential {
  let output: PluginOutput;
  try {
    output = JSON.parse(stdout) as PluginOutput;
  } catch {
    // The output may contain a token, so neither it nor the parser's message is passed on.
    throw fail("unauthorized", plugin, "did not print JSON. Expected an ExecCredential.");
  }
  if (output?.kind !== "ExecCredential" || output.apiVersion !== plugin.apiVersion) {
    throw fail(
      "unauthorized",
      plugin,
      `printed ${output?.kind} of ${output?.apiVersion}. Expected ExecCredential of ${plugin.apiVersion}.`,
    );
  }
  const { token, clientCertificateData: cert, clientKeyData: key, expirationTimestamp } = output.status ?? {};
  if (token === undefined && (cert === undefined || key === undefined)) {
    throw fail("unauthorized", plugin, "printed neither a token nor a certificate with its key.");
  }
  const expires =
    expirationTimestamp === undefined ? Number.POSITIVE_INFINITY : Date.parse(expirationTimestamp);
  return {
    credential: {
      ...defined({ token: token === undefined ? undefined : new Secret(token) }),
      ...(cert === undefined || key === undefined ? {} : { cert, key: new Secret(key) }),
    },
    expires: Number.isNaN(expires) ? Number.POSITIVE_INFINITY : expires,
  };
}

function execInfo(plugin: ExecPlugin, cluster: KubeconfigCluster, ca: string | undefined): string {
  return JSON.stringify({
    apiVersion: plugin.apiVersion,
    kind: "ExecCredential",
    spec: {
      interactive: false,
      // JSON.stringify omits undefined properties.
      cluster: plugin.provideClusterInfo
        ? {
            server: cluster.server,
            "tls-server-name": cluster.serverName,
            "insecure-skip-tls-verify": cluster.skipVerification || undefined,
            "certificate-authority-data": ca === undefined ? undefined : Buffer.from(ca).toString("base64"),
            "proxy-url": cluster.proxy,
          }
        : undefined,
    },
  });
}

export interface ExecCredentialDeps {
  readonly cluster: KubeconfigCluster;
  /** The CA bundle of the cluster, for plugins with `provideClusterInfo`. */
  readonly ca: () => Promise<string | undefined>;
  readonly files: Files;
  readonly clock: Clock;
}

export class ExecCredential {
  readonly #plugin: ExecPlugin;
  readonly #deps: ExecCredentialDeps;
  #known: ExpiringCredential | undefined;
  #pending: Promise<PluginCredential> | undefined;

  constructor(plugin: ExecPlugin, deps: ExecCredentialDeps) {
    this.#plugin = plugin;
    this.#deps = deps;
  }

  current(signal: AbortSignal): Promise<PluginCredential> {
    if (this.#known !== undefined && this.#deps.clock.now() < this.#known.expires) {
      return Promise.resolve(this.#known.credential);
    }
    this.#pending ??= this.#run().finally(() => {
      this.#pending = undefined;
    });
    return abortable(this.#pending, signal);
  }

  /** Makes the next request run the plugin again. */
  invalidate(): void {
    this.#known = undefined;
  }

  async #run(): Promise<PluginCredential> {
    const { cluster, ca, files, clock } = this.#deps;
    const plugin = this.#plugin;
    const deadline = new AbortController();
    const cancel = clock.after(minutes(1), () => deadline.abort());
    try {
      const env = { ...plugin.env, KUBERNETES_EXEC_INFO: execInfo(plugin, cluster, await ca()) };
      const running = files.run([plugin.command, ...plugin.args], env, deadline.signal);
      const { exitCode, stdout } = await abortable(running, deadline.signal);
      if (exitCode !== 0) {
        throw fail("unauthorized", plugin, `exited with code ${exitCode}. Run it by hand to see why.`, {
          promise: willRetry,
        });
      }
      this.#known = readOutput(plugin, stdout);
      return this.#known.credential;
    } catch (error) {
      if (error instanceof KubeError) throw error;
      if (deadline.signal.aborted) {
        throw fail("unauthorized", plugin, `did not finish within 60s.`, { promise: willRetry });
      }
      const code = runtimeCodeOf(error);
      if (code !== "ENOENT" && code !== "EACCES") {
        throw fail("unauthorized", plugin, `failed to run.`, { cause: error, promise: willRetry });
      }
      const hint = plugin.installHint === undefined ? "" : ` ${plugin.installHint}`;
      throw fail(
        "configuration",
        plugin,
        `cannot be started (${code}). Install it, or correct users[].exec.command.${hint}`,
        { cause: error },
      );
    } finally {
      cancel();
    }
  }
}
