// Asks an exec credential plugin (ExecCredential v1 and v1beta1) and keeps its answer until it expires or is refused.
// The plugin is never asked twice at once, and never interactively.

import { minutes } from "../../core/brand.ts";
import { codeOf } from "../../core/errors.ts";
import { Secret } from "../../core/secret.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Files } from "../../platform/files.ts";
import { abortable } from "../../runtime/abortable.ts";
import { KubeError } from "../errors/kube-error.ts";
import type { ExecPlugin, KubeconfigCluster } from "./kubeconfig.ts";

export interface PluginCredential {
  readonly token?: Secret;
  readonly cert?: string;
  readonly key?: Secret;
}

export interface ExecCredential {
  current(signal: AbortSignal): Promise<PluginCredential>;
  invalidate(): void;
}

const operation = "ask the credential plugin";

function fail(
  kind: "configuration" | "unauthorized",
  plugin: ExecPlugin,
  text: string,
  cause?: unknown,
): KubeError {
  return new KubeError(kind, `The credential plugin ${JSON.stringify(plugin.command)} ${text}`, {
    operation,
    ...(cause !== undefined && { cause }),
  });
}

interface Answer {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly status?: {
    readonly token?: string;
    readonly clientCertificateData?: string;
    readonly clientKeyData?: string;
    readonly expirationTimestamp?: string;
  };
}

function readAnswer(plugin: ExecPlugin, stdout: string): { credential: PluginCredential; expires: number } {
  let answer: Answer;
  try {
    answer = JSON.parse(stdout) as Answer;
  } catch {
    // The text itself may hold a token, so neither it nor the parser's complaint is passed on.
    throw fail("unauthorized", plugin, "did not print JSON; expected an ExecCredential.");
  }
  if (answer?.kind !== "ExecCredential" || answer.apiVersion !== plugin.apiVersion) {
    throw fail(
      "unauthorized",
      plugin,
      `printed ${answer?.kind} of ${answer?.apiVersion}; expected ExecCredential of ${plugin.apiVersion}.`,
    );
  }
  const { token, clientCertificateData: cert, clientKeyData: key, expirationTimestamp } = answer.status ?? {};
  if (token === undefined && (cert === undefined || key === undefined)) {
    throw fail("unauthorized", plugin, "printed neither a token nor a certificate with its key.");
  }
  const expires =
    expirationTimestamp === undefined ? Number.POSITIVE_INFINITY : Date.parse(expirationTimestamp);
  return {
    credential: {
      ...(token !== undefined && { token: new Secret(token) }),
      ...(cert !== undefined && key !== undefined && { cert, key: new Secret(key) }),
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
      ...(plugin.provideClusterInfo && {
        cluster: {
          server: cluster.server,
          ...(cluster.serverName !== undefined && { "tls-server-name": cluster.serverName }),
          ...(cluster.skipVerification && { "insecure-skip-tls-verify": true }),
          ...(ca !== undefined && { "certificate-authority-data": Buffer.from(ca).toString("base64") }),
          ...(cluster.proxy !== undefined && { "proxy-url": cluster.proxy }),
        },
      }),
    },
  });
}

export function execCredential(
  plugin: ExecPlugin,
  cluster: KubeconfigCluster,
  ca: () => Promise<string | undefined>,
  files: Files,
  clock: Clock,
): ExecCredential {
  let known: { readonly credential: PluginCredential; readonly expires: number } | undefined;
  let asking: Promise<PluginCredential> | undefined;

  const ask = async (): Promise<PluginCredential> => {
    const deadline = new AbortController();
    const cancel = clock.after(minutes(1), () => deadline.abort());
    try {
      const env = { ...plugin.env, KUBERNETES_EXEC_INFO: execInfo(plugin, cluster, await ca()) };
      const running = files.run([plugin.command, ...plugin.args], env, deadline.signal);
      const { exitCode, stdout } = await abortable(running, deadline.signal);
      if (exitCode !== 0) {
        throw fail(
          "unauthorized",
          plugin,
          `ended with exit code ${exitCode}; run it by hand to see why. We try again.`,
        );
      }
      known = readAnswer(plugin, stdout);
      return known.credential;
    } catch (error) {
      if (error instanceof KubeError) throw error;
      if (deadline.signal.aborted)
        throw fail("unauthorized", plugin, "did not answer within a minute. We try again.");
      const isMissing = codeOf(error) === "ENOENT" || codeOf(error) === "EACCES";
      const hint = plugin.installHint === undefined ? "" : ` ${plugin.installHint}`;
      throw isMissing
        ? fail(
            "configuration",
            plugin,
            `cannot be started (${codeOf(error)}); install it or correct users[].exec.command.${hint}`,
            error,
          )
        : fail("unauthorized", plugin, "could not be run. We try again.", error);
    } finally {
      cancel();
    }
  };

  return {
    current: (signal) => {
      if (known !== undefined && clock.now() < known.expires) return Promise.resolve(known.credential);
      asking ??= ask().finally(() => {
        asking = undefined;
      });
      return abortable(asking, signal);
    },
    invalidate: () => {
      known = undefined;
    },
  };
}
